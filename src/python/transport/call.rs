//! `NativeCall`.

use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::channel::deadline;
use super::pairs;
use super::wait::wait;
use crate::transport::client::{Call, Channel};
use crate::transport::code::Code;
use crate::transport::fork::Native;
use crate::transport::framing::Side;
use crate::transport::status::Status;
use crate::transport::{Ended, Outgoing};

/// What a call of a parent ends with in a forked child.
const INHERITED: &str = "The call was made before os.fork(), by the parent process";

/// What a call ends with that nobody has any more.
const ABANDONED: &str = "Cancelled upon garbage collection!";

/// What a call ends with whose `with` block was left before its end.
const LEFT: &str = "Locally cancelled by application!";

/// A call as Python's classes and the tables use it.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct NativeCall {
    call: Native<Held>,
}

/// A call that ends when nobody holds it, on a channel that is open as long as somebody does.
struct Held {
    call: Arc<Call>,
    channel: Arc<Channel>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.call.has_ended() {
            self.call.abandon(Status::new(Code::Cancelled, ABANDONED));
        }
    }
}

type Ending<'py> = (u8, String, Bound<'py, PyTuple>);

#[pymethods]
impl NativeCall {
    /// Return the number by which `wait_events` tells the call.
    #[getter]
    fn id(&self) -> Option<u64> {
        self.live().map(|call| call.id())
    }

    /// Send one message. False: the call has ended.
    #[pyo3(signature = (message, last = false))]
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyBytes>, last: bool) -> PyResult<bool> {
        self.send_framed(py, &[message.as_bytes()], last)
    }

    /// Send messages. False: the call has ended.
    #[pyo3(signature = (messages, last = false))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what Python gives is extracted into it"
    )]
    fn send_all(
        &self,
        py: Python<'_>,
        messages: Vec<Bound<'_, PyBytes>>,
        last: bool,
    ) -> PyResult<bool> {
        let messages: Vec<&[u8]> = messages.iter().map(PyBytesMethods::as_bytes).collect();
        self.send_framed(py, &messages, last)
    }

    /// Say that there are no more messages.
    fn half_close(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(call) = self.live() {
            let end = Bytes::new();
            // Where the call has ended nobody wants to know.
            let _: Result<(), Ended> = wait(py, |until| call.send(&end, true, until))?;
        }
        Ok(())
    }

    /// Send what has been asked of the call so far, its headers at least.
    fn flush(&self, py: Python<'_>) {
        if let Some(call) = self.live() {
            py.detach(|| call.flush());
        }
    }

    /// Wait for the next message; None at the end.
    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(call) = self.live() else {
            return Ok(None);
        };
        let message = wait(py, |until| call.message(until))?;
        if let Some(message) = &message {
            call.record().meter().received(1, message.len());
        }
        Ok(message.map(|message| PyBytes::new(py, &message)))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.receive(py)
    }

    /// Wait for the initial metadata.
    fn initial_metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Some(call) = self.live() else {
            return Ok(PyTuple::empty(py));
        };
        let metadata = wait(py, |until| call.initial_metadata(until))?;
        pairs::to_python(py, &metadata)
    }

    /// Wait for the end: the number of the code, the details and the trailing metadata.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Ending<'py>> {
        let Some(call) = self.live() else {
            let code = Code::Unavailable.number();
            return Ok((code, INHERITED.to_owned(), PyTuple::empty(py)));
        };
        let status = wait(py, |until| call.status(until))?;
        let trailing = pairs::to_python(py, &status.trailing)?;
        Ok((status.code.number(), status.message, trailing))
    }

    /// Say that the answer is one message, which is taken when the call is over.
    fn expect_one(&self) {
        if let Some(call) = self.live() {
            call.expect_one();
        }
    }

    /// Send the only request and wait for the only answer: that, or None, and how the call ended.
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'_, PyBytes>,
    ) -> PyResult<(Option<Bound<'py, PyBytes>>, u8)> {
        let Some(call) = self.live() else {
            return Ok((None, Code::Unavailable.number()));
        };
        call.expect_one();
        self.send(py, message, true)?;
        let answer = self.receive(py)?;
        let status = wait(py, |until| call.status(until))?;
        Ok((answer, status.code.number()))
    }

    /// Say whether the call has ended.
    fn ended(&self, py: Python<'_>) -> bool {
        self.live().is_none_or(|call| py.detach(|| call.look()))
    }

    /// Wait for the end, for so many seconds at most; say whether it has come.
    fn wait_ended(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let Some(call) = self.live() else {
            return Ok(true);
        };
        let end = timeout.map(deadline);
        wait(py, |until| {
            let stop = end.map_or(until, |end| end.min(until));
            match call.status(stop) {
                Poll::Ready(_) => Poll::Ready(true),
                Poll::Pending if end.is_some_and(|end| Instant::now() >= end) => Poll::Ready(false),
                Poll::Pending => Poll::Pending,
            }
        })
    }

    /// Have the end reported by the channel's `wait_events`.
    fn watch(&self) {
        if let Some(held) = self.call.get() {
            held.channel.watch(&held.call);
        }
    }

    /// End the call. False: it had ended already.
    fn cancel(&self, py: Python<'_>, code: u32, details: String) -> PyResult<bool> {
        let Some(call) = self.live() else {
            return Ok(false);
        };
        let code = Code::from_number(code).ok_or_else(|| PyValueError::new_err("no such code"))?;
        Ok(py.detach(|| call.end(Status::new(code, details))))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Cancel the call, unless it has ended.
    #[pyo3(signature = (_kind, _error, _traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        if let Some(call) = self.live()
            && !call.has_ended()
        {
            py.detach(|| call.end(Status::new(Code::Cancelled, LEFT)));
        }
    }

    /// Return the seconds that are left, or None where there is no limit.
    fn time_remaining(&self) -> Option<f64> {
        let deadline = self.live()?.deadline()?;
        let left = deadline.saturating_duration_since(Instant::now());
        Some(left.as_secs_f64())
    }
}

impl NativeCall {
    pub fn new(call: Arc<Call>, channel: Arc<Channel>) -> Self {
        Self {
            call: Native::new(Held { call, channel }),
        }
    }

    fn send_framed(&self, py: Python<'_>, messages: &[&[u8]], last: bool) -> PyResult<bool> {
        let Some(call) = self.live() else {
            return Ok(false);
        };
        let mut framer = call.framer();
        let framed = py.detach(|| {
            messages
                .iter()
                .try_for_each(|message| framer.message(&[message]))
        });
        if let Err(error) = framed {
            call.end(error.status(Side::Client));
            return Ok(false);
        }
        framer.flush();
        // Without any message there is still an end to tell.
        let mut next = framer.segment().or_else(|| last.then(Bytes::new));
        while let Some(segment) = next {
            let last = last && framer.is_empty();
            if wait(py, |until| call.send(&segment, last, until))? == Err(Ended) {
                return Ok(false);
            }
            next = framer.segment();
        }
        let bytes = messages.iter().map(|message| message.len()).sum();
        call.record().meter().sent(messages.len(), bytes);
        Ok(true)
    }

    /// The call, unless it is a parent's.
    pub fn live(&self) -> Option<&Arc<Call>> {
        self.call.get().map(|held| &held.call)
    }
}
