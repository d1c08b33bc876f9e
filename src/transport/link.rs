//! One connection, advanced by whichever thread has something to do with it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use mio::Token;

use super::reactor::{Reactor, Source};
use super::socket::Readiness;
use super::turn::{self, Turn};

/// What a connection does: one state machine from the first byte to the last.
pub trait Driver: Send {
    /// Does what can be done now, without waiting. `Ready`: the connection is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// An alarm has passed. Set the next one, and return whether `poll` is to be called.
    fn tick(&mut self, now: Instant) -> bool;
}

/// A connection that any thread may advance. It is the reactor's until it is over.
pub struct Link {
    driver: Mutex<Option<Box<dyn Driver>>>,
    /// There is something to do since the driver was last polled.
    pending: AtomicBool,
    over: AtomicBool,
    reactor: Arc<Reactor>,
    readiness: Arc<Readiness>,
    token: Token,
}

thread_local! {
    /// The thread is about to pump by itself: nobody need be woken for it.
    static OPERATING: Cell<bool> = const { Cell::new(false) };
}

impl Link {
    /// Adds a connection to the reactor. `token` and `readiness` are those of its socket.
    pub fn start(
        reactor: &Arc<Reactor>,
        token: Token,
        readiness: Arc<Readiness>,
        driver: Box<dyn Driver>,
    ) -> Arc<Self> {
        let link = Arc::new(Self {
            driver: Mutex::new(Some(driver)),
            pending: AtomicBool::new(false),
            over: AtomicBool::new(false),
            reactor: Arc::clone(reactor),
            readiness,
            token,
        });
        reactor.add(token, Arc::clone(&link) as Arc<dyn Source>);
        link
    }

    /// The reactor that waits for the connection's I/O.
    #[must_use]
    pub fn reactor(&self) -> &Arc<Reactor> {
        &self.reactor
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Does something with the connection's streams, then writes what has come of it, in this very thread.
    pub fn operate<T>(self: &Arc<Self>, operation: impl FnOnce() -> T) -> T {
        let outer = OPERATING.replace(true);
        let done = operation();
        OPERATING.set(outer);
        self.pump();
        done
    }

    /// As `operate`, but writes only where the operation has given it something to do.
    pub fn touch<T>(self: &Arc<Self>, operation: impl FnOnce() -> T) -> T {
        let done = Self::hold(operation);
        if self.pending.load(Ordering::SeqCst) {
            self.pump();
        }
        done
    }

    /// Does something with a connection's streams that another operation follows at once: that one writes.
    pub fn hold<T>(operation: impl FnOnce() -> T) -> T {
        let outer = OPERATING.replace(true);
        let done = operation();
        OPERATING.set(outer);
        done
    }

    /// Does all that can be done now. Where another thread is at it, that thread does this too; where it takes long,
    /// whoever drives the I/O goes on with it after a look at the others.
    pub fn pump(self: &Arc<Self>) {
        self.pending.store(true, Ordering::SeqCst);
        let _turn = Turn::begin();
        while self.pending.load(Ordering::SeqCst) {
            if turn::is_over() {
                return self.reactor.nudge();
            }
            let Some(mut driver) = self.try_driver() else {
                // It looks at `pending` after it has let go.
                return;
            };
            let waker = Waker::from(Arc::clone(self));
            let mut context = Context::from_waker(&waker);
            while !turn::is_over() && self.pending.swap(false, Ordering::SeqCst) {
                self.poll_once(&mut driver, &mut context);
            }
        }
    }

    /// Does what operations under `hold` have left to do, if anything.
    pub fn settle(self: &Arc<Self>) {
        if self.pending.load(Ordering::SeqCst) {
            self.pump();
        }
    }

    /// Ends the connection at once, whatever it was doing.
    pub fn kill(self: &Arc<Self>) {
        let mut driver = self
            .driver
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        self.end(&mut driver);
    }

    fn poll_once(&self, driver: &mut Option<Box<dyn Driver>>, context: &mut Context<'_>) {
        let polled = driver.as_mut().map(|driver| driver.poll(context));
        if polled == Some(Poll::Ready(())) {
            self.end(driver);
        }
    }

    fn end(&self, driver: &mut Option<Box<dyn Driver>>) {
        self.over.store(true, Ordering::SeqCst);
        // The socket, and with it the registration, goes first; then the reactor's share of the link.
        *driver = None;
        self.reactor.remove(self.token);
    }

    fn try_driver(&self) -> Option<MutexGuard<'_, Option<Box<dyn Driver>>>> {
        match self.driver.try_lock() {
            Ok(driver) => Some(driver),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(driver)) => {
                // Its state may be torn.
                let mut driver = driver.into_inner();
                self.end(&mut driver);
                Some(driver)
            }
        }
    }
}

impl Source for Link {
    fn ready(self: Arc<Self>, closing: bool) {
        self.readiness.ready(closing);
        self.pump();
    }

    fn nudge(self: Arc<Self>) {
        if self.pending.load(Ordering::SeqCst) {
            self.pump();
        }
    }

    fn tick(self: Arc<Self>, now: Instant) {
        let mut driver = self
            .driver
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let poll = driver.as_mut().is_some_and(|driver| driver.tick(now));
        drop(driver);
        // Also for what another thread may have left to this one meanwhile.
        if poll || self.pending.load(Ordering::SeqCst) {
            self.pump();
        }
    }
}

impl Wake for Link {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.pending.store(true, Ordering::SeqCst);
        if OPERATING.get() {
            return;
        }
        // Where the driver is being polled, by this thread or another, that thread sees `pending`.
        let idle = !matches!(self.driver.try_lock(), Err(TryLockError::WouldBlock));
        if idle {
            self.reactor.nudge();
        }
    }
}
