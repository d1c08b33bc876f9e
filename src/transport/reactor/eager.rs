//! Whether to sleep at once, or to look a few times more.
//!
//! To wake a sleeping core takes 25 to 35 us on many machines: longer than a small call needs for all else. So a thread
//! that waits looks again for a short while before it sleeps, where the last waits were that short. It holds nothing
//! meanwhile and lets others run. Where waits take longer, which is seen after two, it sleeps at once, as ever.
//!
//! Where other processes want all cores, who lets them run comes back after milliseconds, and who sleeps is woken before
//! them. That is seen when it happens, and then every wait is slept through for some time.

use std::mem;
use std::time::{Duration, Instant};

/// For so long a thread looks before it sleeps: a call of a hundred scalars is answered in a fifth of it.
const SHORT: Duration = Duration::from_micros(500);

/// What sleeping adds to a wait that would have been short.
const SLEPT: Duration = Duration::from_micros(100);

/// So many long waits in a row, and the next one is slept through.
const TRIES: u8 = 2;

/// Who comes back from letting others run after so long has met some that want the core for themselves.
const AWAY: Duration = Duration::from_micros(250);

/// So many times as long every wait is slept through then: where the core is always wanted, a tenth of the time is lost.
const REST: u32 = 10;

/// What the last waits were like.
#[derive(Debug, Default)]
pub(super) struct Eager {
    /// How many long ones there were since the last short one, up to `TRIES`.
    long: u8,
    rests_until: Option<Instant>,
}

impl Eager {
    /// Looks from `now` on until there is something or `wait` is over, and tells how long: None where it is better to
    /// sleep. `others` are let run between two looks.
    pub(super) fn look<T>(
        &mut self,
        mut now: Instant,
        wait: Duration,
        mut look: impl FnMut() -> Option<T>,
        others: impl Fn(),
    ) -> Option<T> {
        if self.long >= TRIES || self.rests_until.is_some_and(|end| now < end) {
            return None;
        }
        let ends = now + SHORT.min(wait);
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            if now >= ends {
                return None;
            }
            others();
            let before = mem::replace(&mut now, Instant::now());
            let away = now.duration_since(before);
            if away > AWAY {
                self.rests_until = Some(now + REST * away);
                return None;
            }
        }
    }

    /// Takes notice of how long a wait was.
    pub(super) fn waited(&mut self, time: Duration) {
        self.long = if time <= SHORT + SLEPT {
            0
        } else {
            TRIES.min(self.long + 1)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(10);

    /// How often it looks in vain before it sleeps, where others run for `theirs` between two looks.
    fn looks_beside(eager: &mut Eager, wait: Duration, theirs: Duration) -> usize {
        let mut looks = 0;
        let found: Option<()> = eager.look(
            Instant::now(),
            wait,
            || {
                looks += 1;
                None
            },
            || std::thread::sleep(theirs),
        );
        assert_eq!(found, None);
        looks
    }

    fn looks(eager: &mut Eager, wait: Duration) -> usize {
        looks_beside(eager, wait, Duration::ZERO)
    }

    #[test]
    fn finds_what_comes_soon() {
        let mut looks = 0;
        let found = Eager::default().look(
            Instant::now(),
            LONG,
            || {
                looks += 1;
                (looks == 2).then_some("here")
            },
            || {},
        );
        // A slow machine may look once only.
        assert!(found == Some("here") || looks == 1);
    }

    #[test]
    fn sleeps_at_once_after_long_waits_until_a_short_one() {
        let mut eager = Eager::default();
        for _ in 0..TRIES {
            eager.rests_until = None;
            assert!(looks(&mut eager, LONG) > 0);
            eager.waited(LONG);
        }
        eager.rests_until = None;
        assert_eq!(looks(&mut eager, LONG), 0);
        eager.waited(LONG);
        assert_eq!(looks(&mut eager, LONG), 0);
        eager.waited(SHORT + SLEPT);
        assert!(looks(&mut eager, LONG) > 0);
    }

    #[test]
    fn no_look_lasts_longer_than_the_wait() {
        let mut eager = Eager::default();
        assert_eq!(looks(&mut eager, Duration::ZERO), 1);
    }

    #[test]
    fn sleeps_at_once_for_some_time_where_others_have_the_core() {
        let mut eager = Eager::default();
        let before = Instant::now();
        assert_eq!(looks_beside(&mut eager, LONG, LONG), 1);
        let end = eager.rests_until.expect("it has come back late");
        assert!(end >= before + LONG + REST * LONG);
        // Short waits make no difference.
        eager.waited(SHORT);
        eager.rests_until = Some(Instant::now() + Duration::from_secs(60));
        assert_eq!(looks(&mut eager, LONG), 0);
        eager.rests_until = Some(Instant::now());
        assert!(looks(&mut eager, LONG) > 0);
    }
}
