//! The binding of the transport.

mod call;
mod channel;
mod credentials;
pub mod ends;
mod pairs;
mod server;
mod server_call;
pub mod wait;

use pyo3::prelude::*;

use crate::transport::fork;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<credentials::TlsClientConfig>()?;
    module.add_class::<credentials::TlsServerConfig>()?;
    module.add_class::<call::NativeCall>()?;
    module.add_class::<channel::NativeChannel>()?;
    module.add_class::<server::NativeServer>()?;
    module.add_class::<server_call::NativeServerCall>()?;
    module.add_function(wrap_pyfunction!(forked, module)?)
}

/// Tell that this process is a child that was just forked.
#[pyfunction]
fn forked() {
    fork::forked();
}
