//! Where the messages of a request or reply go.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::buffers::{DETACH_BYTES, bytes_of};
use super::meters::CallRecord;
use super::transport::ends::sender;
use super::transport::wait::{wait_if_needed, wait_timed};
use crate::transport::counters::Count;
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

/// Lets `write` write messages to `to`, a native call, which has sent them when this returns; or else to a list, which
/// `to` may be the record of.
///
/// The call, or the list of `bytes`.
pub fn written<'py>(
    py: Python<'py>,
    to: Option<&Bound<'py, PyAny>>,
    write: impl FnOnce(&mut dyn Sink) -> PyResult<()>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(to) = to {
        if let Ok(record) = to.cast_exact::<CallRecord>() {
            let record = record.get().record();
            record.begin_writing();
            let messages = listed(py, write)?;
            record.lap(Count::Encoding);
            record.count();
            record.written(messages.len(), size_of_all(&messages)?);
            return Ok(messages.into_any());
        }
        let mut sending = Sending::new(to)?;
        write(&mut sending)?;
        sending.send(py, true)?;
        return Ok(to.clone());
    }
    Ok(listed(py, write)?.into_any())
}

fn listed(
    py: Python<'_>,
    write: impl FnOnce(&mut dyn Sink) -> PyResult<()>,
) -> PyResult<Bound<'_, PyList>> {
    let mut messages = Messages::default();
    write(&mut messages)?;
    messages.into_list(py)
}

fn size_of_all(messages: &Bound<'_, PyList>) -> PyResult<usize> {
    let sizes = messages.iter().map(|message| message.len());
    sizes.sum()
}

/// Writes messages that are serialised already; as the tables' methods write theirs.
#[pyfunction]
#[pyo3(signature = (messages, to = None))]
pub fn write_messages<'py>(
    messages: &Bound<'py, PyList>,
    to: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = messages.py();
    written(py, to, |sink| {
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
    messages: usize,
    bytes: usize,
}

impl Sending {
    fn new(to: &Bound<'_, PyAny>) -> PyResult<Self> {
        let call = sender(to)?;
        call.record().begin_writing();
        let writer = Writer::new(call.framer());
        Ok(Self {
            call,
            writer,
            messages: 0,
            bytes: 0,
        })
    }

    fn send(&mut self, py: Python<'_>, last: bool) -> PyResult<()> {
        let Self { call, writer, .. } = self;
        let record = call.record();
        let step = |until| writer.send(&**call, last, until);
        // What a server sends last leaves with the status: there is nothing to wait for.
        if last && record.has_come() {
            wait_if_needed(py, record, Count::Encoding, step)?;
            record.lap(Count::Encoding);
        } else {
            wait_timed(py, record, Count::Encoding, step)?;
        }
        if last && !self.writer.has_lost() {
            self.call.record().written(self.messages, self.bytes);
        }
        Ok(())
    }
}

impl Sink for Sending {
    #[inline]
    fn message(&mut self, py: Python<'_>, parts: &[&[u8]]) -> PyResult<()> {
        let size = parts.iter().map(|part| part.len()).sum::<usize>();
        self.messages += 1;
        self.bytes += size;
        let Self { call, writer, .. } = self;
        let full = if size > DETACH_BYTES || writer.is_cut(size) {
            py.detach(|| writer.add(parts, &**call))
        } else {
            writer.add(parts, &**call)
        };
        if writer.may_leave() {
            py.detach(|| writer.let_go(&**call));
        }
        if full {
            self.send(py, false)?;
        }
        Ok(())
    }

    fn settled(&mut self, largest: usize) {
        self.writer.settled(largest);
    }
}
