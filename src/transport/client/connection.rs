//! A connection on which calls are made.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong};

use super::super::code::LOST_CONNECTION;
use super::super::link::Link;
use super::super::status::Status;
use super::channel::Shared;
use super::dial::Http2;
use super::options::ChannelOptions;

/// What calls need of a connection.
pub struct Connection {
    pub link: Arc<Link>,
    requests: SendRequest<Bytes>,
    /// Why it ended.
    lost: OnceLock<Status>,
    calls: AtomicUsize,
}

impl Connection {
    pub fn new(link: Arc<Link>, requests: SendRequest<Bytes>) -> Arc<Self> {
        Arc::new(Self {
            link,
            requests,
            lost: OnceLock::new(),
            calls: AtomicUsize::new(0),
        })
    }

    /// What opens a stream. A clone may always queue one, however many the peer takes at once.
    pub fn requests(&self) -> SendRequest<Bytes> {
        self.requests.clone()
    }

    /// A call begins on it; counted for the keepalive.
    pub fn enter(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A call on it is over.
    pub fn leave(&self) {
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends it and its calls, with `status`.
    pub fn close(&self, status: &Status) {
        drop(self.lost.set(status.clone()));
        self.link.kill();
    }

    /// What a call ends with whose stream ended with the connection.
    pub fn lost(&self, error: &h2::Error) -> Status {
        match self.lost.get() {
            Some(status) if error.is_io() => status.clone(),
            _ => lost(error),
        }
    }
}

/// What an error of a connection or stream means.
pub fn lost(error: &h2::Error) -> Status {
    match error.get_io().map(io::Error::kind) {
        // The number that tells so is lost on its way.
        Some(io::ErrorKind::ConnectionReset) => {
            Status::new(LOST_CONNECTION, "recvmsg:Connection reset by peer")
        }
        Some(io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof) => closed_by_peer(),
        _ => Status::from_h2(error),
    }
}

/// The peer has ended the connection without a word.
pub fn closed_by_peer() -> Status {
    Status::new(LOST_CONNECTION, "Socket closed")
}

/// Advances a connection that stands.
pub struct Running {
    http2: Http2,
    connection: Weak<Connection>,
    owner: Weak<Shared>,
    keepalive: Option<Keepalive>,
}

impl Running {
    pub fn new(mut http2: Http2, connection: &Arc<Connection>, owner: &Arc<Shared>) -> Self {
        let pings = owner.options.keepalive.and_then(|_| http2.ping_pong());
        let keepalive = pings.map(|pings| Keepalive::new(pings, &owner.options));
        let running = Self {
            http2,
            connection: Arc::downgrade(connection),
            owner: Arc::downgrade(owner),
            keepalive,
        };
        running.set_alarm(&connection.link);
        running
    }

    /// Does what can be done; `Ready` when the connection is over, and its owner has been told.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let status = match Pin::new(&mut self.http2).poll(context) {
            Poll::Ready(Ok(())) => closed_by_peer(),
            Poll::Ready(Err(error)) => lost(&error),
            Poll::Pending => match self.keepalive.as_mut().map(|k| k.poll(context)) {
                Some(Pinged::Lost) => Status::new(LOST_CONNECTION, "keepalive watchdog timeout"),
                _ => return Poll::Pending,
            },
        };
        if let Some(connection) = self.connection.upgrade() {
            // The first reason is the true one.
            drop(connection.lost.set(status));
            if let Some(owner) = self.owner.upgrade() {
                owner.lost(&connection);
            }
        }
        Poll::Ready(())
    }

    /// Whether there is something to do at this time.
    pub fn tick(&mut self, now: Instant) -> bool {
        let (Some(keepalive), Some(connection)) = (&mut self.keepalive, self.connection.upgrade())
        else {
            return false;
        };
        let due = keepalive.tick(now, connection.calls.load(Ordering::Relaxed) > 0);
        self.set_alarm(&connection.link);
        due
    }

    fn set_alarm(&self, link: &Arc<Link>) {
        if let Some(keepalive) = &self.keepalive {
            link.reactor().set_alarm(keepalive.due);
        }
    }
}

/// Asks the peer now and then whether it is still there.
struct Keepalive {
    pings: PingPong,
    interval: Duration,
    timeout: Duration,
    without_calls: bool,
    due: Instant,
    state: Pinging,
}

#[derive(PartialEq, Eq)]
enum Pinging {
    Resting,
    Due,
    Sent,
    Overdue,
}

enum Pinged {
    Fine,
    Lost,
}

impl Keepalive {
    fn new(pings: PingPong, options: &ChannelOptions) -> Self {
        let interval = options.keepalive.unwrap_or(Duration::MAX);
        Self {
            pings,
            interval,
            timeout: options.keepalive_timeout,
            without_calls: options.keepalive_without_calls,
            due: after(Instant::now(), interval),
            state: Pinging::Resting,
        }
    }

    fn tick(&mut self, now: Instant, calls: bool) -> bool {
        if now < self.due {
            return false;
        }
        let quiet = self.state == Pinging::Resting && !calls && !self.without_calls;
        if quiet {
            self.due = after(now, self.interval);
            return false;
        }
        (self.state, self.due) = match self.state {
            Pinging::Resting => (Pinging::Due, after(now, self.timeout)),
            _ => (Pinging::Overdue, after(now, self.interval)),
        };
        true
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Pinged {
        if self.state == Pinging::Overdue {
            return Pinged::Lost;
        }
        if self.state == Pinging::Due && self.pings.send_ping(Ping::opaque()).is_ok() {
            self.state = Pinging::Sent;
        }
        if self.state == Pinging::Sent && self.pings.poll_pong(context).is_ready() {
            self.state = Pinging::Resting;
            self.due = after(Instant::now(), self.interval);
        }
        Pinged::Fine
    }
}

/// So long after `now`, or as long as can be told.
fn after(now: Instant, time: Duration) -> Instant {
    const AGES: Duration = Duration::from_secs(1 << 30);
    now + time.min(AGES)
}
