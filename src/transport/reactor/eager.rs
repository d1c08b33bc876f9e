//! Whether to sleep at once, or to look a few times more.
//!
//! To wake a sleeping core takes 25 to 35 us on many machines: longer than a small call needs for all else. So a thread
//! that waits looks again for a short while before it sleeps, where the last waits were that short. It holds nothing
//! meanwhile and lets others run. Where waits take longer, which is seen after two, it sleeps at once, as ever.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// For so long a thread looks before it sleeps: a call of a hundred scalars is answered in a fifth of it.
const SHORT: Duration = Duration::from_micros(500);

/// What sleeping adds to a wait that would have been short.
const SLEPT: Duration = Duration::from_micros(100);

/// So many long waits in a row, and the next one is slept through.
const TRIES: u8 = 2;

/// What the last waits were like.
#[derive(Debug, Default)]
pub(super) struct Eager {
    /// How many long ones there were since the last short one, up to `TRIES`.
    long: AtomicU8,
}

impl Eager {
    /// Looks until there is something or `wait` is over, and tells how long: None where it is better to sleep.
    pub(super) fn look<T>(&self, wait: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        if self.long.load(Ordering::Relaxed) >= TRIES {
            return None;
        }
        let ends = Instant::now() + SHORT.min(wait);
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            if Instant::now() >= ends {
                return None;
            }
            std::thread::yield_now();
        }
    }

    /// Takes notice of how long a wait was.
    pub(super) fn waited(&self, time: Duration) {
        let long = if time <= SHORT + SLEPT {
            0
        } else {
            TRIES.min(self.long.load(Ordering::Relaxed) + 1)
        };
        self.long.store(long, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(10);

    /// How often it looks in vain before it sleeps.
    fn looks(eager: &Eager, wait: Duration) -> usize {
        let mut looks = 0;
        let found: Option<()> = eager.look(wait, || {
            looks += 1;
            None
        });
        assert_eq!(found, None);
        looks
    }

    #[test]
    fn finds_what_comes_soon() {
        let mut looks = 0;
        let found = Eager::default().look(LONG, || {
            looks += 1;
            (looks == 2).then_some("here")
        });
        // A slow machine may look once only.
        assert!(found == Some("here") || looks == 1);
    }

    #[test]
    fn sleeps_at_once_after_long_waits_until_a_short_one() {
        let eager = Eager::default();
        for _ in 0..TRIES {
            assert!(looks(&eager, LONG) > 0);
            eager.waited(LONG);
        }
        assert_eq!(looks(&eager, LONG), 0);
        eager.waited(LONG);
        assert_eq!(looks(&eager, LONG), 0);
        eager.waited(SHORT + SLEPT);
        assert!(looks(&eager, LONG) > 0);
    }

    #[test]
    fn no_look_lasts_longer_than_the_wait() {
        let eager = Eager::default();
        assert_eq!(looks(&eager, Duration::ZERO), 1);
    }
}
