//! The thread that drives when nobody else does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::super::signal::Signal;
use super::watch::Watch;
use super::{LONGEST_WAIT, Reactor, Waited, ask_until, lock};

/// A driver that has held the baton for so long is idle: whoever stands by may sleep until it lets go.
const IDLE: Duration = Duration::from_millis(50);

/// For so long it drives on after the last event, who is not to be woken for each of many.
const LINGER: Duration = Duration::from_micros(500);

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
            match &self.watch {
                Some(watch) if self.standby.nobody_came(patience, until) => {
                    self.watch_meanwhile(watch, signal, patience, until);
                }
                None if self.nobody_drives(patience, until) => {
                    self.drive_meanwhile(signal, until, LONGEST_WAIT);
                }
                _ => {}
            }
            Waited::AskAgain
        })
    }

    /// Ends the sleep of whoever stands by, so that it looks at what it waits for.
    pub fn wake_standby(&self) {
        self.standby.wanted.store(true, Ordering::SeqCst);
        self.wake();
        self.end_sleep();
    }

    /// As `wake_standby`, unless it drives: then it will look by itself.
    pub fn rouse_standby(&self) {
        self.standby.wanted.store(true, Ordering::SeqCst);
        self.end_sleep();
    }

    fn end_sleep(&self) {
        if let Some(watch) = self.watch.as_ref().filter(|watch| watch.is_on()) {
            watch.wake();
        }
        self.standby.wake();
    }

    /// Waits until no driver has let go of the baton for `patience`, and none holds it.
    fn nobody_drives(&self, patience: Duration, until: Instant) -> bool {
        let standby = &self.standby;
        let left = || until.saturating_duration_since(Instant::now());
        let before = standby.handed.load(Ordering::SeqCst);
        let unchanged = || standby.handed.load(Ordering::SeqCst) == before;
        if !standby.nobody_came(patience, until) {
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

    /// Waits for I/O without the baton, and drives while there is some, until somebody else drives again and again, or
    /// asks for the thread that stands by.
    fn watch_meanwhile(
        &self,
        watch: &Watch,
        signal: &Arc<Signal>,
        patience: Duration,
        until: Instant,
    ) {
        loop {
            let now = Instant::now();
            let wait = self
                .until_alarm(now)
                .min(until.saturating_duration_since(now));
            watch.prepare(self.micros(now + wait), patience);
            // After that: who asks for this thread from now on sees that there is a sleep to end.
            if now >= until || self.standby.wanted.load(Ordering::SeqCst) || signal.take() {
                watch.end();
                return;
            }
            // Else whoever has the baton begins, when it lets go of it.
            if let Some(baton) = self.take_baton() {
                watch.begin();
                drop(baton);
                self.hand_on();
            }
            if signal.drive(watch.waker()) {
                watch.sleep(wait);
                signal.awake();
            }
            if !watch.end() || self.drive_meanwhile(signal, until, LINGER) {
                return;
            }
        }
    }

    /// Drives until somebody wants to do so, or asks for the thread that stands by, or nothing comes for `linger`:
    /// false then.
    fn drive_meanwhile(&self, signal: &Arc<Signal>, until: Instant, linger: Duration) -> bool {
        let Some(mut baton) = self.take_baton() else {
            return true;
        };
        self.standby.drives.store(true, Ordering::SeqCst);
        let wanted = || self.standby.wanted.load(Ordering::SeqCst) || signal.take();
        let asked = loop {
            let now = Instant::now();
            let slice = until.min(now + linger);
            if wanted() || now >= until || !self.turn(&mut baton, signal, slice) {
                break true;
            }
            if baton.events.is_empty() && slice < until {
                break false;
            }
        };
        self.standby.drives.store(false, Ordering::SeqCst);
        drop(baton);
        self.hand_on();
        asked
    }
}

impl Standby {
    /// Sleeps for `patience`; whether no driver has let go of the baton meanwhile.
    fn nobody_came(&self, patience: Duration, until: Instant) -> bool {
        let left = || until.saturating_duration_since(Instant::now());
        let before = self.handed.load(Ordering::SeqCst);
        self.sleep(patience.min(left()), || true);
        self.handed.load(Ordering::SeqCst) == before && !left().is_zero()
    }

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
