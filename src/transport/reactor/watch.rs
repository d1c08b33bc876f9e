//! Noticing I/O without the baton.
//!
//! The thread that stands by waits until the first poll has something, by a second one. So whoever comes to wait finds
//! the baton free: to ask for it back would take two wakes of threads, a fifth of a millisecond where cores sleep, at
//! each call that comes after a pause.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};

use super::lock;

const WAKE: Token = Token(0);
const FIRST: Token = Token(1);

/// Nobody watches.
const OFF: u8 = 0;
/// Whoever stands by is woken when there is something.
const ON: u8 = 1;
/// As `ON`, but for as long as somebody has the baton.
const LENT: u8 = 2;

/// The second poll. Its state is changed by whoever stands by, and by who has the baton.
pub(super) struct Watch {
    poll: Mutex<(Poll, Events)>,
    registry: Registry,
    waker: Arc<Waker>,
    /// The first poll, which lives as long.
    first: RawFd,
    state: AtomicU8,
    /// When the baton was last given back while it was lent, in the reactor's microseconds.
    returned: AtomicU64,
    /// Whoever stands by sleeps until then.
    until: AtomicU64,
    /// Who comes back before so many microseconds are over is busy.
    patience: AtomicU64,
}

impl Watch {
    /// A watch over `first`, which must live as long.
    pub fn new(first: &Poll) -> io::Result<Option<Self>> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Waker::new(&registry, WAKE)?;
        Ok(Some(Self {
            poll: Mutex::new((poll, Events::with_capacity(2))),
            registry,
            waker: Arc::new(waker),
            first: first.as_raw_fd(),
            state: AtomicU8::new(OFF),
            returned: AtomicU64::new(0),
            until: AtomicU64::new(0),
            patience: AtomicU64::new(0),
        }))
    }

    /// What ends `sleep`.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// Says that the calling thread is about to sleep until `until`, and that who has the baton is to give it back.
    pub fn prepare(&self, until: u64, patience: Duration) {
        let patience = u64::try_from(patience.as_micros()).unwrap_or(u64::MAX);
        self.patience.store(patience, Ordering::SeqCst);
        self.until.store(until, Ordering::SeqCst);
        self.state.store(LENT, Ordering::SeqCst);
    }

    /// Begins to watch, which `prepare` has announced. For who has the baton.
    pub fn begin(&self) {
        if self.change(LENT, ON) {
            self.register();
        }
    }

    /// Sleeps until there is something, `wait` is over, or it is woken.
    pub fn sleep(&self, wait: Duration) {
        let (poll, events) = &mut *lock(&self.poll);
        // A signal of the operating system is for other threads to deal with.
        drop(poll.poll(events, Some(wait)));
    }

    /// Ends the watch. False where somebody drives, or is likely to do so soon.
    pub fn end(&self) -> bool {
        let was_on = self.state.swap(OFF, Ordering::SeqCst) == ON;
        if was_on {
            self.unregister();
        }
        was_on
    }

    /// Whether somebody may sleep in it.
    pub fn is_on(&self) -> bool {
        self.state.load(Ordering::SeqCst) != OFF
    }

    /// Whether `give_back` is to be called once the baton is free.
    pub fn is_lent(&self) -> bool {
        self.state.load(Ordering::SeqCst) == LENT
    }

    /// For who has just taken the baton: nobody else needs to be woken.
    pub fn lend(&self) {
        if self.is_on() && self.change(ON, LENT) {
            self.unregister();
        }
    }

    /// For who has the baton and is about to let go of it, at `now`, while the next alarm is due at `alarm`.
    pub fn give_back(&self, now: u64, alarm: u64) {
        let before = self.returned.swap(now, Ordering::SeqCst);
        let busy = now.saturating_sub(before) < self.patience.load(Ordering::SeqCst);
        if busy || alarm < self.until.load(Ordering::SeqCst) {
            // Back to counting, or to a shorter sleep.
            self.change(LENT, OFF);
            self.wake();
        } else {
            self.begin();
        }
    }

    /// Ends `sleep`, or the next one.
    pub fn wake(&self) {
        // It fails only where the system is out of resources; the sleep then ends by itself.
        drop(self.waker.wake());
    }

    fn change(&self, from: u8, to: u8) -> bool {
        let changed = self
            .state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
        changed.is_ok()
    }

    /// What lies there already is an event too.
    fn register(&self) {
        let first = || SourceFd(&self.first);
        let interest = Interest::READABLE;
        let registered = self.registry.register(&mut first(), FIRST, interest);
        // `end` may come between a change of the state and this: it is registered still.
        if registered.is_err() {
            drop(self.registry.reregister(&mut first(), FIRST, interest));
        }
    }

    fn unregister(&self) {
        drop(self.registry.deregister(&mut SourceFd(&self.first)));
    }
}
