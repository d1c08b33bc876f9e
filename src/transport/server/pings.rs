//! Whether the peer is still there.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use h2::{Ping, PingPong};

use super::options::Options;

/// The pings of one connection.
pub(super) struct Pings {
    channel: PingPong,
    interval: Duration,
    timeout: Duration,
    without_calls: bool,
    /// When the peer must have answered, while it is asked.
    answer_by: Option<Instant>,
    due: Instant,
}

impl Pings {
    pub fn new(channel: PingPong, options: &Options) -> Self {
        Self {
            channel,
            interval: options.keepalive,
            timeout: options.keepalive_timeout,
            without_calls: options.keepalive_without_calls,
            answer_by: None,
            due: after(Instant::now(), options.keepalive),
        }
    }

    /// When `tick` is to be called.
    pub fn next(&self) -> Instant {
        self.answer_by.unwrap_or(self.due)
    }

    /// Takes an answer; true if one has come.
    pub fn poll(&mut self, context: &mut Context<'_>) -> bool {
        if self.answer_by.is_none() {
            return false;
        }
        match self.channel.poll_pong(context) {
            Poll::Ready(Ok(_)) => {
                self.answer_by = None;
                true
            }
            // An error is the connection's, which tells it itself.
            _ => false,
        }
    }

    /// Asks, if it is time to; false if the peer has not answered.
    pub fn tick(&mut self, now: Instant, idle: bool) -> bool {
        if let Some(answer_by) = self.answer_by {
            return now < answer_by;
        }
        if now >= self.due {
            self.due = after(now, self.interval);
            let ask = self.without_calls || !idle;
            if ask && self.channel.send_ping(Ping::opaque()).is_ok() {
                self.answer_by = Some(after(now, self.timeout));
            }
        }
        true
    }
}

/// `INT_MAX` milliseconds mean never, and so does what no clock can tell.
fn after(now: Instant, time: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);
    now + time.min(NEVER)
}
