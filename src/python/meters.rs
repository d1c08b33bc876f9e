//! What is counted, as Python sees it; and the records of calls that grpcio carries.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::transport::ends::native;
use crate::transport::counters::{Count, Entry, Meter, Record, entries};
use crate::transport::ends::Exchange;
use crate::transport::framing::Side;

/// What the calls of one of grpcio's channels, or of a servicer on grpcio's server, are counted with.
#[pyclass(frozen, name = "Meter", module = "philote_fast._core")]
pub struct GrpcioMeter {
    meter: Arc<Meter>,
    side: Side,
}

#[pymethods]
impl GrpcioMeter {
    #[new]
    fn new(side: &str, name: String) -> PyResult<Self> {
        let side = match side {
            CLIENT => Side::Client,
            SERVER => Side::Server,
            _ => return Err(PyValueError::new_err("a client or a server counts")),
        };
        let meter = Meter::new(side, "grpcio", name);
        Ok(Self { meter, side })
    }

    /// Begin to record a call.
    fn call(&self) -> CallRecord {
        let meter = Arc::clone(&self.meter);
        CallRecord(Arc::new(match self.side {
            Side::Client => Record::new(meter),
            Side::Server => Record::come(meter, std::time::Instant::now()),
        }))
    }

    /// Count a call of which nothing else is known.
    fn skip(&self) {
        self.meter.add(Count::Calls, 1);
    }
}

/// What is recorded of one call that grpcio carries.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct CallRecord(Arc<Record>);

#[pymethods]
impl CallRecord {
    /// Return the messages that the call brings, for the functions that read them: they record it.
    fn over(&self, messages: Py<PyAny>) -> Recorded {
        let record = Arc::clone(&self.0);
        Recorded { record, messages }
    }

    /// Count the call as failed, once.
    fn fail(&self) {
        self.0.count();
        self.0.fail();
    }

    /// Tell that the reply was sent, or that there is none.
    fn finish(&self) {
        self.0.lap(Count::Waiting);
    }

    /// Tell that a discipline has failed, or whatever comes before the reply.
    fn give_up(&self) {
        self.0.take_back();
        self.0.fail();
    }
}

impl CallRecord {
    pub fn record(&self) -> &Record {
        &self.0
    }
}

/// Messages of a call that is recorded.
#[pyclass(frozen, module = "philote_fast._core")]
pub struct Recorded {
    record: Arc<Record>,
    messages: Py<PyAny>,
}

impl Recorded {
    pub fn record(&self) -> &Record {
        &self.record
    }

    pub fn messages<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.messages.bind(py)
    }
}

/// The time in which the messages of a call are read.
pub struct Span(Option<Timed>);

enum Timed {
    Native(Arc<dyn Exchange>),
    Grpcio(Arc<Record>),
}

impl Span {
    /// Begins where `messages` belong to a call that is recorded.
    ///
    /// # Errors
    /// As `native`.
    pub fn new(messages: &Bound<'_, PyAny>) -> PyResult<Self> {
        let timed = match messages.cast_exact::<Recorded>() {
            Ok(recorded) => Some(Timed::Grpcio(Arc::clone(&recorded.get().record))),
            Err(_) => native(messages)?.map(Timed::Native),
        };
        let span = Self(timed);
        if let Some((record, since)) = span.record() {
            if record.has_come() {
                record.start();
            } else {
                record.lap(since);
            }
        }
        Ok(span)
    }

    /// Ends well: what follows is the discipline's, in a server.
    pub fn done(mut self) {
        if let Some((record, _)) = self.record() {
            record.hand_over();
        }
        self.0 = None;
    }

    /// The record, and what a client has done since it has written.
    fn record(&self) -> Option<(&Record, Count)> {
        self.0.as_ref().map(|timed| match timed {
            Timed::Native(call) => (call.record(), Count::Other),
            // grpcio sends when the call is made, and while its messages are asked for.
            Timed::Grpcio(record) => (&**record, Count::Waiting),
        })
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some((record, _)) = self.record() {
            record.lap(Count::Decoding);
        }
    }
}

const CLIENT: &str = "client";
const SERVER: &str = "server";

/// Return what every channel and server has counted: its number, or None for those that are gone, its side, its carrier,
/// its name, and its counts.
#[pyfunction]
fn counted(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    let row = |Entry { id, label, sample }: Entry| {
        let side = match label.side {
            Side::Client => CLIENT,
            Side::Server => SERVER,
        };
        let counts = PyTuple::new(py, sample)?;
        (id, side, label.carrier, label.name, counts).into_pyobject(py)
    };
    entries().into_iter().map(row).collect()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GrpcioMeter>()?;
    module.add_class::<CallRecord>()?;
    module.add_class::<Recorded>()?;
    module.add_function(wrap_pyfunction!(counted, module)?)
}
