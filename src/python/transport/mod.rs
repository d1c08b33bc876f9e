//! The binding of the transport.

mod credentials;
mod wait;

use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<credentials::TlsClientConfig>()?;
    module.add_class::<credentials::TlsServerConfig>()
}
