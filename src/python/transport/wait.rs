//! Waiting without the GIL, in slices short enough for Ctrl-C.

use std::task::Poll;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long a thread waits before it lets Python's signal handlers run, where no signal has woken it earlier.
const SLICE: Duration = Duration::from_millis(100);

/// Asks `step` until it is ready, each time for a slice at the most and without the GIL.
///
/// # Errors
/// What a signal handler raises, such as `KeyboardInterrupt`. Nothing that `step` waits for is lost by that.
pub fn wait<T: Send>(
    py: Python<'_>,
    mut step: impl FnMut(Instant) -> Poll<T> + Send,
) -> PyResult<T> {
    loop {
        let polled = py.detach(|| step(Instant::now() + SLICE));
        match polled {
            Poll::Ready(value) => return Ok(value),
            Poll::Pending => py.check_signals()?,
        }
    }
}
