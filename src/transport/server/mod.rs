//! A gRPC server: it takes connections, and hands calls to the threads that ask for them.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mio::Token;

use super::code::Code;
use super::reactor::{Reactor, Source};
use super::status::Status;
use super::target::{Address, Target};
use super::tls::ServerTls;

mod authority;
mod bell;
mod call;
mod connection;
mod cork;
mod exchange;
mod filter;
mod listener;
mod options;
mod pings;
mod queue;
mod request;
mod roster;
mod sending;
mod shared;

pub use call::{Initial, ServerCall};
pub use connection::Peer;
pub use options::Options;
pub use queue::{News, Note, Queue};
pub use request::Head;

use listener::Listener;
use shared::{Shared, Stage};

/// What the calls are told that a stop has ended, as by grpcio.
const CANCELLED_BY_STOP: &str = "Cancelling all calls";

/// So long after the grace a peer may take to read how its calls have ended. Then the connection is cut.
const FAREWELL: Duration = Duration::from_secs(1);

/// A server.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Mutex<Vec<Arc<Listener>>>,
    grace: Arc<Grace>,
    grace_token: Token,
}

impl Server {
    /// A server that listens nowhere.
    ///
    /// # Errors
    /// Where the system has no means left to wait.
    pub fn new(options: Options) -> io::Result<Self> {
        let reactor = Reactor::new(true)?;
        let shared = Shared::new(options, Arc::clone(&reactor));
        let grace = Arc::new(Grace {
            shared: Arc::clone(&shared),
            cancelled: Mutex::new(None),
        });
        let grace_token = reactor.token();
        reactor.add(grace_token, Arc::clone(&grace) as Arc<dyn Source>);
        Ok(Self {
            shared,
            listeners: Mutex::default(),
            grace,
            grace_token,
        })
    }

    /// Where calls are asked for.
    #[must_use]
    pub fn queue(&self) -> &Arc<Queue> {
        &self.shared.queue
    }

    /// Listens on an address as `add_insecure_port` takes it. Returns the port.
    ///
    /// # Errors
    /// What is wrong with the address, or what the system says.
    pub fn add_port(&self, address: &str, tls: Option<&ServerTls>) -> io::Result<u16> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let target = Target::parse_listening(address).map_err(invalid)?;
        let addresses = target.resolve().map_err(io::Error::other)?;
        let mut port = None;
        let mut failure = io::ErrorKind::AddrNotAvailable.into();
        for mut address in addresses {
            if let (Address::Inet(address), Some(port)) = (&mut address, port)
                && address.port() == 0
            {
                // All addresses of a name get the port that the first was given.
                address.set_port(port);
            }
            match Listener::bind(&self.shared, address, tls.cloned()) {
                Ok((listener, bound)) => {
                    self.listeners().push(listener);
                    port.get_or_insert(bound);
                }
                Err(error) => failure = error,
            }
        }
        if let Some(port) = port {
            self.shared.meter.add_name(&bound_name(address, port));
        }
        port.ok_or(failure)
    }

    /// Begins to take connections.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(&self) -> io::Result<()> {
        self.listeners().iter().try_for_each(Listener::start)
    }

    /// Takes no more calls; ends those at work after `grace`, if there is one.
    pub fn stop(&self, grace: Option<Duration>) {
        self.close_listeners();
        let now = Instant::now();
        let end = grace.map(|grace| now.checked_add(grace));
        self.shared.drain(end.flatten());
        for link in self.shared.connections() {
            link.pump();
        }
        if grace == Some(Duration::ZERO) {
            Arc::clone(&self.grace).tick(now);
        }
        self.shared.reactor.wake_standby();
    }

    /// Listens no more.
    pub fn close_listeners(&self) {
        let listeners = std::mem::take(&mut *self.listeners());
        for listener in listeners {
            listener.close();
        }
    }

    /// Nothing panics while this is held.
    fn listeners(&self) -> MutexGuard<'_, Vec<Arc<Listener>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close_listeners();
        for link in self.shared.connections() {
            link.kill();
        }
        // The reactor would keep what keeps the reactor.
        self.shared.reactor.remove(self.grace_token);
    }
}

/// The address with the port that was found where any was asked for.
fn bound_name(address: &str, port: u16) -> String {
    match address.strip_suffix(":0") {
        Some(host) => format!("{host}:{port}"),
        None => address.to_owned(),
    }
}

/// Ends the calls at work when the grace is over.
struct Grace {
    shared: Arc<Shared>,
    /// When that was done.
    cancelled: Mutex<Option<Instant>>,
}

impl Source for Grace {
    fn ready(self: Arc<Self>, _: bool) {}

    fn nudge(self: Arc<Self>) {}

    fn tick(self: Arc<Self>, now: Instant) {
        if self.shared.stage() != Stage::Draining || !self.shared.grace_is_over(now) {
            return;
        }
        let cut = {
            let mut cancelled = self
                .cancelled
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *cancelled.get_or_insert(now) + FAREWELL
        };
        if now < cut {
            self.shared.reactor.set_alarm(cut);
        }
        let status = Status::new(Code::Unavailable, CANCELLED_BY_STOP);
        for call in self.shared.calls() {
            call.fail(&status);
        }
        for link in self.shared.connections() {
            if now < cut {
                link.pump();
            } else {
                link.kill();
            }
        }
    }
}
