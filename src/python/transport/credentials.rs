//! Credentials: PEM from Python, checked when they are made.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::transport::tls::{ClientTls, ServerTls, TlsError};

/// What a channel needs to know for TLS.
///
/// Parameters
/// ----------
/// root_certificates : bytes, optional
///     Whom to trust, in PEM; those whom Mozilla trusts if not given.
/// private_key, certificate_chain : bytes, optional
///     Who one is, in PEM, for servers that ask.
///
/// Raises
/// ------
/// ValueError
///     If one of them cannot be used; the text tells which, and why.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct TlsClientConfig {
    tls: ClientTls,
}

#[pymethods]
impl TlsClientConfig {
    #[new]
    #[pyo3(signature = (root_certificates = None, private_key = None, certificate_chain = None))]
    fn new(
        py: Python<'_>,
        root_certificates: Option<&[u8]>,
        private_key: Option<&[u8]>,
        certificate_chain: Option<&[u8]>,
    ) -> PyResult<Self> {
        let tls = py.detach(|| ClientTls::new(root_certificates, private_key, certificate_chain));
        Ok(Self { tls: tls? })
    }
}

impl TlsClientConfig {
    /// What the transport takes.
    pub fn tls(&self) -> &ClientTls {
        &self.tls
    }
}

/// What a server needs to know for TLS.
///
/// Parameters
/// ----------
/// private_key_certificate_chain_pairs : list of tuple of bytes
///     Who one is: keys and chains in PEM. Clients that name the server are shown the chain for that name, else the first.
/// root_certificates : bytes, optional
///     Whose certificates to take from clients, in PEM.
/// require_client_auth : bool, optional
///     Whether clients must show a certificate.
///
/// Raises
/// ------
/// ValueError
///     If one of them cannot be used; the text tells which, and why.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct TlsServerConfig {
    tls: ServerTls,
}

#[pymethods]
impl TlsServerConfig {
    #[new]
    #[pyo3(signature = (
        private_key_certificate_chain_pairs, root_certificates = None, require_client_auth = false
    ))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what Python gives is extracted into it"
    )]
    fn new(
        py: Python<'_>,
        private_key_certificate_chain_pairs: Vec<(Vec<u8>, Vec<u8>)>,
        root_certificates: Option<&[u8]>,
        require_client_auth: bool,
    ) -> PyResult<Self> {
        let pairs: Vec<(&[u8], &[u8])> = private_key_certificate_chain_pairs
            .iter()
            .map(|(key, chain)| (key.as_slice(), chain.as_slice()))
            .collect();
        let tls = py.detach(|| ServerTls::new(&pairs, root_certificates, require_client_auth));
        Ok(Self { tls: tls? })
    }
}

impl TlsServerConfig {
    /// What the transport takes.
    pub fn tls(&self) -> &ServerTls {
        &self.tls
    }
}

impl From<TlsError> for PyErr {
    fn from(error: TlsError) -> Self {
        PyValueError::new_err(error.to_string())
    }
}
