//! Calls on their way from the connections to the threads that run them.
//!
//! A thread that waits for a call drives the I/O meanwhile, so it takes the call that it has read itself. What else it
//! has read stays here for its next turn: to wake another thread costs more than most handlers take. Only what has
//! lain here for some time is given to others, by whoever stands by.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::super::reactor::Reactor;
use super::super::signal::Signal;
use super::call::ServerCall;

/// A call that has waited for so long needs another thread: those at work are in handlers that take their time.
const PATIENCE: Duration = Duration::from_millis(1);

/// When nobody has driven the I/O for so long, whoever stands by does. More than a short handler takes: the thread that
/// runs it would have to ask for the I/O back.
const ABSENCE: Duration = Duration::from_millis(2);

/// A queue longer than this is looked through for calls that have ended when it has doubled.
const LONG: usize = 256;

/// Something that the binding keeps with a call.
pub type Note = Box<dyn Any + Send>;

/// What whoever stands by is to see to.
#[derive(Default)]
pub struct News {
    /// Calls that no thread has taken in time. They are not in the queue any more.
    pub arrived: Vec<Arc<ServerCall>>,
    /// What was left to be handed back when the calls that it was left with end.
    pub ended: Vec<Note>,
    /// So many calls have ended in the queue after they were accepted.
    pub lost: usize,
}

/// The queue of a server.
pub struct Queue {
    reactor: Arc<Reactor>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those of which nobody has looked at the method.
    fresh: VecDeque<(Arc<ServerCall>, Instant)>,
    /// Those that a handler was found for.
    accepted: VecDeque<Arc<ServerCall>>,
    /// The threads that wait for a call.
    idle: Vec<Waker>,
    /// Whoever stands by, while it does.
    standby: Option<Waker>,
    /// How many threads run calls, or wait for them.
    workers: usize,
    /// Watched calls to which something has happened.
    looks: Vec<Arc<ServerCall>>,
    lost: usize,
    /// The length at which the queue is looked through.
    long: usize,
    reconsider: bool,
    stopped: bool,
}

impl Queue {
    pub(super) fn new(reactor: Arc<Reactor>) -> Arc<Self> {
        let state = State {
            long: LONG,
            ..State::default()
        };
        Arc::new(Self {
            reactor,
            state: Mutex::new(state),
        })
    }

    /// Adds a call that has just come in.
    pub(super) fn push(&self, call: Arc<ServerCall>) {
        let mut state = self.lock();
        state.fresh.push_back((call, Instant::now()));
        let mut waker = state.whom_to_wake();
        let mut first = state.fresh.len() == 1;
        let long = state.fresh.len() + state.accepted.len() > state.long;
        drop(state);
        if long {
            self.forget_ended();
            // Meanwhile the queue looked empty to who asked.
            waker = self.lock().whom_to_wake();
            first = true;
        }
        match waker {
            Some(waker) => waker.wake(),
            None if first => self.reactor.wake_standby(),
            None => {}
        }
    }

