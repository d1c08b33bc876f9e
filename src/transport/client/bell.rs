//! Who waits for something to happen to a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Wake, Waker};

use super::call::Call;

/// The one thing that the connection wakes for a call; it wakes every thread that waits for it.
#[derive(Default)]
pub struct Bell {
    waiting: Mutex<Vec<Waker>>,
    watched: AtomicBool,
    watch: Mutex<Option<(Weak<Call>, Arc<Watch>)>>,
}

impl Bell {
    /// Has `waker` woken once, at the next ring.
    pub fn attend(&self, waker: &Waker) {
        attend(&self.waiting, waker);
    }

    /// Wakes all who wait. It takes no lock of the call's: the connection rings while it holds its own.
    pub fn ring(&self) {
        wake_all(&self.waiting);
        if self.watched.load(Ordering::SeqCst)
            && let Some((call, watch)) = &*lock(&self.watch)
        {
            watch.touch(call.clone());
        }
    }

    /// Tells `watch` of every ring from now on.
    pub fn report_to(&self, watch: &Arc<Watch>, call: Weak<Call>) {
        *lock(&self.watch) = Some((call, Arc::clone(watch)));
        self.watched.store(true, Ordering::SeqCst);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// What the thread that runs callbacks waits for: calls that end, and changes of the channel's state.
#[derive(Default)]
pub struct Watch {
    touched: Mutex<Vec<Weak<Call>>>,
    poked: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Watch {
    /// Something has happened to `call`, perhaps its end.
    pub fn touch(&self, call: Weak<Call>) {
        lock(&self.touched).push(call);
        self.wake();
    }

    /// Ends the wait, whatever has happened.
    pub fn poke(&self) {
        self.poked.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Whether the wait is to end; once.
    pub fn is_poked(&self) -> bool {
        self.poked.swap(false, Ordering::SeqCst)
    }

    /// Has whoever waits look again.
    pub fn wake(&self) {
        wake_all(&self.waiting);
    }

    /// Has `context` woken at the next event, and gives the calls that something has happened to.
    pub fn take(&self, context: &Context<'_>) -> Vec<Arc<Call>> {
        attend(&self.waiting, context.waker());
        let touched = std::mem::take(&mut *lock(&self.touched));
        let mut calls: Vec<Arc<Call>> = touched.iter().filter_map(Weak::upgrade).collect();
        calls.sort_by_key(|call| call.id());
        calls.dedup_by_key(|call| call.id());
        calls
    }
}

fn attend(waiting: &Mutex<Vec<Waker>>, waker: &Waker) {
    let mut waiting = lock(waiting);
    if !waiting.iter().any(|other| other.will_wake(waker)) {
        waiting.push(waker.clone());
    }
}

fn wake_all(waiting: &Mutex<Vec<Waker>>) {
    let waiting = std::mem::take(&mut *lock(waiting));
    for waker in waiting {
        waker.wake();
    }
}

/// Nothing is half done when a panic poisons one of these locks.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
