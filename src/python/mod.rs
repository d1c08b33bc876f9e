//! The binding: the only place that touches `PyO3` and `NumPy`.

#![allow(
    clippy::doc_markdown,
    reason = "the comments of what Python sees are its docstrings, in numpydoc's form"
)]

use pyo3::prelude::*;

pub mod arrays;
pub mod buffers;
mod chunks;
mod declare;
pub mod discrete;
mod elements;
pub mod errors;
mod flat;
mod fresh;
mod hooks;
mod intake;
mod messages;
mod meters;
mod outbox;
mod process;
mod reading;
mod shapes;
mod sink;
mod table;
mod tables;
mod transport;
mod watched;
mod way;
mod wire;

/// Adds every function and class of the extension to `module`.
///
/// # Errors
/// Whatever the interpreter raises while a name is added.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    chunks::register(module)?;
    messages::register(module)?;
    discrete::register(module)?;
    wire::register(module)?;
    module.add_class::<declare::Declared>()?;
    module.add_class::<watched::Touches>()?;
    module.add_class::<watched::Walk>()?;
    module.add_class::<hooks::Places>()?;
    module.add_function(wrap_pyfunction!(hooks::untouched, module)?)?;
    module.add_class::<flat::Flat>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<tables::Tables>()?;
    module.add_class::<way::Way>()?;
    transport::register(module)?;
    meters::register(module)?;
    module.add_function(wrap_pyfunction!(intake::read_nothing, module)?)?;
    module.add_function(wrap_pyfunction!(process::read_into, module)?)?;
    module.add_function(wrap_pyfunction!(sink::write_messages, module)?)?;
    module.add_function(wrap_pyfunction!(shapes::read_shapes, module)?)
}
