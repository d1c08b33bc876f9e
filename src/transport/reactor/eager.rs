//! Whether to sleep at once, or to look a few times more.
//!
//! To wake a sleeping core takes 25 to 35 us on many machines: longer than a small call needs for all else. So a thread
//! that waits looks again for a short while before it sleeps, where the last waits were that short. It holds nothing
//! meanwhile and lets others run. Where waits take longer, which is seen after two, it sleeps at once, as ever.
//!
//! Who looks beside a peer that works on the same core gives it that core with each look, and is charged nothing for it.
//! It does so however long the last waits were: two that are awake can part, who sleeps is woken where the peer is.
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

/// Who comes back from letting others run after so long has met one that wanted the core: the time was that one's.
const SHARED: Duration = Duration::from_micros(5);

/// Who comes back after so long has met some that want the core for themselves. A peer has done its share before.
const AWAY: Duration = Duration::from_millis(1);

/// So much of a wait is another's at most, longer than the largest calls need. Else several that only look, each beside
/// the others, would do so for as long as their waits last.
const MOST_GIVEN: Duration = Duration::from_millis(4);

/// So many times as long every wait is slept through then: where the core is always wanted, a tenth of the time is lost.
const REST: u32 = 10;

/// What the last waits were like.
#[derive(Debug, Default)]
pub(super) struct Eager {
    /// How many long ones there were since the last short one, up to `TRIES`.
    long: u8,
    rests_until: Option<Instant>,
    /// How much of this wait was another's.
    given: Duration,
}

impl Eager {
    /// Looks from `now` on until there is something or `wait` is over, and tells how long: None where it is better to
    /// sleep. `others` are let run between two looks; `beside`: the peer may be among them.
    pub(super) fn look<T>(
        &mut self,
        mut now: Instant,
        wait: Duration,
        beside: bool,
        mut look: impl FnMut() -> Option<T>,
        others: impl Fn(),
    ) -> Option<T> {
        self.given = Duration::ZERO;
        let sleeps = self.long >= TRIES && !beside;
        if sleeps || self.rests_until.is_some_and(|end| now < end) {
            return None;
        }
        let ends = now.checked_add(wait);
        let mut own = Duration::ZERO;
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            let enough = own >= SHORT || self.given >= MOST_GIVEN;
            if enough || ends.is_some_and(|end| now >= end) {
                return None;
            }
            others();
            let before = mem::replace(&mut now, Instant::now());
            let away = now.duration_since(before);
            if away > AWAY {
                self.rests_until = Some(now + REST * away);
                return None;
            }
            if away > SHARED {
                self.given += away;
            } else {
                own += away;
            }
        }
    }

    /// Takes notice of how long a wait was.
    pub(super) fn waited(&mut self, time: Duration) {
        let time = time.saturating_sub(mem::take(&mut self.given));
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
    fn looks_beside(eager: &mut Eager, wait: Duration, theirs: Duration, beside: bool) -> usize {
        let mut looks = 0;
        let found: Option<()> = eager.look(
            Instant::now(),
            wait,
            beside,
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
        looks_beside(eager, wait, Duration::ZERO, false)
    }

    #[test]
    fn finds_what_comes_soon() {
        let mut looks = 0;
        let found = Eager::default().look(
            Instant::now(),
            LONG,
            false,
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
    fn time_that_is_given_to_a_peer_is_not_its_own() {
        let mut eager = Eager {
            long: TRIES,
            ..Eager::default()
        };
        let wait = 4 * SHORT;
        let theirs = AWAY / 8;
        // Longer than it would look alone, though the last waits were long.
        let looks = looks_beside(&mut eager, wait, theirs, true);
        assert!(
            eager.rests_until.is_some() || eager.given >= SHORT,
            "{looks}"
        );
        if eager.rests_until.is_none() {
            eager.waited(wait);
            assert_eq!(eager.long, 0);
        }
    }

    #[test]
    fn who_meets_others_that_look_does_not_look_for_ever() {
        let theirs = 4 * SHARED;
        let looks = looks_beside(&mut Eager::default(), Duration::from_secs(60), theirs, true);
        let looks = u32::try_from(looks).expect("few");
        assert!(looks * theirs <= MOST_GIVEN + 2 * theirs, "{looks}");
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
        assert_eq!(looks_beside(&mut eager, LONG, LONG, true), 1);
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
