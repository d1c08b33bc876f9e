//! Large buffers that are used again.
//!
//! The first touch of a fresh page costs more than the copy into it: 2 MB in fresh memory take longer to fault in than
//! to send. So the buffers of outgoing segments come back here when the last `Bytes` over them is dropped.

use std::mem;
use std::sync::{Mutex, MutexGuard, Once, TryLockError};

use bytes::Bytes;

/// Below this the allocator's own caches do as well.
const SMALLEST: usize = 64 << 10;

/// Powers of two from `SMALLEST`: the largest kept is 16 MiB, the largest DATA frame of HTTP/2.
const CLASSES: usize = 9;

/// What is kept for the next calls: a whole call of the size up to which calls are encoded before they are sent.
const MOST_KEPT: usize = 32 << 20;

/// What the allocator is taught to keep: see `teach_allocator`.
const KNOWN_SIZE: usize = MOST_KEPT / 2;

/// Never waited for: who finds it taken allocates, so a child forked while it was taken does not hang.
static POOL: Mutex<Pool> = Mutex::new(Pool::new());

struct Pool {
    kept: usize,
    free: [Vec<Vec<u8>>; CLASSES],
}

impl Pool {
    const fn new() -> Self {
        Self {
            kept: 0,
            free: [const { Vec::new() }; CLASSES],
        }
    }

    fn take(&mut self, class: usize) -> Option<Vec<u8>> {
        let buffer = self.free[class].pop()?;
        self.kept -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps `buffer`, or gives it back where enough is kept.
    fn give(&mut self, class: usize, mut buffer: Vec<u8>) -> Option<Vec<u8>> {
        if self.kept + buffer.capacity() > MOST_KEPT {
            return Some(buffer);
        }
        buffer.clear();
        self.kept += buffer.capacity();
        self.free[class].push(buffer);
        None
    }
}

fn pool() -> Option<MutexGuard<'static, Pool>> {
    match POOL.try_lock() {
        Ok(pool) => Some(pool),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Lets the system's allocator see that buffers of megabytes come and go in this process.
///
/// It gives the free end of its memory back to the system where that is more than twice the largest piece that it has
/// seen freed, at first 128 KiB. Then the results of each call, and what they are received in, are faulted in anew: 2 MB
/// there and back took 3.5 ms, not 1.2, in the processes whose memory happened to lie so. Nothing is written to the piece
/// that it is shown here, so it costs no memory; what it may keep at most is as much as the pool.
pub fn teach_allocator() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(KNOWN_SIZE)));
    });
}

/// The class of buffers that hold `size` bytes; `None` where they are not kept.
fn class_for(size: usize) -> Option<usize> {
    let steps = size.checked_next_power_of_two()?.trailing_zeros();
    let class = steps.checked_sub(SMALLEST.trailing_zeros())?;
    usize::try_from(class).ok().filter(|&class| class < CLASSES)
}

/// A buffer to be filled. It never grows by itself: whoever fills it asks for `room` first.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// An empty buffer with room for `size` bytes at least.
    #[must_use]
    pub fn with_room(size: usize) -> Self {
        let Some(class) = class_for(size) else {
            return Self {
                bytes: Vec::with_capacity(size),
            };
        };
        let kept = pool().and_then(|mut pool| pool.take(class));
        Self {
            bytes: kept.unwrap_or_else(|| Vec::with_capacity(SMALLEST << class)),
        }
    }

    /// How many more bytes fit.
    #[must_use]
    pub fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends `bytes`.
    pub fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// What was written, to be sent; the memory comes back to the pool when the last clone is dropped.
    #[must_use]
    pub fn freeze(mut self) -> Bytes {
        if class_for(self.bytes.capacity()).is_some() {
            Bytes::from_owner(self)
        } else {
            Bytes::from(mem::take(&mut self.bytes))
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let capacity = self.bytes.capacity();
        // A buffer that grew past its class is not kept: it would not be found again.
        let Some(class) = class_for(capacity).filter(|class| SMALLEST << class == capacity) else {
            return;
        };
        let bytes = mem::take(&mut self.bytes);
        // What is not kept is freed after the lock is released.
        let surplus = match pool() {
            Some(mut pool) => pool.give(class, bytes),
            None => Some(bytes),
        };
        drop(surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two_that_hold_the_size() {
        assert_eq!(class_for(0), None);
        assert_eq!(class_for(SMALLEST / 2), None);
        assert_eq!(class_for(SMALLEST / 2 + 1), Some(0));
        assert_eq!(class_for(SMALLEST), Some(0));
        assert_eq!(class_for(SMALLEST + 1), Some(1));
        assert_eq!(class_for(16 << 20), Some(8));
        assert_eq!(class_for((16 << 20) + 1), None);
        assert_eq!(class_for(usize::MAX), None);
    }

    #[test]
    fn a_buffer_comes_back_empty_when_its_bytes_are_dropped() {
        let mut pool = Pool::new();
        let mut filled = Vec::with_capacity(SMALLEST);
        filled.extend_from_slice(b"former");
        let place = filled.as_ptr();
        assert!(pool.give(0, filled).is_none());
        let again = pool.take(0).expect("it was kept");
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
        assert_eq!(pool.kept, 0);
        assert!(pool.take(0).is_none());
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let mut pool = Pool::new();
        for _ in 0..MOST_KEPT / SMALLEST {
            assert!(pool.give(0, Vec::with_capacity(SMALLEST)).is_none());
        }
        assert!(pool.give(0, Vec::with_capacity(SMALLEST)).is_some());
        assert_eq!(pool.kept, MOST_KEPT);
    }

    #[test]
    fn frozen_buffers_hold_what_was_written_whatever_their_size() {
        for size in [0, 10, SMALLEST, SMALLEST + 1, 3 << 20] {
            let content = vec![7_u8; size];
            let mut buffer = Buffer::with_room(size);
            assert!(buffer.room() >= size);
            buffer.write(&content);
            let frozen = buffer.freeze();
            let clone = frozen.clone();
            drop(frozen);
            assert_eq!(clone, content);
        }
    }
}
