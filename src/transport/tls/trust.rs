//! Whom to believe who they are.
//!
//! webpki decides, except on certificates that it refuses and grpcio takes: a root that a server shows as its own (the
//! usual result of `openssl req -x509`), one of X.509's first version (the usual result of `openssl x509 -req`), and a
//! host's name that stands in the common name alone. Each is needed for scripts to work as before, and none weakens
//! what is verified: keys, signatures, dates and names are checked all the same.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};
use x509_parser::certificate::X509Certificate;
use x509_parser::x509::X509Version;

use super::certificate::{self, Purpose};
use super::pem::{self, Part};
use super::{TlsError, names};

/// The roots that one side trusts.
#[derive(Debug)]
pub struct Trust {
    store: Arc<RootCertStore>,
    /// The same as they came, where they are the user's.
    roots: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Trust {
    /// The roots in `text`, or those that Mozilla trusts.
    pub fn new(provider: &CryptoProvider, text: Option<&[u8]>) -> Result<Self, TlsError> {
        let mut store = RootCertStore::empty();
        let mut roots = Vec::new();
        if let Some(text) = text {
            roots = pem::certificates(Part::RootCertificates, text)?;
        } else {
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        }
        for root in &roots {
            store.add(root.clone()).map_err(TlsError::Root)?;
        }
        Ok(Self {
            store: Arc::new(store),
            roots,
            algorithms: provider.signature_verification_algorithms,
        })
    }

    /// Judges the certificates that webpki does not. `None`: webpki is to judge.
    fn judge(
        &self,
        shown: &CertificateDer<'_>,
        purpose: Purpose,
        now: UnixTime,
    ) -> Option<Result<(), Error>> {
        let certificate = certificate::parse(shown)?;
        let issued = || certificate.version == X509Version::V1 && self.has_issued(&certificate);
        if !self.roots.contains(shown) && !issued() {
            return None;
        }
        // As webpki, which asks for the purpose only where the certificate tells one.
        if !certificate::is_for(&certificate, purpose) {
            return Some(Err(CertificateError::InvalidPurpose.into()));
        }
        Some(check_dates(&certificate, now))
    }

    /// Whether one of the roots has signed `certificate` itself.
    fn has_issued(&self, certificate: &X509Certificate<'_>) -> bool {
        self.roots
            .iter()
            .filter_map(|root| certificate::parse(root))
            .filter(|root| root.subject.as_raw() == certificate.issuer.as_raw())
            // Nobody would compare a common name with them.
            .filter(|root| !certificate::has_name_constraints(root))
            .any(|root| self.has_signed(&root, certificate))
    }

    /// Whether a common name counts. webpki compares only alternative names with the constraints of who has issued.
    fn counts_common_names(&self, intermediates: &[CertificateDer<'_>]) -> bool {
        let anchors = &self.store.roots;
        anchors.iter().all(|root| root.name_constraints.is_none())
            && intermediates.iter().all(|bytes| {
                certificate::parse(bytes)
                    .is_some_and(|issuer| !certificate::has_name_constraints(&issuer))
            })
    }

    fn has_signed(&self, issuer: &X509Certificate<'_>, certificate: &X509Certificate<'_>) -> bool {
        let key = &issuer.subject_pki;
        let (Ok(of_key), Ok(of_signature)) = (
            certificate::algorithm(&key.algorithm),
            certificate::algorithm(&certificate.signature_algorithm),
        ) else {
            return false;
        };
        let signed = certificate.tbs_certificate.as_ref();
        let signature = &certificate.signature_value.data;
        self.algorithms.all.iter().any(|algorithm| {
            algorithm.signature_alg_id().as_ref() == of_signature
                && algorithm.public_key_alg_id().as_ref() == of_key
                && algorithm
                    .verify_signature(&key.subject_public_key.data, signed, signature)
                    .is_ok()
        })
    }

    fn verify_tls13(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // webpki takes no certificate of the first version, not even to read the key in it.
        let certificate = certificate::parse(shown);
        match certificate.filter(|certificate| certificate.version == X509Version::V1) {
            Some(certificate) => {
                let key = SubjectPublicKeyInfoDer::from(certificate.subject_pki.raw);
                verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
            }
            None => verify_tls13_signature(message, shown, signature, &self.algorithms),
        }
    }
}

fn check_dates(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), Error> {
    // Later than that is later than any date in a certificate.
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < certificate.validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > certificate.validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

/// Verifies the certificate that a server shows.
#[derive(Debug)]
pub struct ServerVerifier(pub Trust);

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let trust = &self.0;
        match trust.judge(end_entity, Purpose::Server, now) {
            Some(judged) => judged?,
            None => verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(end_entity)?,
                &trust.store,
                intermediates,
                now,
                trust.algorithms.all,
            )?,
        }
        if trust.counts_common_names(intermediates) {
            names::verify(end_entity, server_name)?;
        } else {
            names::verify_alternative(end_entity, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.algorithms.supported_schemes()
    }
}

/// Verifies the certificate that a client shows.
#[derive(Debug)]
pub struct ClientVerifier {
    trust: Trust,
    inner: Arc<dyn ClientCertVerifier>,
}

impl ClientVerifier {
    /// A verifier for a server that lets nobody in without a certificate.
    pub fn new(provider: Arc<CryptoProvider>, trust: Trust) -> Result<Self, TlsError> {
        let store = Arc::clone(&trust.store);
        let inner = WebPkiClientVerifier::builder_with_provider(store, provider)
            .build()
            .map_err(|error| TlsError::Root(Error::General(error.to_string())))?;
        Ok(Self { trust, inner })
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.trust.judge(end_entity, Purpose::Client, now) {
            Some(judged) => judged.map(|()| ClientCertVerified::assertion()),
            None => self
                .inner
                .verify_client_cert(end_entity, intermediates, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trust.verify_tls13(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::provider;
    use super::super::test_certificates::{
        CA, CLIENT, NARROW_CA, NOT_NARROW, SELF_SIGNED, SERVER, VERSION_1, der,
    };
    use super::*;

    /// 2026 in seconds.
    const NOW: u64 = 1_780_000_000;

    fn verify_at(
        root: &str,
        shown: &CertificateDer<'_>,
        name: &str,
        now: u64,
    ) -> Result<(), Error> {
        let trust = Trust::new(&provider(), Some(root.as_bytes())).expect("the root is good");
        let name = ServerName::try_from(name).expect("it is a name");
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
        ServerVerifier(trust)
            .verify_server_cert(shown, &[], &name, &[], now)
            .map(drop)
    }

    fn verify(root: &str, shown: &str, name: &str) -> Result<(), Error> {
        verify_at(root, &der(shown), name, NOW)
    }

    #[test]
    fn what_the_root_has_issued_is_trusted_under_its_names() {
        for name in ["localhost", "a.example.com", "127.0.0.1"] {
            assert_eq!(verify(CA, SERVER, name), Ok(()));
        }
        for name in [
            "other",
            "example.com",
            "a.b.example.com",
            "127.0.0.2",
            "server",
        ] {
            let error = CertificateError::NotValidForName;
            assert_eq!(verify(CA, SERVER, name), Err(error.into()), "{name}");
        }
        // It is for clients only.
        assert!(verify(CA, CLIENT, "client.example").is_err());
    }

    #[test]
    fn a_root_may_be_shown_itself_under_its_common_name() {
        assert_eq!(verify(SELF_SIGNED, SELF_SIGNED, "localhost"), Ok(()));
        assert_eq!(verify(SERVER, SERVER, "localhost"), Ok(()));
        assert!(verify(SELF_SIGNED, SELF_SIGNED, "other").is_err());
        assert!(verify(CA, SELF_SIGNED, "localhost").is_err());
        assert!(verify(SELF_SIGNED, SERVER, "localhost").is_err());
    }

    #[test]
    fn the_first_version_is_trusted_where_the_root_itself_has_signed() {
        assert_eq!(verify(CA, VERSION_1, "localhost"), Ok(()));
        assert!(verify(CA, VERSION_1, "other").is_err());
        assert!(verify(SELF_SIGNED, VERSION_1, "localhost").is_err());
    }

    #[test]
    fn every_bit_is_verified() {
        for (root, shown) in [(CA, SERVER), (SELF_SIGNED, SELF_SIGNED), (CA, VERSION_1)] {
            let bytes = der(shown);
            assert_eq!(verify_at(root, &bytes, "localhost", NOW), Ok(()));
            for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut changed = bytes.to_vec();
                changed[at] ^= 1 << bit;
                let verified = verify_at(root, &changed.into(), "localhost", NOW);
                assert!(verified.is_err(), "bit {bit} of byte {at} is not verified");
            }
            let longer = [&bytes, &[0][..]].concat();
            assert!(verify_at(root, &longer.into(), "localhost", NOW).is_err());
        }
    }

    #[test]
    fn a_root_that_is_shown_itself_must_be_for_that_purpose() {
        let error = CertificateError::InvalidPurpose;
        assert_eq!(verify(CLIENT, CLIENT, "client.example"), Err(error.into()));
        let trust = Trust::new(&provider(), Some(CLIENT.as_bytes())).expect("the root is good");
        let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW));
        let judged = trust.judge(&der(CLIENT), Purpose::Client, now);
        assert_eq!(judged, Some(Ok(())));
    }

    #[test]
    fn a_common_name_does_not_evade_what_its_issuer_is_constrained_to() {
        let error = CertificateError::NotValidForName;
        let verified = verify(NARROW_CA, NOT_NARROW, "localhost");
        assert_eq!(verified, Err(error.into()));
        let trust = Trust::new(&provider(), Some(CA.as_bytes())).expect("the root is good");
        assert!(trust.counts_common_names(&[der(SERVER)]));
        assert!(!trust.counts_common_names(&[der(SERVER), der(NARROW_CA)]));
    }

    #[test]
    fn dates_are_checked() {
        for (root, shown) in [(CA, SERVER), (SELF_SIGNED, SELF_SIGNED), (CA, VERSION_1)] {
            for now in [0, 1_500_000_000, 4_900_000_000] {
                assert!(verify_at(root, &der(shown), "localhost", now).is_err());
            }
        }
    }

    #[test]
    fn the_worlds_roots_do_not_know_ours() {
        let trust = Trust::new(&provider(), None).expect("they are built in");
        assert!(trust.store.len() > 50);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW));
        assert!(
            trust
                .judge(&der(SELF_SIGNED), Purpose::Server, now)
                .is_none()
        );
    }
}
