//! The messages of a stream as bytes: what the wire brings, or message objects.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::buffers::bytes_of;
use super::errors::ended;
use super::tables::serialise;
use super::transport::ends::native;
use super::transport::wait::wait;
use crate::transport::ends::Exchange;
use crate::transport::framing::{FramingError, MessageReader};
use crate::wire::Header;

/// Hands each message to `take`: those of a native call where they lie, else what an iterator gives, serialised by
/// `to_bytes`.
///
/// # Errors
/// What ended the call, where that was not the end of the messages.
pub fn each_message<'py>(
    messages: &Bound<'py, PyAny>,
    to_bytes: impl Fn(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>>,
    mut take: impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<()> {
    let Some(call) = native(messages)? else {
        for message in messages.try_iter()? {
            take(to_bytes(message?)?.as_bytes())?;
        }
        return Ok(());
    };
    let is_whole = each_of_call(messages.py(), &*call, take)?;
    is_whole.then_some(()).ok_or_else(|| ended(messages))
}

/// False where the end of the call cut the messages short.
fn each_of_call(
    py: Python<'_>,
    call: &dyn Exchange,
    mut take: impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<bool> {
    let mut reader = call.reader();
    loop {
        if let Err(error) = each_come(&mut reader, &mut take)? {
            call.refuse(error);
            return Ok(false);
        }
        if !wait(py, |until| call.fill(&mut reader, until))? {
            break;
        }
    }
    if !reader.is_clean_end() {
        call.refuse(FramingError::Truncated);
    }
    Ok(call.is_whole())
}

fn each_come(
    reader: &mut MessageReader,
    take: &mut impl FnMut(&[u8]) -> PyResult<()>,
) -> PyResult<Result<(), FramingError>> {
    loop {
        match reader.read() {
            Ok(Some(message)) => take(message)?,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
    }
}

/// Reads a reply that carries nothing, to its end.
#[pyfunction]
pub fn read_nothing(messages: &Bound<'_, PyAny>) -> PyResult<()> {
    each_message(messages, message_bytes, |_| Ok(()))
}

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
