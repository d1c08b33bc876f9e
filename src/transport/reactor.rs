//! Waiting for I/O: the thread that waits for something drives the sockets itself.
//!
//! Only one thread at a time can wait for I/O: the one that holds the baton. Others that wait are parked until what
//! they wait for has come, or until the baton is free. A call that is alone on its channel is thus never handed from
//! thread to thread. When nobody has waited for some time a thread in the background takes the baton, so that pings
//! and a vanished peer are noticed.

mod eager;
mod standby;
#[cfg(unix)]
mod watch;
#[cfg(not(unix))]
#[path = "reactor/no_watch.rs"]
mod watch;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mio::{Events, Registry, Token};

use self::eager::Eager;
use self::standby::Standby;
use self::watch::Watch;
use super::apart::Apart;
use super::pool::teach_allocator;
use super::signal::Signal;

/// What was taken notice of in one wait for I/O. More stays with the system for the next.
const EVENTS: usize = 256;

/// The token of the waker; sources have the ones above.
const WAKE: Token = Token(0);

/// No wait for I/O is longer, whatever the timers say.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// No timer is set.
const NEVER: u64 = u64::MAX;

/// Something that I/O happens to: a connection, or a listener.
pub trait Source: Send + Sync {
    /// The system says that something may be read or written, or `closing`: that the peer will send no more.
    fn ready(self: Arc<Self>, closing: bool);

    /// Somebody has asked for another look, not the system.
    fn nudge(self: Arc<Self>);

    /// An alarm has passed, perhaps another source's. Set the next one.
    fn tick(self: Arc<Self>, now: Instant);
}

/// How a wait between two questions ended.
enum Waited {
    /// The signal has rung, or nobody knows: the answer may be another now.
    AskAgain,
    /// The time is over, or a signal of the operating system came.
    Over,
}

/// Waits for I/O on behalf of all its sources.
pub struct Reactor {
    baton: Mutex<Baton>,
    registry: Registry,
    waker: Arc<mio::Waker>,
    sources: RwLock<HashMap<usize, Arc<dyn Source>>>,
    next_token: AtomicUsize,
    /// Those who wait without the baton.
    parked: Mutex<Vec<Arc<Signal>>>,
    /// Somebody wants every source to take another look.
    nudged: AtomicBool,
    /// When the next alarm is due, in microseconds after `origin`.
    alarm: AtomicU64,
    origin: Instant,
    standby: Standby,
    apart: Apart,
    /// How it notices I/O without the baton, where the system can do that.
    watch: Option<Watch>,
}

struct Baton {
    poll: mio::Poll,
    events: Events,
    eager: Eager,
}

impl Baton {
    fn poll(&mut self, now: Instant, wait: Duration, beside: bool) -> io::Result<()> {
        let Self {
            poll,
            events,
            eager,
        } = self;
        let look = || {
            let polled = poll.poll(events, Some(Duration::ZERO));
            (polled.is_err() || !events.is_empty()).then_some(polled)
        };
        let found = eager.look(now, wait, beside, look, std::thread::yield_now);
        let polled = found.unwrap_or_else(|| poll.poll(events, Some(wait)));
        eager.waited(now.elapsed());
        polled
    }
}

impl Reactor {
    /// A reactor without sources. `moves`: a thread that waits may move from the core that its peer works on.
    ///
    /// # Errors
    /// Where the system has no means left to wait.
    pub fn new(moves: bool) -> io::Result<Arc<Self>> {
        teach_allocator();
        let poll = mio::Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Arc::new(mio::Waker::new(&registry, WAKE)?);
        let watch = Watch::new(&poll)?;
        Ok(Arc::new(Self {
            baton: Mutex::new(Baton {
                poll,
                events: Events::with_capacity(EVENTS),
                eager: Eager::default(),
            }),
            registry,
            waker,
            sources: RwLock::default(),
            next_token: AtomicUsize::new(WAKE.0 + 1),
            parked: Mutex::default(),
            nudged: AtomicBool::new(false),
            alarm: AtomicU64::new(NEVER),
            origin: Instant::now(),
            standby: Standby::default(),
            apart: Apart::new(moves),
            watch,
        }))
    }

    /// What sockets are registered with.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Where the threads that wait are, and their peers.
    #[must_use]
    pub fn apart(&self) -> &Apart {
        &self.apart
    }

