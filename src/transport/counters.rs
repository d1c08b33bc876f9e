//! What is counted of the calls of each channel and server.
//!
//! Every number is added to where the work is done, without a lock. The lock of the register is taken only where a
//! channel or server is made or goes, and where somebody looks.

mod register;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use super::framing::Side;

pub use register::{Meter, entries};

/// What the clock of this module counts from.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What is counted. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// Calls.
    Calls,
    /// Calls that ended otherwise than with OK.
    Failed,
    /// Calls of which the times are counted.
    Timed,
    /// Messages that were given to the connection.
    Sent,
    /// Their bytes, before they are compressed and without their prefixes.
    SentBytes,
    /// Messages that were taken.
    Received,
    /// Their bytes, alike.
    ReceivedBytes,
    /// Making messages of values.
    Encoding,
    /// Writing to sockets and waiting for the peer.
    Waiting,
    /// Making values of messages.
    Decoding,
    /// Between a request and its reply, in a server.
    Discipline,
    /// Whatever lies between those.
    Other,
}

/// How many there are.
const COUNTS: usize = Count::Other as usize + 1;

/// Every count, in the order of `Count`.
pub type Sample = [u64; COUNTS];

/// Whose calls are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// A channel is a client's.
    pub side: Side,
    /// Who carries the messages, such as `native`.
    pub carrier: &'static str,
    /// The target, or where the server listens.
    pub name: String,
}

/// The counts of a channel or server, or of several that are gone.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The number of the one that lives; `None` for those that are gone.
    pub id: Option<u64>,
    /// Whose they are. Those that are gone and whose names were not kept have none.
    pub label: Label,
    /// The counts.
    pub sample: Sample,
}

/// What is recorded of one call. Its times are those between one moment that is told and the next.
pub struct Record {
    meter: Arc<Meter>,
    /// The last moment, in nanoseconds after `ORIGIN`; 0 where no times are recorded.
    mark: AtomicU64,
    /// When the call came, in the same measure.
    came: u64,
    /// Whether the discipline has the call.
    computing: AtomicBool,
    counted: AtomicBool,
    failed: AtomicBool,
}

impl Record {
    /// A moment that is over, for who will not wait.
    #[must_use]
    pub fn past() -> Instant {
        *ORIGIN
    }

    /// Of a call that nobody has counted yet.
    #[must_use]
    pub fn new(meter: Arc<Meter>) -> Self {
        Self {
            meter,
            mark: AtomicU64::new(0),
            came: 0,
            computing: AtomicBool::new(false),
            counted: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Of a call that has come to a server.
    #[must_use]
    pub fn come(meter: Arc<Meter>, now: Instant) -> Self {
        let mut record = Self::new(meter);
        record.came = moment(now);
        record.count();
        record
    }

    /// What it is counted with.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Counts the call, once.
    pub fn count(&self) {
        if !self.counted.load(Relaxed) && !self.counted.swap(true, Relaxed) {
            self.meter.add(Count::Calls, 1);
        }
    }

    /// Counts the call as failed, once.
    pub fn fail(&self) {
        if !self.failed.swap(true, Relaxed) {
            self.meter.add(Count::Failed, 1);
        }
    }

    /// Has the call not counted at all, unless it was.
    pub fn forget(&self) {
        if !self.counted.swap(true, Relaxed) {
            self.failed.store(true, Relaxed);
        }
    }

    /// Whether the call has come to a server.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.came != 0
    }

    /// Whether the call's times are recorded.
    #[inline]
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.mark.load(Relaxed) != 0
    }

    /// Takes the time from here, or from when the call came.
    pub fn start(&self) {
        let now = moment(Instant::now());
        if self.came == 0 {
            self.mark.store(now, Relaxed);
        } else if !self.is_timed() {
            self.mark.store(self.came, Relaxed);
            self.to(Count::Other, now);
            self.meter.add(Count::Timed, 1);
        }
    }

    /// Says that the time since the last moment was taken by `what`. Nothing where no times are recorded.
    #[inline]
    pub fn lap(&self, what: Count) {
        if self.is_timed() {
            self.lap_at(what, Instant::now());
        }
    }

    /// The same for who knows what time it is.
    #[inline]
    pub fn lap_at(&self, what: Count, now: Instant) {
        if self.is_timed() {
            self.to(what, moment(now));
        }
    }

    fn to(&self, what: Count, now: u64) {
        let since = self.mark.load(Relaxed);
        self.mark.store(now, Relaxed);
        self.meter.add(what, now.saturating_sub(since));
    }

    /// The request has been read, and the discipline has it now, in a server.
    pub fn hand_over(&self) {
        self.lap(Count::Decoding);
        if self.came != 0 {
            self.computing.store(true, Relaxed);
        }
    }

    /// The discipline is done, or whatever came last: what follows is something else.
    pub fn take_back(&self) {
        let computing = self.computing.load(Relaxed);
        if computing {
            self.computing.store(false, Relaxed);
        }
        self.lap(if computing {
            Count::Discipline
        } else {
            Count::Other
        });
    }

    /// The messages of a request or reply are about to be written.
    pub fn begin_writing(&self) {
        if self.came == 0 {
            self.start();
        } else {
            self.take_back();
        }
    }

    /// So many messages were written.
    pub fn written(&self, messages: usize, bytes: usize) {
        self.meter.sent(messages, bytes);
        if self.came == 0 {
            self.meter.add(Count::Timed, 1);
        }
    }
}

/// Never 0.
#[inline]
fn moment(now: Instant) -> u64 {
    let since = now.saturating_duration_since(*ORIGIN);
    since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos()) + 1
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    pub fn sample(name: &str) -> Vec<(bool, Sample)> {
        let found = entries()
            .into_iter()
            .filter(|entry| entry.label.name == name);
        found
            .map(|entry| (entry.id.is_some(), entry.sample))
            .collect()
    }

    #[test]
    fn each_moment_ends_what_the_one_before_began() {
        let meter = Meter::new(Side::Server, "test", "laps".to_owned());
        let came = Instant::now();
        let at = |milliseconds| came + Duration::from_millis(milliseconds);
        let record = Record::come(Arc::clone(&meter), came);
        record.lap_at(Count::Waiting, at(1));
        assert!(!record.is_timed(), "nobody reads the request");
        record.start();
        let began = record.mark.load(Relaxed);
        record.mark.store(moment(at(10)), Relaxed);
        record.lap_at(Count::Decoding, at(12));
        record.lap_at(Count::Waiting, at(15));
        record.lap_at(Count::Decoding, at(20));
        let [(true, sample)] = sample("laps")[..] else {
            panic!("there is one");
        };
        assert_eq!(sample[Count::Decoding as usize], 7_000_000);
        assert_eq!(sample[Count::Waiting as usize], 3_000_000);
        assert_eq!(sample[Count::Other as usize], began - moment(came));
        assert_eq!(
            (sample[Count::Calls as usize], sample[Count::Timed as usize]),
            (1, 1)
        );
    }

    #[test]
    fn calls_and_failures_are_counted_once_and_what_never_began_is_not() {
        let meter = Meter::new(Side::Client, "test", "once".to_owned());
        let record = Record::new(Arc::clone(&meter));
        for _ in 0..2 {
            record.count();
            record.fail();
        }
        record.forget();
        let forgotten = Record::new(Arc::clone(&meter));
        forgotten.forget();
        forgotten.count();
        forgotten.fail();
        let [(true, sample)] = sample("once")[..] else {
            panic!("there is one");
        };
        assert_eq!(sample[..2], [1, 1]);
    }
}
