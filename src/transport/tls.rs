//! TLS with rustls, from the PEM texts that grpcio's credentials are made of.

mod certificate;
mod identity;
mod names;
mod pem;
mod stream;
#[cfg(test)]
mod test_certificates;
mod trust;

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ServerConfig};

pub use identity::Properties;
pub use pem::Part;
pub use stream::{Io, Opening};

use trust::{ClientVerifier, ServerVerifier, Trust};

/// HTTP/2, as it is called in TLS (RFC 7301).
const ALPN: &[u8] = b"h2";

/// What is wrong with credentials.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A text cannot be read.
    #[error("the {0}: malformed PEM: {1}")]
    Pem(Part, rustls::pki_types::pem::Error),
    /// A text has none.
    #[error("the {0}: no certificate in PEM is found")]
    NoCertificate(Part),
    /// What stands there as a certificate is something else.
    #[error("the {part}: certificate {} is no X.509 certificate", at + 1)]
    Certificate {
        /// Which text.
        part: Part,
        /// Which certificate of it.
        at: usize,
    },
    /// A root cannot be used.
    #[error("the root certificates: {0}")]
    Root(rustls::Error),
    /// The text has none.
    #[error("the private key: no key in PEM is found")]
    NoKey,
    /// Nobody tells the password.
    #[error("the private key: it is encrypted, and must be given decrypted")]
    EncryptedKey,
    /// It is of a kind that is not supported, or garbled.
    #[error("the private key: {0}")]
    Key(rustls::Error),
    /// It belongs to another certificate.
    #[error("the private key: it is not the key of the first certificate of the certificate chain")]
    OtherKey,
    /// There is only one of the two.
    #[error("a private key and a certificate chain are needed together")]
    HalfIdentity,
    /// A server without one.
    #[error("At least one private key-certificate chain pair is required!")]
    NoIdentity,
    /// Nobody could get in.
    #[error("Illegal to require client auth without providing root certificates!")]
    NoRoots,
    /// The name of the server.
    #[error("{0:?} cannot be the name of a server in a certificate")]
    Name(String),
    /// Whatever rustls has against it.
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
}

/// Given everywhere: nothing depends on what else in the process uses rustls.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// What a client needs to know for TLS.
#[derive(Debug, Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
}

impl ClientTls {
    /// Trusts `roots`, or those that Mozilla trusts, and shows the certificates of `identity`: a key and a chain.
    ///
    /// # Errors
    /// What is wrong with which text.
    pub fn new(
        roots: Option<&[u8]>,
        private_key: Option<&[u8]>,
        certificate_chain: Option<&[u8]>,
    ) -> Result<Self, TlsError> {
        let provider = provider();
        let trust = Trust::new(&provider, roots)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(ServerVerifier(trust)));
        let mut config = match (private_key, certificate_chain) {
            (None, None) => builder.with_no_client_auth(),
            (Some(key), Some(chain)) => {
                let identity = pem::identity(&provider, key, chain)?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity)))
            }
            _ => return Err(TlsError::HalfIdentity),
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        // As grpcio without a session cache.
        config.resumption = Resumption::disabled();
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// For rustls.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }
}

/// The name that a server's certificate must have.
///
/// # Errors
/// It is neither a host's name nor an address.
pub fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name(host.to_owned()))
}

/// What a server needs to know for TLS.
#[derive(Debug, Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
}

impl ServerTls {
    /// Shows one of `identities`, each a key and a chain, and lets in who shows a certificate issued by `roots`, where
    /// that is required.
    ///
    /// # Errors
    /// What is wrong with which text.
    pub fn new(
        identities: &[(&[u8], &[u8])],
        roots: Option<&[u8]>,
        require_client_auth: bool,
    ) -> Result<Self, TlsError> {
        let provider = provider();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?;
        let identities = identities
            .iter()
            .map(|(key, chain)| pem::identity(&provider, key, chain).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        let first = identities.first().cloned().ok_or(TlsError::NoIdentity)?;
        let roots = roots.map(|roots| Trust::new(&provider, Some(roots)));
        let builder = match (require_client_auth, roots.transpose()?) {
            (true, None) => return Err(TlsError::NoRoots),
            (true, Some(trust)) => {
                builder.with_client_cert_verifier(Arc::new(ClientVerifier::new(provider, trust)?))
            }
            // As grpcio: where no certificate is required none is asked for.
            (false, _) => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(Identities { first, identities }));
        config.alpn_protocols = vec![ALPN.to_vec()];
        // Clients do not resume: tickets would be written for nothing.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            config: Arc::new(config),
        })
    }

    /// For rustls.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// The certificates of a server. The client's wish decides, else the first is shown.
#[derive(Debug)]
struct Identities {
    first: Arc<CertifiedKey>,
    identities: Vec<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let wish = hello.server_name().and_then(|name| server_name(name).ok());
        let is_wished = |identity: &&Arc<CertifiedKey>| {
            let certificate = identity.cert.first();
            certificate
                .zip(wish.as_ref())
                .is_some_and(|(certificate, name)| names::verify(certificate, name).is_ok())
        };
        let wished = self.identities.iter().find(is_wished);
        Some(Arc::clone(wished.unwrap_or(&self.first)))
    }
}

#[cfg(test)]
mod tests;
