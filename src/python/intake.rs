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

/// What messages are handed to.
pub trait Take {
    /// A whole message.
    fn message(&mut self, message: &[u8]) -> PyResult<()>;

    /// The beginning of a message of `size` bytes. Where the rest may come in pieces: how much of the beginning has
    /// been dealt with.
    fn begin(&mut self, _beginning: &[u8], _size: usize) -> Option<usize> {
        None
    }

    /// What follows of the message that was begun last.
    fn piece(&mut self, _piece: &[u8]) -> PyResult<()> {
        Ok(())
    }
}

impl<F: FnMut(&[u8]) -> PyResult<()>> Take for F {
    fn message(&mut self, message: &[u8]) -> PyResult<()> {
        self(message)
    }
}

/// Hands each message to `take`: those of a native call where they lie, else what an iterator gives, serialised by
/// `to_bytes`.
///
/// # Errors
/// What ended the call, where that was not the end of the messages.
pub fn each_message<'py>(
    messages: &Bound<'py, PyAny>,
    to_bytes: impl Fn(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>>,
    mut take: impl Take,
) -> PyResult<()> {
    let Some(call) = native(messages)? else {
        for message in messages.try_iter()? {
            take.message(to_bytes(message?)?.as_bytes())?;
        }
        return Ok(());
    };
    let is_whole = each_of_call(messages.py(), &*call, take)?;
    is_whole.then_some(()).ok_or_else(|| ended(messages))
}

/// False where the end of the call cut the messages short.
fn each_of_call(py: Python<'_>, call: &dyn Exchange, mut take: impl Take) -> PyResult<bool> {
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
    take: &mut impl Take,
) -> PyResult<Result<(), FramingError>> {
    loop {
        while let Some(piece) = reader.piece() {
            take.piece(&piece)?;
        }
        let taken = match reader.read_or_begin(|beginning, size| take.begin(beginning, size)) {
            Ok(Some(message)) => Some(take.message(message)?),
            Ok(None) => None,
            Err(error) => return Ok(Err(error)),
        };
        // Without a message there may be one that is read in pieces from now on.
        if taken.is_none() && !reader.has_piece() {
            return Ok(Ok(()));
        }
    }
}

/// Reads a reply that carries nothing, to its end.
#[pyfunction]
pub fn read_nothing(messages: &Bound<'_, PyAny>) -> PyResult<()> {
    each_message(messages, message_bytes, |_: &[u8]| Ok(()))
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
