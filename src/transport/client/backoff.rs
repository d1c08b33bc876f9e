//! How long to wait before the next attempt to connect.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::options::ChannelOptions;

/// Each wait is so much longer than the one before:
/// <https://github.com/grpc/grpc/blob/master/doc/connection-backoff.md>.
const FACTOR: f64 = 1.6;

/// A wait is changed by chance by up to this share, so that clients do not come back all at once.
const JITTER: f64 = 0.2;

/// The waits between failed attempts.
#[derive(Debug)]
pub struct Backoff {
    initial: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// As the options say.
    #[must_use]
    pub fn new(options: &ChannelOptions) -> Self {
        let initial = options.initial_backoff.min(options.max_backoff);
        Self {
            initial,
            longest: options.max_backoff,
            next: initial,
        }
    }

    /// The wait after a failure, counted from when the attempt began.
    pub fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.mul_f64(FACTOR).min(self.longest);
        wait.mul_f64(1.0 + JITTER * (2.0 * chance() - 1.0))
    }

    /// Begins anew after a success.
    pub fn reset(&mut self) {
        self.next = self.initial;
    }
}

/// Any number from 0 to 1: what every hash map takes for its seed.
fn chance() -> f64 {
    let seed = RandomState::new().hash_one(());
    f64::from(u32::try_from(seed >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(wait: Duration, seconds: f64) -> bool {
        let share = wait.as_secs_f64() / seconds;
        (1.0 - JITTER - 1e-6..=1.0 + JITTER + 1e-6).contains(&share)
    }

    #[test]
    fn waits_grow_up_to_a_limit_and_begin_anew() {
        let mut backoff = Backoff::new(&ChannelOptions::default());
        assert!(near(backoff.next(), 1.0));
        assert!(near(backoff.next(), 1.6));
        assert!(near(backoff.next(), 2.56));
        for _ in 0..20 {
            backoff.next();
        }
        assert!(near(backoff.next(), 120.0));
        backoff.reset();
        assert!(near(backoff.next(), 1.0));
    }
}
