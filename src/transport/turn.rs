//! How long one connection may keep the thread that drives all of them.
//!
//! A peer that sends as fast as it is read would never let that thread go on to the others. So a connection's turn ends
//! after some time, as if nothing more had come, and it gets another when the others have had theirs.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Far more than an honest peer's frames take that came while nobody looked, and little for who waits behind it. A whole
/// call of 2 MB fits in: cut into turns of 1 ms it took 2.4 ms there and back, not 1.4.
const TURN: Duration = Duration::from_millis(5);

thread_local! {
    static ENDS: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The turn of a connection on the calling thread, until it is dropped.
pub struct Turn {
    outer: Option<Instant>,
}

impl Turn {
    /// Begins a turn. One that is under way goes on afterwards.
    #[must_use]
    pub fn begin() -> Self {
        let ends = Instant::now() + TURN;
        Self {
            outer: ENDS.replace(Some(ends)),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        ENDS.set(self.outer);
    }
}

/// Whether the turn that is under way on the calling thread, if there is one, is over.
#[must_use]
pub fn is_over() -> bool {
    ENDS.get().is_some_and(|ends| Instant::now() >= ends)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_turn_ends_and_an_outer_one_goes_on() {
        assert!(!is_over());
        let outer = Turn::begin();
        thread::sleep(TURN);
        assert!(is_over());
        let inner = Turn::begin();
        // A slow machine may have let it pass already.
        assert!(ENDS.get() > outer.outer);
        drop(inner);
        assert!(is_over());
        drop(outer);
        assert!(!is_over());
    }
}
