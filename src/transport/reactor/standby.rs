//! The thread that drives when nobody else does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::super::signal::Signal;
use super::{Reactor, Waited, ask_until, lock};

/// A driver that has held the baton for so long is idle: whoever stands by may sleep until it lets go.
const IDLE: Duration = Duration::from_millis(50);

/// What is known of the thread that stands by.
#[derive(Default)]
pub(super) struct Standby {
    /// How often a driver has let go of the baton.
    handed: AtomicU64,
    /// It holds the baton.
    drives: AtomicBool,
    /// It is to let go of it.
    wanted: AtomicBool,
    /// It is to be woken when a driver lets go.
    sleeps: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Reactor {
    /// Drives whenever nobody else has done so for `patience`, until `poll` is ready or `until` has come.
    ///
    /// For one thread at a time, which has nothing better to do.
    pub fn stand_by<T>(
        &self,
        patience: Duration,
        until: Instant,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let ask = |context: &mut Context<'_>| {
            // Before the question: who sets it afterwards has made the answer ready first.
            self.standby.wanted.store(false, Ordering::SeqCst);
            poll(context)
        };
        ask_until(ask, |signal| {
            if Instant::now() >= until {
                return Waited::Over;
            }
            if self.nobody_drives(patience, until) {
                self.drive_meanwhile(signal, until);
            }
            Waited::AskAgain
        })
    }

    /// Ends the sleep of whoever stands by, so that it looks at what it waits for.
    pub fn wake_standby(&self) {
        self.standby.wanted.store(true, Ordering::SeqCst);
        self.wake();
        self.standby.wake();
    }

    /// As `wake_standby`, unless it drives: then it will look by itself.
    pub fn rouse_standby(&self) {
        self.standby.wanted.store(true, Ordering::SeqCst);
        self.standby.wake();
    }

    /// Waits until no driver has let go of the baton for `patience`, and none holds it.
    fn nobody_drives(&self, patience: Duration, until: Instant) -> bool {
        let standby = &self.standby;
        let left = || until.saturating_duration_since(Instant::now());
        let before = standby.handed.load(Ordering::SeqCst);
        let unchanged = || standby.handed.load(Ordering::SeqCst) == before;
        standby.sleep(patience.min(left()), || true);
        if !unchanged() || left().is_zero() {
            return false;
        }
        if self.take_baton().is_some() {
            return true;
        }
        // Somebody drives, and may do so for an hour.
        standby.sleep(IDLE.min(left()), || true);
        standby.sleeps.store(true, Ordering::SeqCst);
        standby.sleep(left(), unchanged);
        standby.sleeps.store(false, Ordering::SeqCst);
        false
    }

    /// Drives until somebody wants to do so, or asks for the thread that stands by.
    fn drive_meanwhile(&self, signal: &Arc<Signal>, until: Instant) {
        let Some(mut baton) = self.take_baton() else {
            return;
        };
        self.standby.drives.store(true, Ordering::SeqCst);
        let wanted = || self.standby.wanted.load(Ordering::SeqCst) || signal.take();
        let in_time = || Instant::now() < until;
        let mut goes_on = true;
        while goes_on {
            goes_on = !wanted() && in_time() && self.turn(&mut baton, signal, until);
        }
        self.standby.drives.store(false, Ordering::SeqCst);
        drop(baton);
        self.hand_on();
    }
}

impl Standby {
    /// Asks it for the baton. False where it does not hold it.
    pub(super) fn ask_for_the_baton(&self) -> bool {
        let drives = self.drives.load(Ordering::SeqCst);
        if drives {
            self.wanted.store(true, Ordering::SeqCst);
        }
        drives
    }

    /// Takes notice that a driver has let go of the baton.
    pub(super) fn baton_is_free(&self) {
        self.handed.fetch_add(1, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Sleeps until woken, if there is reason to once nobody can wake it unnoticed.
    fn sleep(&self, time: Duration, reason: impl Fn() -> bool) {
        let guard = lock(&self.lock);
        if reason() && !self.wanted.load(Ordering::SeqCst) {
            drop(self.woken.wait_timeout(guard, time));
        }
    }

    fn wake(&self) {
        let guard = lock(&self.lock);
        self.woken.notify_all();
        drop(guard);
    }
}
