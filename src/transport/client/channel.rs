//! A channel: it makes connections when calls need them, and makes them again when they are lost.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use http::uri::InvalidUri;
use mio::Token;

use super::super::code::Code;
use super::super::counters::Meter;
use super::super::framing::Side;
use super::super::reactor::{Reactor, Source};
use super::super::status::Status;
use super::super::target::Target;
use super::super::threads;
use super::bell::{Watch, lock};
use super::call::{Call, CallOptions};
use super::connection::Connection;
use super::dial::Tls;
use super::options::ChannelOptions;
use super::request::Template;
use super::state::{Connectivity, Phase, Placed, State};

/// How long nobody has driven the connection before the channel's own thread does.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long that thread sleeps at most. Nothing depends on it.
const SLEEP: Duration = Duration::from_secs(3600);

/// What calls end with that are made on a channel that was closed, or that are made when it is.
pub const CLOSED: &str = "Channel closed!";

/// Why a channel cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// What is to be sent as `:authority` is none.
    #[error("{authority:?} is not an authority: {source}")]
    Authority {
        /// It.
        authority: String,
        /// What is wrong with it.
        source: InvalidUri,
    },
    /// The system has no means left to wait for I/O.
    #[error("no means to wait for I/O: {0}")]
    System(#[from] io::Error),
}

/// A channel. It is closed when it is dropped.
pub struct Channel {
    /// Gone when it is closed, and with it all that waits for I/O.
    shared: RwLock<Option<Arc<Shared>>>,
}

/// What a channel, its connection and its calls have in common.
pub struct Shared {
    pub me: Weak<Shared>,
    pub reactor: Arc<Reactor>,
    pub options: ChannelOptions,
    pub tls: Option<Tls>,
    pub template: Template,
    pub target: Target,
    pub state: Mutex<State>,
    pub watch: Arc<Watch>,
    pub meter: Arc<Meter>,
    deadlines: Mutex<BTreeMap<(Instant, u64), Weak<Call>>>,
    next_call: AtomicU64,
    token: Token,
    standby: Mutex<Option<JoinHandle<()>>>,
    closed: Arc<AtomicBool>,
}

impl Channel {
    /// A channel to `target`, which connects when it is first needed.
    ///
    /// # Errors
    /// The authority is none, or the system has no means left to wait for I/O.
    pub fn new(
        target: Target,
        options: ChannelOptions,
        tls: Option<Tls>,
    ) -> Result<Self, ChannelError> {
        let reactor = Reactor::new(false)?;
        let token = reactor.token();
        let authority = options.authority.as_deref().unwrap_or(target.authority());
        let template = Template::new(authority, tls.is_some(), &options.user_agent);
        let template = template.map_err(|source| ChannelError::Authority {
            authority: authority.to_owned(),
            source,
        })?;
        let shared = Arc::new_cyclic(|me| Shared {
            me: Weak::clone(me),
            reactor: Arc::clone(&reactor),
            state: Mutex::new(State::new(&options)),
            meter: Meter::new(Side::Client, "native", options.name.clone()),
            options,
            tls,
            template,
            target,
            watch: Arc::default(),
            deadlines: Mutex::default(),
            next_call: AtomicU64::new(0),
            token,
            standby: Mutex::default(),
            closed: Arc::default(),
        });
        reactor.add(token, Arc::clone(&shared) as Arc<dyn Source>);
        Ok(Self {
            shared: RwLock::new(Some(shared)),
        })
    }

    /// Begins a call. Nothing is sent before the first message, the end of the request, or a wait. `None` where the
    /// channel is closed.
    #[must_use]
    pub fn start(&self, options: CallOptions) -> Option<Arc<Call>> {
        let shared = self.shared()?;
        let id = shared.next_call.fetch_add(1, Ordering::Relaxed);
        let deadline = options.deadline;
        let call = Call::new(&shared, id, options);
        if let Some(deadline) = deadline {
            lock(&shared.deadlines).insert((deadline, id), Arc::downgrade(&call));
            shared.reactor.set_alarm(deadline);
        }
        Some(call)
    }

    /// Where the channel stands. An idle one connects where that is asked for.
    #[must_use]
    pub fn connectivity(&self, try_to_connect: bool) -> Connectivity {
        let Some(shared) = self.shared() else {
            return Connectivity::Shutdown;
        };
        let (connectivity, connect) = {
            let mut state = lock(&shared.state);
            (state.connectivity(), try_to_connect && state.begin())
        };
        if connect {
            shared.connect();
        }
        connectivity
    }

    /// Has the end of `call` reported by `wait_events`.
    pub fn watch(&self, call: &Arc<Call>) {
        if let Some(shared) = self.shared() {
            call.report_to(&shared.watch);
        }
    }

