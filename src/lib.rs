//! The extension module `philote_fast._core`: it registers the binding, nothing else.

pub mod python;
pub mod table;
pub mod wire;

use pyo3::prelude::*;

/// The Rust core of `philote_fast`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::register(module)
}
