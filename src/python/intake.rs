//! One message of a stream, as bytes: what the wire brings, or a `VariableMessage` object.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::buffers::bytes_of;
use super::tables::serialise;
use crate::wire::Header;

/// The serialised form of a message.
pub fn message_bytes(message: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyBytes>> {
    let message = match message.cast_into::<PyBytes>() {
        Ok(bytes) => return Ok(bytes),
        Err(other) => other.into_inner(),
    };
    match serialise(&message)? {
        Some(bytes) => Ok(bytes),
        None => double_bytes(&message),
    }
}

/// A test double with the attributes of a `VariableMessage` that holds doubles.
fn double_bytes<'py>(message: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = message.py();
    let variant = message.call_method1(intern!(py, "WhichOneof"), ("payload",))?;
    match variant.extract::<Option<String>>()?.as_deref() {
        None => Ok(PyBytes::new(py, b"")),
        Some("continuous") => array_bytes(&message.getattr(intern!(py, "continuous"))?),
        Some(_) => Err(PyTypeError::new_err(format!(
            "a VariableMessage is expected, got {}",
            message.get_type().name()?
        ))),
    }
}

fn array_bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = array.py();
    let name: String = array.getattr(intern!(py, "name"))?.extract()?;
    let subname = array
        .getattr(intern!(py, "subname"))?
        .extract::<String>()
        .unwrap_or_default();
    let values: Vec<f64> = array.getattr(intern!(py, "data"))?.extract()?;
    let header = Header {
        name: &name,
        subname: &subname,
        start: array.getattr(intern!(py, "start"))?.extract()?,
        end: array.getattr(intern!(py, "end"))?.extract()?,
        kind: array.getattr(intern!(py, "type"))?.extract()?,
    };
    let mut bytes = Vec::new();
    header.write(values.len(), &mut bytes)?;
    let payload: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    bytes_of(py, &[&bytes, &payload])
}
