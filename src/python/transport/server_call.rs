//! One call of the native server, as its handler's thread uses it.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use super::pairs;
use super::server::{encoding, inherited, object};
use super::wait::wait;
use crate::transport::code::Code;
use crate::transport::compression::Encoding;
use crate::transport::counters::Count;
use crate::transport::fork::Native;
use crate::transport::framing::{Framer, FramingError, MessageReader, Side};
use crate::transport::server::{Initial, ServerCall};
use crate::transport::status::Status;
use crate::transport::{Incoming, Outgoing};

/// One call of a native server. Every thread may use it at any time.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct NativeServerCall {
    call: Native<Arc<ServerCall>>,
    /// Never waited for with the GIL: whoever has it may wait for messages.
    reader: Mutex<MessageReader>,
}

#[pymethods]
impl NativeServerCall {
    /// The full name of the method, such as ``/package.Service/Method``.
    #[getter]
    fn method(&self) -> PyResult<&str> {
        Ok(&self.call()?.head().method)
    }

    /// The caller's address.
    #[getter]
    fn peer(&self) -> PyResult<&str> {
        Ok(&self.call()?.peer().address)
    }

    /// What is known of the connection's security: lists of bytes by name.
    #[getter]
    fn auth_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let context = PyDict::new(py);
        for (name, values) in &self.call()?.peer().properties {
            let values = values.iter().map(|value| PyBytes::new(py, value));
            context.set_item(name, PyList::new(py, values.collect::<Vec<_>>())?)?;
        }
        Ok(context)
    }

    /// The metadata that the caller has sent.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        // What the caller has sent was checked when it came.
        pairs::to_python(py, &self.call()?.metadata().unwrap_or_default())
    }

    /// Wait for a message; None if there will be no more.
    pub fn receive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let call = self.call()?;
        let message = wait(py, |until| self.poll_message(call, until))?;
        if let Some(message) = &message {
            call.record().meter().received(1, message.len());
        }
        Ok(message.map(|message| PyBytes::new(py, &message)))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.receive(py)
    }

    /// Send one message; False if the call has ended.
    #[pyo3(signature = (message, compress = true))]
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyBytes>, compress: bool) -> PyResult<bool> {
        self.send_framed(py, &[message.as_bytes()], compress, false)
    }

    /// Send the last message, which leaves with the status; False if the call has ended.
    #[pyo3(signature = (message, compress = true))]
    fn send_last(
        &self,
        py: Python<'_>,
        message: &Bound<'_, PyBytes>,
        compress: bool,
    ) -> PyResult<bool> {
        self.send_framed(py, &[message.as_bytes()], compress, true)
    }

    /// Send messages in a row; False if the call has ended.
    #[pyo3(signature = (messages, compress = true))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what Python gives is extracted into it"
    )]
    fn send_all(
        &self,
        py: Python<'_>,
        messages: Vec<Bound<'_, PyBytes>>,
        compress: bool,
    ) -> PyResult<bool> {
        let messages: Vec<&[u8]> = messages.iter().map(PyBytesMethods::as_bytes).collect();
        self.send_framed(py, &messages, compress, false)
    }

    /// Send initial metadata: True if it is sent, False if some was sent before, None if the call has ended.
    fn send_initial_metadata(
        &self,
        py: Python<'_>,
        metadata: &Bound<'_, PyAny>,
    ) -> PyResult<Option<bool>> {
        let call = self.call()?;
        let metadata = pairs::from_python(metadata)?;
        Ok(match py.detach(|| call.send_initial(&metadata)) {
            Initial::Sent => Some(true),
            Initial::TooLate => Some(false),
            Initial::Over => None,
        })
    }

    /// Compress messages from now on, where the caller takes them so and nothing was sent.
    fn set_compression(&self, compression: u32) -> PyResult<()> {
        self.call()?.set_encoding(encoding(compression)?);
        Ok(())
    }

    /// End the call with a status; False if it had ended before.
    fn finish(
        &self,
        py: Python<'_>,
        code: u32,
        details: &[u8],
        trailing: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let call = self.call()?;
        let status = Status {
            code: Code::from_number(code).unwrap_or(Code::Unknown),
            message: String::from_utf8_lossy(details).into_owned(),
            trailing: pairs::from_python(trailing)?,
        };
        let record = call.record();
        record.take_back();
        let finished = py.detach(|| call.finish(&status));
        record.lap(Count::Waiting);
        Ok(finished)
    }

    /// End the call as if the caller had cancelled it; False if it had ended before.
    fn cancel(&self, py: Python<'_>) -> PyResult<bool> {
        let call = self.call()?;
        Ok(py.detach(|| call.cancel()))
    }

    /// Whether the call has neither been answered nor cancelled.
    fn is_active(&self) -> PyResult<bool> {
        Ok(self.call()?.is_active())
    }

    /// Whether the call ended before it was answered.
    fn is_cancelled(&self) -> PyResult<bool> {
        Ok(self.call()?.is_cancelled())
    }

    /// The seconds until the caller gives up, or None.
    fn time_remaining(&self) -> PyResult<Option<f64>> {
        let deadline = self.call()?.deadline();
        Ok(deadline.map(|at| at.saturating_duration_since(Instant::now()).as_secs_f64()))
    }

    /// Have an object handed to the server's thread when the call ends; False if it has ended.
    fn watch(&self, watcher: Py<PyAny>) -> PyResult<bool> {
        Ok(self.call()?.watch(Box::new(watcher)))
    }

    /// Keep how the call was accepted for the worker that runs it.
    fn set_accepted(&self, accepted: Py<PyAny>) -> PyResult<()> {
        self.call()?.set_note(Box::new(accepted));
        Ok(())
    }

    /// Return how the call was accepted, the first time; None if it was not.
    fn take_accepted(&self) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.call()?.take_note().and_then(object))
    }
}

