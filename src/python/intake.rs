//! The messages of a stream as bytes: what the wire brings, or message objects.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::buffers::bytes_of;
use super::errors::ended;
use super::meters::{Recorded, Span};
use super::tables::serialise;
use super::transport::ends::native;
use super::transport::wait::{wait_if_needed, wait_timed};
use crate::transport::counters::Count;
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
    take: impl Take,
) -> PyResult<()> {
    let Some(call) = native(messages)? else {
        return match messages.cast_exact::<Recorded>() {
            Ok(recorded) => each_recorded(recorded, to_bytes, take),
            Err(_) => each_listed(messages, to_bytes, take),
        };
    };
    let is_whole = each_of_call(messages.py(), &*call, take)?;
    is_whole.then_some(()).ok_or_else(|| ended(messages))
}

fn each_listed<'py>(
    messages: &Bound<'py, PyAny>,
    to_bytes: impl Fn(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>>,
    mut take: impl Take,
) -> PyResult<()> {
    for message in messages.try_iter()? {
        take.message(to_bytes(message?)?.as_bytes())?;
    }
    Ok(())
}

fn each_recorded<'py>(
    recorded: &Bound<'py, Recorded>,
    to_bytes: impl Fn(Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>>,
    mut take: impl Take,
) -> PyResult<()> {
    let record = recorded.get().record();
    let mut messages = recorded.get().messages(recorded.py()).try_iter()?;
    loop {
        record.lap(Count::Decoding);
        let next = messages.next().transpose();
        record.lap(Count::Waiting);
        let Some(message) = next? else {
            return Ok(());
        };
        let message = to_bytes(message)?;
        record.meter().received(1, message.as_bytes().len());
        take.message(message.as_bytes())?;
    }
}

/// False where the end of the call cut the messages short.
fn each_of_call(py: Python<'_>, call: &dyn Exchange, mut take: impl Take) -> PyResult<bool> {
    let mut reader = call.reader();
    let record = call.record();
    let mut come = Come::default();
    // A client's first look is too early, a server's is not.
    let mut early = !record.has_come();
    let filled = loop {
        match each_come(&mut reader, &mut take, &mut come) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                call.refuse(error);
                break Ok(false);
            }
            Err(error) => break Err(error),
        }
        let mut fill = |until| call.fill(&mut reader, until);
        let more = if std::mem::take(&mut early) {
            wait_timed(py, record, Count::Decoding, &mut fill)
        } else {
            wait_if_needed(py, record, Count::Decoding, &mut fill)
        };
        match more {
            Ok(true) => {}
            Ok(false) => break Ok(true),
            Err(error) => break Err(error),
        }
    };
    record.meter().received(come.messages, come.bytes);
    if !filled? {
        return Ok(false);
    }
    if !reader.is_clean_end() {
        call.refuse(FramingError::Truncated);
    }
    Ok(call.is_whole())
}

/// How much was taken.
#[derive(Default)]
struct Come {
    messages: usize,
    bytes: usize,
}

impl Come {
    fn add(&mut self, size: usize) {
        self.messages += 1;
        self.bytes += size;
    }
}

fn each_come(
    reader: &mut MessageReader,
    take: &mut impl Take,
    come: &mut Come,
) -> PyResult<Result<(), FramingError>> {
    loop {
        while let Some(piece) = reader.piece() {
            take.piece(&piece)?;
        }
        let begin = |beginning: &[u8], size| {
            let begun = take.begin(beginning, size)?;
            come.add(size);
            Some(begun)
        };
        let taken = match reader.read_or_begin(begin) {
            Ok(Some(message)) => {
                come.add(message.len());
                Some(take.message(message)?)
            }
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
    let reading = Span::new(messages)?;
    each_message(messages, message_bytes, |_: &[u8]| Ok(()))?;
    reading.done();
    Ok(())
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
