//! What a forked child must not touch.
//!
//! A child has only the thread that forked, but the sockets, and the locks as they were at that moment. Whatever holds
//! some remembers the generation in which it was made; in a later one it is left alone: never locked, never dropped.

use std::sync::atomic::{AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// How often the process, and those it was forked from, have forked.
#[must_use]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// To be called in a child that was just forked.
pub fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Something that belongs to the process that made it.
///
/// In a child it cannot be reached, and is never dropped: its memory is lost, the parent's sockets are not.
pub struct Native<T> {
    generation: u64,
    value: Option<T>,
}

impl<T> Native<T> {
    /// Of this process.
    pub fn new(value: T) -> Self {
        Self {
            generation: generation(),
            value: Some(value),
        }
    }

    /// It, unless it was made by a process that this one was forked from.
    pub fn get(&self) -> Option<&T> {
        self.value
            .as_ref()
            .filter(|_| self.generation == generation())
    }
}

impl<T> Drop for Native<T> {
    fn drop(&mut self) {
        if self.generation != generation() {
            std::mem::forget(self.value.take());
        }
    }
}
