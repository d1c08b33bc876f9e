//! The channels and servers that count, and those that are gone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use super::super::fork;
use super::super::framing::Side;
use super::{COUNTS, Count, Entry, Label};

/// Of so many channels and servers that are gone the names are kept; the rest are added up, so that making them one
/// after the other takes no memory.
const NAMES: usize = 32;

/// What a channel or server counts with. Its calls share it; once all have let go of it the counts are added to those
/// of the others that are gone.
pub struct Meter {
    id: u64,
    generation: u64,
    counters: Arc<Counters>,
}

struct Counters {
    side: Side,
    carrier: &'static str,
    name: Mutex<String>,
    counts: [AtomicU64; COUNTS],
}

impl Meter {
    /// A meter at zero, which `entries` tells of.
    #[must_use]
    pub fn new(side: Side, carrier: &'static str, name: String) -> Arc<Self> {
        let counters = Arc::new(Counters {
            side,
            carrier,
            name: Mutex::new(name),
            counts: Default::default(),
        });
        let (generation, mut register) = register();
        let id = register.next;
        register.next += 1;
        register.live.insert(id, Arc::clone(&counters));
        drop(register);
        Arc::new(Self {
            id,
            generation,
            counters,
        })
    }

    /// Adds a name, where a server listens once more.
    pub fn add_name(&self, name: &str) {
        let mut names = lock(&self.counters.name);
        if !names.is_empty() {
            names.push_str(", ");
        }
        names.push_str(name);
    }

    /// Counts.
    #[inline]
    pub fn add(&self, what: Count, number: u64) {
        self.counters.counts[what as usize].fetch_add(number, Relaxed);
    }

    /// Counts messages that were given to the connection.
    #[inline]
    pub fn sent(&self, messages: usize, bytes: usize) {
        self.add(Count::Sent, messages as u64);
        self.add(Count::SentBytes, bytes as u64);
    }

    /// Counts messages that were taken.
    #[inline]
    pub fn received(&self, messages: usize, bytes: usize) {
        self.add(Count::Received, messages as u64);
        self.add(Count::ReceivedBytes, bytes as u64);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let (generation, mut register) = register();
        // Of a parent's a child tells nothing.
        if generation == self.generation {
            register.bury(self.id);
        }
    }
}

impl Counters {
    fn entry(&self, id: Option<u64>) -> Entry {
        let label = Label {
            side: self.side,
            carrier: self.carrier,
            name: lock(&self.name).clone(),
        };
        let mut sample = [0; COUNTS];
        for (number, count) in sample.iter_mut().zip(&self.counts) {
            *number = count.load(Relaxed);
        }
        Entry { id, label, sample }
    }
}

/// Every channel and server of a process.
#[derive(Default)]
struct Register {
    next: u64,
    live: BTreeMap<u64, Arc<Counters>>,
    gone: Vec<Entry>,
}

impl Register {
    /// Adds the counts of one that is gone to those of others.
    fn bury(&mut self, id: u64) {
        let Some(counters) = self.live.remove(&id) else {
            return;
        };
        let mut entry = counters.entry(None);
        if entry.sample == [0; COUNTS] {
            return;
        }
        let known = |gone: &[Entry], label: &Label| gone.iter().any(|other| other.label == *label);
        if self.gone.len() >= NAMES && !known(&self.gone, &entry.label) {
            entry.label.name.clear();
        }
        match self
            .gone
            .iter_mut()
            .find(|other| other.label == entry.label)
        {
            Some(other) => {
                for (sum, number) in other.sample.iter_mut().zip(entry.sample) {
                    *sum += number;
                }
            }
            None => self.gone.push(entry),
        }
    }
}

/// Those that live, in the order in which they were made, then those that are gone: each is counted once.
#[must_use]
pub fn entries() -> Vec<Entry> {
    let (_, register) = register();
    let live = register.live.iter();
    let live = live.map(|(id, counters)| counters.entry(Some(*id)));
    live.chain(register.gone.iter().cloned()).collect()
}

/// The register of one process. A forked child begins its own: it could find its parent's locked for ever.
struct Era {
    generation: u64,
    register: Mutex<Register>,
    next: OnceLock<Box<Era>>,
}

impl Era {
    fn new(generation: u64) -> Self {
        Self {
            generation,
            register: Mutex::default(),
            next: OnceLock::new(),
        }
    }
}

static FIRST: LazyLock<Era> = LazyLock::new(|| Era::new(fork::generation()));

fn register() -> (u64, MutexGuard<'static, Register>) {
    let generation = fork::generation();
    let mut era = &*FIRST;
    while era.generation != generation {
        era = era.next.get_or_init(|| Box::new(Era::new(generation)));
    }
    (generation, lock(&era.register))
}

/// Nothing panics while one of these is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn what_is_gone_is_added_up_by_name() {
        for number in 1..=3 {
            let meter = Meter::new(Side::Client, "test", "gone".to_owned());
            meter.sent(number, 10);
        }
        drop(Meter::new(Side::Client, "test", "unused".to_owned()));
        let [(false, gone)] = sample("gone")[..] else {
            panic!("all are counted together");
        };
        assert_eq!(gone[Count::Sent as usize], 6);
        assert_eq!(gone[Count::SentBytes as usize], 30);
        assert_eq!(sample("unused"), []);
    }
}
