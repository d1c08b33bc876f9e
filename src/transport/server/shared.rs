//! What the connections and listeners of a server share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use super::super::counters::Meter;
use super::super::framing::Side;
use super::super::link::Link;
use super::super::reactor::Reactor;
use super::call::ServerCall;
use super::options::Options;
use super::queue::Queue;
use super::roster::Roster;

/// How far a server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// It listens, but takes no connections yet, or it takes all.
    Serving,
    /// It takes no more calls; those at work go on.
    Draining,
    /// No connection is left.
    Stopped,
}

/// A connection, and its calls.
type Known = (Weak<Link>, Arc<Roster>);

pub(super) struct Shared {
    pub options: Arc<Options>,
    pub reactor: Arc<Reactor>,
    pub queue: Arc<Queue>,
    pub meter: Arc<Meter>,
    stage: AtomicU8,
    connections: Mutex<HashMap<u64, Known>>,
    /// When the calls at work are ended.
    grace_ends: Mutex<Option<Instant>>,
    next_id: AtomicU64,
}

impl Shared {
    pub fn new(options: Options, reactor: Arc<Reactor>) -> Arc<Self> {
        Arc::new(Self {
            options: Arc::new(options),
            meter: Meter::new(Side::Server, "native", String::new()),
            queue: Queue::new(Arc::clone(&reactor)),
            reactor,
            stage: AtomicU8::new(Stage::Serving as u8),
            connections: Mutex::default(),
            grace_ends: Mutex::default(),
            next_id: AtomicU64::new(0),
        })
    }

    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::SeqCst) {
            0 => Stage::Serving,
            1 => Stage::Draining,
            _ => Stage::Stopped,
        }
    }

    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes note of a connection before its first byte is read. False: the server takes no more.
    pub fn remember(&self, id: u64, link: &Arc<Link>, roster: Arc<Roster>) -> bool {
        let mut connections = lock(&self.connections);
        let serving = self.stage() == Stage::Serving;
        if serving {
            connections.insert(id, (Arc::downgrade(link), roster));
        }
        serving
    }

    /// A connection is over.
    pub fn forget(&self, id: u64) {
        let mut connections = lock(&self.connections);
        connections.remove(&id);
        let last = connections.is_empty() && self.stage() == Stage::Draining;
        drop(connections);
        if last {
            self.stop();
        }
    }

    pub fn connections(&self) -> Vec<Arc<Link>> {
        lock(&self.connections)
            .values()
            .filter_map(|(link, _)| link.upgrade())
            .collect()
    }

    /// The calls at work on all connections.
    pub fn calls(&self) -> Vec<Arc<ServerCall>> {
        let rosters: Vec<_> = lock(&self.connections)
            .values()
            .map(|(_, roster)| Arc::clone(roster))
            .collect();
        rosters.iter().flat_map(|roster| roster.all()).collect()
    }

    /// Takes no more calls. Has the end of the grace looked at by `grace_is_over`.
    pub fn drain(&self, grace_ends: Option<Instant>) {
        if let Some(at) = grace_ends {
            let mut ends = lock(&self.grace_ends);
            let sooner = ends.map_or(at, |ends| ends.min(at));
            *ends = Some(sooner);
            self.reactor.set_alarm(sooner);
        }
        let none_left = {
            let connections = lock(&self.connections);
            let serving = Stage::Serving as u8;
            let draining = Stage::Draining as u8;
            let order = Ordering::SeqCst;
            // Only the first time.
            let _ = self.stage.compare_exchange(serving, draining, order, order);
            connections.is_empty()
        };
        if none_left {
            self.stop();
        }
    }

    /// Whether the calls at work are to be ended now.
    pub fn grace_is_over(&self, now: Instant) -> bool {
        let ends = *lock(&self.grace_ends);
        match ends {
            Some(ends) if now < ends => {
                self.reactor.set_alarm(ends);
                false
            }
            ends => ends.is_some(),
        }
    }

    fn stop(&self) {
        self.stage.store(Stage::Stopped as u8, Ordering::SeqCst);
        self.queue.stop();
    }
}

/// Nothing panics while one of these is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
