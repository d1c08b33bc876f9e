//! Where the messages of a request or reply go.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::buffers::{DETACH_BYTES, bytes_of};
use super::transport::ends::sender;
use super::transport::wait::wait;
use crate::transport::ends::Exchange;
use crate::transport::writer::Writer;

/// Takes the messages of a request or reply, in the order in which they are sent.
pub trait Sink {
    /// Takes one message: all of `parts`, one after the other, as they are at this moment.
    fn message(&mut self, py: Python<'_>, parts: &[&[u8]]) -> PyResult<()>;

    /// Nothing that follows can be refused, unless for its size, which is `largest` at most: it may leave while the rest
    /// is being written.
    fn settled(&mut self, _largest: usize) {}
}

/// Lets `write` write messages to `to`, a native call, which has sent them when this returns; or else to a list.
///
/// The call, or the list of `bytes`.
pub fn written<'py>(
    py: Python<'py>,
    to: Option<&Bound<'py, PyAny>>,
    write: impl FnOnce(&mut dyn Sink) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(to) = to {
        let mut sending = Sending::new(to)?;
        write(&mut sending)?;
        sending.send(py, true)?;
        return Ok(to.clone());
    }
    let mut messages = Messages::default();
    write(&mut messages)?;
    Ok(messages.into_list(py)?.into_any())
}

/// Writes messages that are serialised already; as the tables' methods write theirs.
#[pyfunction]
#[pyo3(signature = (messages, to = None))]
pub fn write_messages<'py>(
    messages: &Bound<'py, PyList>,
    to: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(to) = to else {
        return Ok(messages.clone().into_any());
    };
    let py = messages.py();
    written(py, Some(to), |sink| {
        for message in messages {
            sink.message(py, &[message.cast::<PyBytes>()?.as_bytes()])?;
        }
        Ok(())
    })
}

/// Messages as `bytes` objects, for whoever sends them one by one.
#[derive(Default)]
struct Messages(Vec<Py<PyBytes>>);

impl Messages {
    fn into_list(self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        PyList::new(py, self.0)
    }
}

impl Sink for Messages {
    #[inline]
    fn message(&mut self, py: Python<'_>, parts: &[&[u8]]) -> PyResult<()> {
        self.0.push(bytes_of(py, parts)?.unbind());
        Ok(())
    }
}

/// Messages that a native call sends.
struct Sending {
    call: Arc<dyn Exchange>,
    writer: Writer,
}

impl Sending {
    fn new(to: &Bound<'_, PyAny>) -> PyResult<Self> {
        let call = sender(to)?;
        let writer = Writer::new(call.framer());
        Ok(Self { call, writer })
    }

    fn send(&mut self, py: Python<'_>, last: bool) -> PyResult<()> {
        let Self { call, writer } = self;
        wait(py, |until| writer.send(&**call, last, until))
    }
}

impl Sink for Sending {
    #[inline]
    fn message(&mut self, py: Python<'_>, parts: &[&[u8]]) -> PyResult<()> {
        let large = parts.iter().any(|part| part.len() > DETACH_BYTES);
        let Self { call, writer } = self;
        let full = if large {
            py.detach(|| writer.add(parts, &**call))
        } else {
            writer.add(parts, &**call)
        };
        if full {
            self.send(py, false)?;
        }
        Ok(())
    }

    fn settled(&mut self, largest: usize) {
        self.writer.settled(largest);
    }
}
