//! Certificates and keys as users have them: PEM (RFC 7468).

use std::fmt;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};

use super::TlsError;
use super::certificate;

/// Which of the PEM texts that make credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Whom to trust.
    RootCertificates,
    /// Who one is.
    CertificateChain,
    /// The key of the first certificate of the chain.
    PrivateKey,
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::RootCertificates => "root certificates",
            Self::CertificateChain => "certificate chain",
            Self::PrivateKey => "private key",
        })
    }
}

/// The certificates in `text`, at least one.
pub fn certificates(part: Part, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| TlsError::Pem(part, error))?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate(part));
    }
    for (at, bytes) in found.iter().enumerate() {
        if certificate::parse(bytes).is_none() {
            return Err(TlsError::Certificate { part, at });
        }
    }
    Ok(found)
}

/// The key and the chain with which one side shows who it is.
pub fn identity(
    provider: &CryptoProvider,
    private_key: &[u8],
    certificate_chain: &[u8],
) -> Result<CertifiedKey, TlsError> {
    let chain = certificates(Part::CertificateChain, certificate_chain)?;
    let key = signing_key(provider, private_key)?;
    let first = chain.first().and_then(|first| certificate::parse(first));
    if let (Some(key), Some(first)) = (key.public_key(), first)
        && key.as_ref() != first.subject_pki.raw
    {
        return Err(TlsError::OtherKey);
    }
    Ok(CertifiedKey::new(chain, key))
}

fn signing_key(provider: &CryptoProvider, text: &[u8]) -> Result<Arc<dyn SigningKey>, TlsError> {
    const ENCRYPTED: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];
    let contains = |mark: &&[u8]| text.windows(mark.len()).any(|window| window == *mark);
    if ENCRYPTED.iter().any(contains) {
        return Err(TlsError::EncryptedKey);
    }
    let key = PrivateKeyDer::from_pem_slice(text).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey,
        other => TlsError::Pem(Part::PrivateKey, other),
    })?;
    provider
        .key_provider
        .load_private_key(key)
        .map_err(TlsError::Key)
}

/// `certificate` as PEM, as the authentication context has it.
pub fn write_certificate(certificate: &CertificateDer<'_>) -> String {
    const LINE: usize = 64;
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    for (at, char) in encoded.chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            text.push('\n');
        }
        text.push(char);
    }
    text.push_str("\n-----END CERTIFICATE-----\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::provider;
    use super::super::test_certificates::{
        CA, CLIENT, CLIENT_KEY, SERVER, VERSION_1, VERSION_1_KEY, der,
    };
    use super::*;

    fn error(key: &str, chain: &str) -> String {
        let made = identity(&provider(), key.as_bytes(), chain.as_bytes());
        made.expect_err("it is wrong").to_string()
    }

    #[test]
    fn chains_keys_and_other_text_in_one() {
        let both = format!("my server\n{SERVER}\n\n{CA}and the end");
        let found = certificates(Part::CertificateChain, both.as_bytes());
        assert_eq!(found.map(|found| found.len()).ok(), Some(2));
        for (key, chain) in [(CLIENT_KEY, CLIENT), (VERSION_1_KEY, VERSION_1)] {
            let all = format!("{chain}{key}");
            assert!(identity(&provider(), all.as_bytes(), all.as_bytes()).is_ok());
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_the_part() {
        assert_eq!(
            error("", ""),
            "the certificate chain: no certificate in PEM is found"
        );
        assert_eq!(error("", CLIENT), "the private key: no key in PEM is found");
        assert_eq!(
            error(CLIENT, CLIENT),
            "the private key: no key in PEM is found"
        );
        assert!(error(CLIENT_KEY, SERVER).contains("is not the key of the first certificate"));
        let encrypted = CLIENT_KEY.replace("PRIVATE", "ENCRYPTED PRIVATE");
        assert!(error(&encrypted, CLIENT).contains("encrypted"));
        let garbled = CLIENT_KEY.replace("\nM", "\nN");
        assert!(error(&garbled, CLIENT).starts_with("the private key: "));
        let garbled = CLIENT.replace("\nM", "\n!");
        assert!(error(CLIENT_KEY, &garbled).starts_with("the certificate chain: malformed PEM"));
        let garbled = format!("{CLIENT}{}", CLIENT.replace("\nM", "\nN"));
        assert_eq!(
            error(CLIENT_KEY, &garbled),
            "the certificate chain: certificate 2 is no X.509 certificate"
        );
        let unended = CLIENT.replace("-----END", "");
        assert!(error(CLIENT_KEY, &unended).starts_with("the certificate chain: malformed PEM"));
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        assert_eq!(write_certificate(&der(CLIENT)), CLIENT);
    }
}