    /// Adds a call that a handler was found for.
    pub fn enqueue(&self, call: Arc<ServerCall>) {
        let mut state = self.lock();
        state.accepted.push_back(call);
        let waker = state.idle.last().cloned();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for a call to run. `Ready(None)`: there will be no more.
    pub fn next(&self, until: Instant) -> Poll<Option<Arc<ServerCall>>> {
        let mut own = None;
        let polled = self.reactor.wait(until, |context| {
            let mut state = self.lock();
            if let Some(call) = state.pop() {
                // In the same breath: what comes from now on wakes somebody else.
                if let Some(own) = own.take() {
                    state.no_longer_idle(&own);
                }
                return Poll::Ready(Some((call, state.has_calls())));
            }
            if state.stopped {
                return Poll::Ready(None);
            }
            if own.is_none() {
                own = Some(context.waker().clone());
                state.idle.push(context.waker().clone());
            }
            Poll::Pending
        });
        if let Some(own) = own {
            self.lock().no_longer_idle(&own);
        }
        polled.map(|found| {
            let (call, more) = found?;
            if more {
                // It must not sleep while calls wait for the end of this one.
                self.reactor.rouse_standby();
            }
            Some(call)
        })
    }

    /// Drives the I/O while nobody else does, until there is something to see to or `until` has come. `Ready(None)`:
    /// the server has stopped.
    pub fn stand_by(&self, until: Instant) -> Poll<Option<News>> {
        loop {
            let due = self.lock().fresh.front().map(|(_, at)| *at + PATIENCE);
            let slice = due.map_or(until, |due| until.min(due));
            let polled = self
                .reactor
                .stand_by(ABSENCE, slice, |context| self.poll_news(context, slice));
            self.lock().standby = None;
            match polled {
                Poll::Ready(Step::News(news)) => return Poll::Ready(Some(news)),
                Poll::Ready(Step::Stopped) => return Poll::Ready(None),
                Poll::Ready(Step::Again) => {}
                Poll::Pending if Instant::now() < until => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn poll_news(&self, context: &Context<'_>, slice: Instant) -> Poll<Step> {
        let looks = std::mem::take(&mut self.lock().looks);
        let ended = looks
            .iter()
            .filter(|call| !call.is_active())
            .filter_map(|call| call.take_watcher())
            .collect();
        let mut state = self.lock();
        let news = News {
            arrived: state.overdue(),
            ended,
            lost: std::mem::take(&mut state.lost),
        };
        let reconsider = std::mem::take(&mut state.reconsider);
        if reconsider || !news.is_empty() {
            return Poll::Ready(Step::News(news));
        }
        if state.stopped {
            return Poll::Ready(Step::Stopped);
        }
        state.standby = Some(context.waker().clone());
        match state.fresh.front() {
            Some((_, at)) if *at + PATIENCE < slice => Poll::Ready(Step::Again),
            _ => Poll::Pending,
        }
    }

    /// How many calls that a handler was found for wait for a thread.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().accepted.len()
    }

    /// Takes them out: there are no threads for them.
    #[must_use]
    pub fn take_waiting(&self) -> Vec<Arc<ServerCall>> {
        self.lock().accepted.drain(..).collect()
    }

    /// A thread has begun to run calls.
    pub fn enter(&self) {
        self.lock().workers += 1;
    }

    /// A thread runs calls no more.
    pub fn leave(&self) {
        let mut state = self.lock();
        state.workers = state.workers.saturating_sub(1);
        let left = state.has_calls();
        drop(state);
        if left {
            self.reconsider();
        }
    }

    /// Has whoever stands by look once more whether threads are needed.
    pub fn reconsider(&self) {
        self.lock().reconsider = true;
        self.reactor.wake_standby();
    }

    pub(super) fn look_at(&self, call: Arc<ServerCall>) {
        let mut state = self.lock();
        state.looks.push(call);
        let standby = state.standby.clone();
        drop(state);
        match standby {
            Some(standby) => {
                standby.wake();
                self.reactor.rouse_standby();
            }
            None => self.reactor.rouse_standby(),
        }
    }

    /// Says that no more calls will come, and none are left.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        let idle = state.idle.clone();
        drop(state);
        idle.iter().for_each(Waker::wake_by_ref);
        self.reactor.wake_standby();
    }

    /// Whether `stop` has been called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Takes calls out that have ended: a peer may make and cancel any number of them while all threads are busy.
    fn forget_ended(&self) {
        let mut state = self.lock();
        let fresh = std::mem::take(&mut state.fresh);
        let accepted = std::mem::take(&mut state.accepted);
        drop(state);
        let before = accepted.len();
        let mut fresh: VecDeque<_> = fresh
            .into_iter()
            .filter(|(call, _)| call.is_active())
            .collect();
        let mut accepted: VecDeque<_> = accepted
            .into_iter()
            .filter(|call| call.is_active())
            .collect();
        let mut state = self.lock();
        state.lost += before - accepted.len();
        fresh.append(&mut state.fresh);
        accepted.append(&mut state.accepted);
        state.long = LONG.max(2 * (fresh.len() + accepted.len()));
        state.fresh = fresh;
        state.accepted = accepted;
    }

    /// Nothing panics while this is held.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Step {
    News(News),
    Stopped,
    /// A call has come that is to be looked at sooner than was thought.
    Again,
}

impl News {
    fn is_empty(&self) -> bool {
        self.arrived.is_empty() && self.ended.is_empty() && self.lost == 0
    }
}

impl State {
    fn pop(&mut self) -> Option<Arc<ServerCall>> {
        let accepted = self.accepted.pop_front();
        accepted.or_else(|| self.fresh.pop_front().map(|(call, _)| call))
    }

    fn has_calls(&self) -> bool {
        !self.fresh.is_empty() || !self.accepted.is_empty()
    }

    /// Whoever is found here when a call comes takes the next call, or waits no more.
    fn no_longer_idle(&mut self, waker: &Waker) {
        self.idle.retain(|other| !other.will_wake(waker));
    }

    /// The calling thread, where it waits for a call itself; else another that does.
    fn whom_to_wake(&self) -> Option<Waker> {
        let (_, own) = Signal::of_this_thread();
        if self.idle.iter().any(|idle| idle.will_wake(&own)) {
            return Some(own);
        }
        if let Some(idle) = self.idle.last() {
            return Some(idle.clone());
        }
        self.standby
            .as_ref()
            .filter(|standby| standby.will_wake(&own))
            .cloned()
    }

    /// Takes out all that nobody has looked at, if the first of them has waited for long or nobody would come.
    fn overdue(&mut self) -> Vec<Arc<ServerCall>> {
        let nobody = self.workers == 0;
        match self.fresh.front() {
            Some((_, at)) if nobody || at.elapsed() >= PATIENCE => {
                self.fresh.drain(..).map(|(call, _)| call).collect()
            }
            _ => Vec::new(),
        }
    }
}