    /// A token that no source has had.
    #[must_use]
    pub fn token(&self) -> Token {
        Token(self.next_token.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes events of `token` known to `source`, which the reactor keeps until it is removed.
    pub fn add(&self, token: Token, source: Arc<dyn Source>) {
        write(&self.sources).insert(token.0, source);
    }

    /// Forgets the source of `token`.
    pub fn remove(&self, token: Token) {
        let former = write(&self.sources).remove(&token.0);
        drop(former);
    }

    /// Has every source take another look, by whoever drives.
    pub fn nudge(&self) {
        self.nudged.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Has every source's `tick` called at that time, or earlier.
    pub fn set_alarm(&self, at: Instant) {
        let due = self.micros(at);
        if self.alarm.fetch_min(due, Ordering::SeqCst) > due {
            // Whoever drives may wait for longer than that.
            self.wake();
        }
    }

    /// Asks `poll` until it is ready or `until` has come; drives the sources meanwhile, or lets others do so.
    ///
    /// `Pending` says that the time is over, or that a signal handler of the process may want to run. Nothing is lost.
    pub fn wait<T>(
        &self,
        until: Instant,
        poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        ask_until(poll, |signal| self.attend(signal, until))
    }

    fn wake(&self) {
        // It fails only where the system is out of resources; the driver then wakes when its slice is over.
        drop(self.waker.wake());
    }

    /// Waits for the signal with the baton where it is free, else parked.
    fn attend(&self, signal: &Arc<Signal>, until: Instant) -> Waited {
        let mut held = None;
        let waited = loop {
            if signal.take() {
                break Waited::AskAgain;
            }
            if Instant::now() >= until {
                break Waited::Over;
            }
            if held.is_none() {
                held = self.borrow_baton();
            }
            match &mut held {
                Some(baton) => {
                    if !self.turn(baton, signal, until) {
                        break Waited::Over;
                    }
                }
                None => held = self.park(signal, until),
            }
        };
        if let Some(baton) = held {
            drop(baton);
            self.hand_on();
        }
        waited
    }

    /// Takes the baton, perhaps from under the eyes of who stands by, who need not wake then.
    fn borrow_baton(&self) -> Option<MutexGuard<'_, Baton>> {
        let baton = self.take_baton()?;
        if let Some(watch) = &self.watch {
            watch.lend();
        }
        Some(baton)
    }

    fn take_baton(&self) -> Option<MutexGuard<'_, Baton>> {
        match self.baton.try_lock() {
            Ok(baton) => Some(baton),
            Err(TryLockError::Poisoned(baton)) => Some(baton.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Waits without the baton, unless it turns out to be free.
    fn park(&self, signal: &Arc<Signal>, until: Instant) -> Option<MutexGuard<'_, Baton>> {
        lock(&self.parked).push(Arc::clone(signal));
        // Whoever lets go of it after this sees that somebody is parked.
        let baton = self.borrow_baton();
        if baton.is_none() {
            if self.standby.ask_for_the_baton() {
                self.wake();
            }
            signal.park(until);
        }
        let chosen = !self.unpark(signal);
        // Whoever was told that the baton is free takes it, if only to hand it on: nobody else was told.
        baton.or_else(|| chosen.then(|| self.borrow_baton()).flatten())
    }

    /// Whether the signal was still among those of who is parked.
    fn unpark(&self, signal: &Arc<Signal>) -> bool {
        let mut parked = lock(&self.parked);
        let place = parked.iter().position(|other| Arc::ptr_eq(other, signal));
        if let Some(place) = place {
            parked.swap_remove(place);
        }
        place.is_some()
    }

    /// Tells somebody that the baton is free.
    fn hand_on(&self) {
        self.give_back();
        let next = lock(&self.parked).pop();
        if let Some(next) = next {
            next.ring();
        }
        self.standby.baton_is_free();
    }

    /// Has the thread that stands by watch again, where it did so before.
    fn give_back(&self) {
        let Some(watch) = &self.watch else {
            return;
        };
        // Again where it was announced meanwhile, by whoever stands by and found the baton taken.
        while watch.is_lent()
            && let Some(baton) = self.take_baton()
        {
            let alarm = self.alarm.load(Ordering::SeqCst);
            watch.give_back(self.micros(Instant::now()), alarm);
            drop(baton);
        }
    }

    /// Waits once for I/O and lets the sources deal with it. False where a signal of the operating system came.
    fn turn(&self, baton: &mut Baton, signal: &Signal, until: Instant) -> bool {
        let now = Instant::now();
        let wait = until
            .saturating_duration_since(now)
            .min(self.until_alarm(now));
        if !signal.drive(&self.waker) {
            return true;
        }
        let polled = baton.poll(now, wait, self.apart.is_peer_here());
        signal.awake();
        if polled.is_err() {
            return false;
        }
        for event in &baton.events {
            if let Some(source) = self.source(event.token()) {
                source.ready(event.is_read_closed() || event.is_error());
            }
        }
        self.see_to_the_rest();
        true
    }

    /// What the system has no event for.
    fn see_to_the_rest(&self) {
        if self.nudged.swap(false, Ordering::SeqCst) {
            for source in self.all_sources() {
                source.nudge();
            }
        }
        if self.alarm.load(Ordering::Relaxed) == NEVER {
            return;
        }
        let now = Instant::now();
        if self.micros(now) >= self.alarm.load(Ordering::SeqCst) {
            self.alarm.store(NEVER, Ordering::SeqCst);
            for source in self.all_sources() {
                source.tick(now);
            }
        }
    }

    fn source(&self, token: Token) -> Option<Arc<dyn Source>> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        sources.get(&token.0).cloned()
    }

    fn all_sources(&self) -> Vec<Arc<dyn Source>> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        sources.values().cloned().collect()
    }

    /// In whole microseconds, rounded up: an alarm never rings early.
    fn micros(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.origin);
        u64::try_from(since.as_nanos().div_ceil(1000)).unwrap_or(NEVER - 1)
    }

    fn until_alarm(&self, now: Instant) -> Duration {
        match self.alarm.load(Ordering::SeqCst) {
            NEVER => LONGEST_WAIT,
            due => {
                let due = self.origin + Duration::from_micros(due);
                due.saturating_duration_since(now)
            }
        }
    }
}

/// Asks `poll` until it is ready, or `attend`, which waits between two questions, says that it is over.
///
/// The waker that `poll` is given rings the signal that `attend` is given.
fn ask_until<T>(
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    mut attend: impl FnMut(&Arc<Signal>) -> Waited,
) -> Poll<T> {
    let (signal, waker) = Signal::of_this_thread();
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return Poll::Ready(value);
        }
        if let Waited::Over = attend(&signal) {
            return Poll::Pending;
        }
    }
}

/// Nothing is half done when a panic poisons one of these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