impl NativeServerCall {
    pub(super) fn new(call: Arc<ServerCall>) -> Self {
        Self {
            reader: Mutex::new(call.reader()),
            call: Native::new(call),
        }
    }

    /// The call in the transport.
    ///
    /// # Errors
    /// `RuntimeError` in a forked child.
    pub fn call(&self) -> PyResult<&Arc<ServerCall>> {
        self.call.get().ok_or_else(inherited)
    }

    pub(super) fn shared(&self) -> PyResult<Arc<ServerCall>> {
        Ok(Arc::clone(self.call()?))
    }

    /// The reader of the call's messages, to be locked without the GIL.
    pub fn reader(&self) -> &Mutex<MessageReader> {
        &self.reader
    }

    fn poll_message(&self, call: &ServerCall, until: Instant) -> Poll<Option<Bytes>> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match reader.take() {
                Ok(Some(message)) => return Poll::Ready(Some(message)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(refuse(call, error)),
            }
            if !ready!(call.fill(&mut reader, until)) {
                let cut = !reader.is_clean_end() && call.is_active();
                return Poll::Ready(cut.then(|| refuse(call, FramingError::Truncated)).flatten());
            }
        }
    }

    fn send_framed(
        &self,
        py: Python<'_>,
        messages: &[&[u8]],
        compress: bool,
        last: bool,
    ) -> PyResult<bool> {
        let call = self.call()?;
        let encoding = if compress {
            call.encoding()
        } else {
            Encoding::Identity
        };
        let mut framer = Framer::new(call.send_limit(), encoding);
        let framed = py.detach(|| {
            messages
                .iter()
                .try_for_each(|message| framer.message(&[message]))
        });
        if let Err(error) = framed {
            py.detach(|| refuse(call, error));
            return Ok(false);
        }
        framer.flush();
        while let Some(segment) = framer.segment() {
            let last = last && framer.is_empty();
            if wait(py, |until| call.send(&segment, last, until))?.is_err() {
                return Ok(false);
            }
        }
        let bytes = messages.iter().map(|message| message.len()).sum();
        call.record().meter().sent(messages.len(), bytes);
        Ok(true)
    }
}

/// Ends a call whose messages cannot be read or sent.
fn refuse(call: &ServerCall, error: FramingError) -> Option<Bytes> {
    call.fail(&error.status(Side::Server));
    None
}
