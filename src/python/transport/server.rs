//! The native server, as `philote_fast.transport.server` uses it.

use std::task::Poll;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::credentials::TlsServerConfig;
use super::server_call::NativeServerCall;
use crate::transport::compression::Encoding;
use crate::transport::fork::Native;
use crate::transport::server::{News, Note, Options, Queue, Server};

/// The thread that stands by waits for so long at a time. It is woken when there is something to do.
const LONG: Duration = Duration::from_secs(3600);

/// A gRPC server on the native transport.
///
/// Parameters
/// ----------
/// options : dict
///     What is not the default, by the names of the transport's own options.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct NativeServer {
    server: Native<Server>,
}

#[pymethods]
impl NativeServer {
    #[new]
    fn new(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let server = Server::new(read_options(options)?)?;
        Ok(Self {
            server: Native::new(server),
        })
    }

    /// Listen on an address, and return its port.
    #[pyo3(signature = (address, tls))]
    fn add_port(
        &self,
        py: Python<'_>,
        address: &str,
        tls: Option<&Bound<'_, TlsServerConfig>>,
    ) -> PyResult<u16> {
        let server = self.server()?;
        let tls = tls.map(|tls| tls.get().tls());
        // It may have to ask for the addresses of a name.
        py.detach(|| server.add_port(address, tls))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Begin to take connections.
    fn start(&self) -> PyResult<()> {
        Ok(self.server()?.start()?)
    }

    /// Drive the I/O while no worker does.
    ///
    /// Returns
    /// -------
    /// tuple or None
    ///     Calls that no worker has taken, the watchers of calls that have ended, and how many accepted calls have ended
    ///     before a worker took them; None once the server has stopped.
    fn drive<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let queue = self.queue()?;
        let news = py.detach(|| {
            loop {
                if let Poll::Ready(news) = queue.stand_by(Instant::now() + LONG) {
                    break news;
                }
            }
        });
        news.map(|news| to_python(py, news)).transpose()
    }

    /// Wait so many seconds for a call to run, and drive the I/O meanwhile.
    fn next_call(&self, py: Python<'_>, linger: f64) -> PyResult<Option<NativeServerCall>> {
        let queue = self.queue()?;
        let linger = Duration::try_from_secs_f64(linger).unwrap_or_default();
        let polled = py.detach(|| queue.next(Instant::now() + linger));
        Ok(match polled {
            Poll::Ready(Some(call)) => Some(NativeServerCall::new(call)),
            Poll::Ready(None) | Poll::Pending => None,
        })
    }

    /// Give a call that was accepted to the next worker.
    fn enqueue(&self, call: &Bound<'_, NativeServerCall>) -> PyResult<()> {
        let shared = call.get().shared()?;
        self.queue()?.enqueue(shared);
        Ok(())
    }

    /// Return how many accepted calls wait for a worker.
    fn waiting(&self) -> PyResult<usize> {
        Ok(self.queue()?.waiting())
    }

    /// Take the accepted calls out that wait for a worker.
    fn take_waiting(&self) -> PyResult<Vec<NativeServerCall>> {
        let calls = self.queue()?.take_waiting();
        Ok(calls.into_iter().map(NativeServerCall::new).collect())
    }

    /// Tell that a worker begins.
    fn enter_worker(&self) -> PyResult<()> {
        self.queue()?.enter();
        Ok(())
    }

    /// Tell that a worker ends.
    fn leave_worker(&self) -> PyResult<()> {
        self.queue()?.leave();
        Ok(())
    }

    /// Have ``drive`` return, so that its thread sees to the workers.
    fn reconsider(&self) -> PyResult<()> {
        self.queue()?.reconsider();
        Ok(())
    }

    /// Take no more calls, and end those at work after so many seconds, if a number is given.
    #[pyo3(signature = (grace))]
    fn stop(&self, py: Python<'_>, grace: Option<f64>) -> PyResult<()> {
        let server = self.server()?;
        let grace = grace.map(|grace| Duration::try_from_secs_f64(grace.max(0.0)));
        let grace = grace.transpose().map_err(|_| {
            PyValueError::new_err("the grace must be a number of seconds that a clock can tell")
        })?;
        py.detach(|| server.stop(grace));
        Ok(())
    }

    /// Whether the server has stopped.
    fn is_stopped(&self) -> PyResult<bool> {
        Ok(self.queue()?.is_stopped())
    }

    /// Raise RuntimeError if this process is a forked child of the one that made the server.
    fn check_process(&self) -> PyResult<()> {
        self.server().map(drop)
    }

    /// Whether this process is the one that made the server.
    fn is_here(&self) -> bool {
        self.server.get().is_some()
    }
}

impl NativeServer {
    fn server(&self) -> PyResult<&Server> {
        self.server.get().ok_or_else(inherited)
    }

    fn queue(&self) -> PyResult<&Queue> {
        Ok(self.server()?.queue())
    }
}

/// What a forked child gets of its parent's server.
pub(super) fn inherited() -> PyErr {
    PyRuntimeError::new_err(
        "the server was made before os.fork(), by the parent process: make another one here",
    )
}

fn to_python(py: Python<'_>, news: News) -> PyResult<Bound<'_, PyTuple>> {
    let arrived = news.arrived.into_iter().map(NativeServerCall::new);
    let arrived = PyList::new(py, arrived.collect::<Vec<_>>())?;
    let ended = PyList::new(py, news.ended.into_iter().filter_map(object))?;
    (arrived, ended, news.lost).into_pyobject(py)
}

/// What Python has left with a call.
pub(super) fn object(note: Note) -> Option<Py<PyAny>> {
    note.downcast().ok().map(|object| *object)
}

fn read_options(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut options = Options::default();
    for (name, value) in given {
        match name.extract::<&str>()? {
            "receive_limit" => options.receive_limit = value.extract()?,
            "send_limit" => options.send_limit = value.extract()?,
            "metadata_limit" => options.metadata_limit = value.extract()?,
            "streams" => options.streams = value.extract()?,
            "reuse_port" => options.reuse_port = value.extract()?,
            "compression" => options.compression = encoding(value.extract()?)?,
            "handshake" => options.handshake = seconds(&value)?,
            "keepalive" => options.keepalive = seconds(&value)?,
            "keepalive_timeout" => options.keepalive_timeout = seconds(&value)?,
            "keepalive_without_calls" => options.keepalive_without_calls = value.extract()?,
            other => {
                return Err(PyTypeError::new_err(format!("unknown option {other:?}")));
            }
        }
    }
    Ok(options)
}

pub(super) fn encoding(number: u32) -> PyResult<Encoding> {
    Encoding::from_number(number)
        .ok_or_else(|| PyValueError::new_err(format!("{number} is no compression of gRPC's")))
}

fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value.extract()?)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
