//! The extension module `philote_fast._core`: it registers the binding, nothing else.

#[cfg(feature = "python")]
pub mod python;
pub mod table;
pub mod transport;
pub mod wire;

/// The Rust core of `philote_fast`.
#[cfg(feature = "python")]
#[pyo3::pymodule]
fn _core(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    python::register(module)
}