    /// Ends `wait_events` whatever has happened.
    pub fn poke(&self) {
        if let Some(shared) = self.shared() {
            shared.watch.poke();
        }
    }

    /// Waits until the channel's state is not `known` or a watched call has ended; drives those calls meanwhile.
    ///
    /// For one thread at a time. Of a closed channel all calls have ended, though not all are told.
    pub fn wait_events(
        &self,
        known: Connectivity,
        until: Instant,
    ) -> Poll<(Connectivity, Vec<Arc<Call>>)> {
        let Some(shared) = self.shared() else {
            return Poll::Ready((Connectivity::Shutdown, Vec::new()));
        };
        shared.reactor.wait(until, |context| {
            let touched = shared.watch.take(context);
            let ended: Vec<_> = touched.into_iter().filter(|call| call.look()).collect();
            let state = lock(&shared.state).connectivity();
            if state == known && ended.is_empty() && !shared.watch.is_poked() {
                Poll::Pending
            } else {
                Poll::Ready((state, ended))
            }
        })
    }

    /// Ends every call, the connection, and the channel's thread. Whoever waits is woken.
    pub fn close(&self, text: &str) {
        let shared = {
            let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
            shared.take()
        };
        if let Some(shared) = shared {
            shared.close(&Status::new(Code::Cancelled, text));
        }
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        shared.clone()
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close("Channel deallocated!");
    }
}

impl Shared {
    /// Finds a connection for `call`, or has it wait until one is made.
    pub fn place(&self, call: &Arc<Call>) -> Result<Option<Arc<Connection>>, Status> {
        let placed = lock(&self.state).place(call);
        match placed {
            Placed::On(connection) => Ok(Some(connection)),
            Placed::Refused(status) => Err(status),
            Placed::Waiting { connect } => {
                if connect {
                    self.connect();
                }
                Ok(None)
            }
        }
    }

    /// The call is over.
    pub fn forget(&self, call: &Call) {
        if let Some(deadline) = call.deadline() {
            lock(&self.deadlines).remove(&(deadline, call.id()));
        }
        lock(&self.state)
            .waiting
            .retain(|other| other.id() != call.id());
    }

    fn close(&self, status: &Status) {
        let (connections, dialing, waiting) = {
            let mut state = lock(&self.state);
            if matches!(state.phase, Phase::Shut(_)) {
                return;
            }
            state.phase = Phase::Shut(status.clone());
            state.attempt += 1;
            let connections = std::mem::take(&mut state.connections);
            let waiting = std::mem::take(&mut state.waiting);
            (connections, state.dialing.take(), waiting)
        };
        for call in waiting {
            call.end(status.clone());
        }
        for connection in connections {
            connection.close(status);
        }
        if let Some(link) = dialing {
            link.kill();
        }
        self.reactor.remove(self.token);
        self.watch.wake();
        self.stop_standby();
    }

    pub fn start_standby(&self) -> io::Result<()> {
        let mut standby = lock(&self.standby);
        if standby.is_none() && !self.closed.load(Ordering::SeqCst) {
            let (reactor, closed) = (Arc::clone(&self.reactor), Arc::clone(&self.closed));
            let started = threads::spawn("philote-fast channel", move || {
                let poll = || {
                    if closed.load(Ordering::SeqCst) {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                };
                while reactor
                    .stand_by(PATIENCE, Instant::now() + SLEEP, |_| poll())
                    .is_pending()
                {}
            });
            *standby = Some(started?);
        }
        Ok(())
    }

    fn stop_standby(&self) {
        let standby = {
            let mut standby = lock(&self.standby);
            self.closed.store(true, Ordering::SeqCst);
            standby.take()
        };
        self.reactor.wake_standby();
        if let Some(thread) = standby
            && thread.thread().id() != std::thread::current().id()
        {
            // It never panics; if it did it is over all the same.
            drop(thread.join());
        }
    }
}

impl Source for Shared {
    fn ready(self: Arc<Self>, _: bool) {}

    fn nudge(self: Arc<Self>) {}

    fn tick(self: Arc<Self>, now: Instant) {
        let due = {
            let mut deadlines = lock(&self.deadlines);
            let later = deadlines.split_off(&(now, u64::MAX));
            if let Some(((next, _), _)) = later.first_key_value() {
                self.reactor.set_alarm(*next);
            }
            std::mem::replace(&mut *deadlines, later)
        };
        for call in due.values().filter_map(Weak::upgrade) {
            call.expire();
        }
        let again = {
            let mut state = lock(&self.state);
            let again = state.begin_again(now);
            if let Phase::Failing {
                retry_at: Some(at), ..
            } = state.phase
            {
                self.reactor.set_alarm(at);
            }
            again
        };
        if again {
            self.connect();
        }
    }
}
