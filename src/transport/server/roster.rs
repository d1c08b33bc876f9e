//! The calls of one connection, and their deadlines.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use super::call::ServerCall;

/// The calls that have not ended.
#[derive(Default)]
pub(super) struct Roster {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: HashMap<u32, Weak<ServerCall>>,
    deadlines: BTreeSet<(Instant, u32)>,
}

impl Roster {
    pub fn add(&self, call: &Arc<ServerCall>) {
        let mut state = self.lock();
        state.calls.insert(call.id(), Arc::downgrade(call));
        if let Some(deadline) = call.deadline() {
            state.deadlines.insert((deadline, call.id()));
        }
    }

    pub fn remove(&self, id: u32, deadline: Option<Instant>) {
        let mut state = self.lock();
        state.calls.remove(&id);
        if let Some(deadline) = deadline {
            state.deadlines.remove(&(deadline, id));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lock().calls.is_empty()
    }

    pub fn all(&self) -> Vec<Arc<ServerCall>> {
        self.lock()
            .calls
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// The calls whose deadline has passed, and the next deadline.
    pub fn due(&self, now: Instant) -> (Vec<Arc<ServerCall>>, Option<Instant>) {
        let mut state = self.lock();
        let mut due = Vec::new();
        while let Some(&(deadline, id)) = state.deadlines.first() {
            if deadline > now {
                return (due, Some(deadline));
            }
            state.deadlines.pop_first();
            due.extend(state.calls.get(&id).and_then(Weak::upgrade));
        }
        (due, None)
    }

    /// Nothing panics while this is held.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
