//! What a waiting thread is woken by.

use std::cell::OnceCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// One thread's bell. It stays rung until the thread has taken notice, so nothing is missed in between.
#[derive(Default)]
pub struct Signal {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rung: bool,
    waiter: Waiter,
}

/// How the thread waits, and with that how it is reached.
#[derive(Default)]
enum Waiter {
    /// It runs, and will look before it waits.
    #[default]
    Awake,
    Parked(Thread),
    /// It waits for I/O.
    Driving(Arc<mio::Waker>),
}

impl Signal {
    /// The calling thread's own signal, with the waker that rings it: made once for each thread.
    ///
    /// A waker that was left somewhere by an earlier wait may ring it once too often; who waits asks again then.
    #[must_use]
    pub fn of_this_thread() -> (Arc<Self>, Waker) {
        thread_local! {
            static OWN: OnceCell<(Arc<Signal>, Waker)> = const { OnceCell::new() };
        }
        let make = || {
            let signal = Arc::new(Self::default());
            let waker = Waker::from(Arc::clone(&signal));
            (signal, waker)
        };
        // A thread that is ending has no locals any more.
        OWN.try_with(|own| own.get_or_init(make).clone())
            .unwrap_or_else(|_| make())
    }

    /// Rings, and wakes the thread where it waits.
    pub fn ring(&self) {
        let waiter = {
            let mut state = self.lock();
            state.rung = true;
            std::mem::take(&mut state.waiter)
        };
        match waiter {
            Waiter::Awake => {}
            Waiter::Parked(thread) => thread.unpark(),
            // It fails only where the system is out of resources; the thread then wakes when its slice is over.
            Waiter::Driving(waker) => drop(waker.wake()),
        }
    }

    /// Whether it was rung since the last time it was asked.
    pub fn take(&self) -> bool {
        std::mem::take(&mut self.lock().rung)
    }

    /// Parks the calling thread until the signal rings or `until` has come.
    pub(super) fn park(&self, until: Instant) {
        if !self.attend(|| Waiter::Parked(thread::current())) {
            return;
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.lock().rung {
                break;
            }
            thread::park_timeout(left);
        }
        self.awake();
    }

    /// Says that the thread is about to wait for I/O, from which `waker` wakes it. False where it was rung already.
    pub(super) fn drive(&self, waker: &Arc<mio::Waker>) -> bool {
        self.attend(|| Waiter::Driving(Arc::clone(waker)))
    }

    /// Says that the thread waits no more.
    pub(super) fn awake(&self) {
        self.lock().waiter = Waiter::Awake;
    }

    fn attend(&self, waiter: impl FnOnce() -> Waiter) -> bool {
        let mut state = self.lock();
        if !state.rung {
            state.waiter = waiter();
        }
        !state.rung
    }

    /// Nothing panics while this is held.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_ring_before_the_wait_is_not_missed() {
        let (signal, waker) = Signal::of_this_thread();
        waker.wake_by_ref();
        signal.park(Instant::now() + Duration::from_secs(60));
        assert!(signal.take());
        assert!(!signal.take());
    }

    #[test]
    fn a_ring_from_another_thread_ends_the_wait() {
        let (signal, waker) = Signal::of_this_thread();
        let ringer = thread::spawn(move || waker.wake());
        while !signal.take() {
            signal.park(Instant::now() + Duration::from_secs(60));
        }
        ringer.join().expect("rings");
    }

    #[test]
    fn a_wait_ends_by_itself() {
        let (signal, _) = Signal::of_this_thread();
        signal.park(Instant::now() + Duration::from_millis(1));
        assert!(!signal.take());
    }
}
