//! Waiting without the GIL, in slices short enough for Ctrl-C.

use std::task::Poll;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::transport::counters::{Count, Record};

/// How long a thread waits before it lets Python's signal handlers run, where no signal has woken it earlier.
const SLICE: Duration = Duration::from_millis(100);

/// Asks `step` once, without a wait, and only then as `wait_timed` does: what is there already costs no look at a clock.
///
/// # Errors
/// As `wait`.
pub fn wait_if_needed<T: Send>(
    py: Python<'_>,
    record: &Record,
    before: Count,
    mut step: impl FnMut(Instant) -> Poll<T> + Send,
) -> PyResult<T> {
    if let Poll::Ready(value) = py.detach(|| step(Record::past())) {
        return Ok(value);
    }
    wait_timed(py, record, before, step)
}

/// As `wait`, and records what it has taken; what came before it was `before`.
///
/// # Errors
/// As `wait`.
pub fn wait_timed<T: Send>(
    py: Python<'_>,
    record: &Record,
    before: Count,
    mut step: impl FnMut(Instant) -> Poll<T> + Send,
) -> PyResult<T> {
    let mut first = true;
    let waited = slices(py, |now| {
        if std::mem::take(&mut first) {
            record.lap_at(before, now);
        }
        step(now + SLICE)
    });
    record.lap(Count::Waiting);
    waited
}

/// Asks `step` until it is ready, each time for a slice at the most and without the GIL.
///
/// # Errors
/// What a signal handler raises, such as `KeyboardInterrupt`. Nothing that `step` waits for is lost by that.
pub fn wait<T: Send>(
    py: Python<'_>,
    mut step: impl FnMut(Instant) -> Poll<T> + Send,
) -> PyResult<T> {
    slices(py, |now| step(now + SLICE))
}

/// Asks `step` until it is ready, and tells it what time it is.
fn slices<T: Send>(py: Python<'_>, mut step: impl FnMut(Instant) -> Poll<T> + Send) -> PyResult<T> {
    loop {
        let polled = py.detach(|| step(Instant::now()));
        match polled {
            Poll::Ready(value) => return Ok(value),
            Poll::Pending => py.check_signals()?,
        }
    }
}
