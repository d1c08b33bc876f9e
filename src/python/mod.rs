//! The binding: the only place that touches `PyO3` and `NumPy`.

mod declare;

use pyo3::prelude::*;

/// Adds every function and class of the extension to `module`.
///
/// # Errors
/// Whatever the interpreter raises while a name is added.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<declare::Declared>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
