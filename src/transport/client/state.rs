//! Where a channel stands.

use std::sync::Arc;
use std::time::Instant;

use super::super::link::Link;
use super::super::status::Status;
use super::super::target::Address;
use super::backoff::Backoff;
use super::call::Call;
use super::connection::Connection;
use super::options::ChannelOptions;

/// `grpc.ChannelConnectivity`, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Connectivity {
    /// There is no connection, and nobody needs one.
    Idle = 0,
    /// One is being made.
    Connecting = 1,
    /// There is one.
    Ready = 2,
    /// None could be made; it will be tried again.
    TransientFailure = 3,
    /// The channel is closed.
    Shutdown = 4,
}

/// The same with what belongs to it.
pub enum Phase {
    Idle,
    Connecting,
    Ready(Arc<Connection>),
    /// Calls fail with the status until a connection is made. `retry_at`: when that is tried, unless it is just now.
    Failing {
        status: Status,
        retry_at: Option<Instant>,
    },
    Shut(Status),
}

/// What a channel knows under its lock.
pub struct State {
    pub phase: Phase,
    /// Calls that need a connection.
    pub waiting: Vec<Arc<Call>>,
    /// The addresses that are yet to be tried, the next one last.
    pub addresses: Vec<Address>,
    /// The number of the attempt under way: what others tell is too late.
    pub attempt: u64,
    /// Every connection that may stand: calls go on on one that takes no more of them.
    pub connections: Vec<Arc<Connection>>,
    /// The connection that is being made.
    pub dialing: Option<Arc<Link>>,
    pub backoff: Backoff,
    /// When this round of attempts began.
    pub began: Instant,
    /// Why the last address failed.
    pub last_error: String,
}

/// What a call may do.
pub enum Placed {
    /// Go on to this connection.
    On(Arc<Connection>),
    /// Wait for one. `connect`: the caller has to begin making it.
    Waiting { connect: bool },
    /// Nothing.
    Refused(Status),
}

impl State {
    pub fn new(options: &ChannelOptions) -> Self {
        Self {
            phase: Phase::Idle,
            waiting: Vec::new(),
            addresses: Vec::new(),
            attempt: 0,
            connections: Vec::new(),
            dialing: None,
            backoff: Backoff::new(options),
            began: Instant::now(),
            last_error: String::new(),
        }
    }

    pub fn connectivity(&self) -> Connectivity {
        match self.phase {
            Phase::Idle => Connectivity::Idle,
            Phase::Connecting => Connectivity::Connecting,
            Phase::Ready(_) => Connectivity::Ready,
            Phase::Failing { .. } => Connectivity::TransientFailure,
            Phase::Shut(_) => Connectivity::Shutdown,
        }
    }

    /// Finds a connection for `call`, or has it wait for one.
    pub fn place(&mut self, call: &Arc<Call>) -> Placed {
        match &self.phase {
            Phase::Ready(connection) if !connection.link.is_over() => {
                return Placed::On(Arc::clone(connection));
            }
            Phase::Failing { status, .. } if !call.waits_for_ready() => {
                return Placed::Refused(status.clone());
            }
            Phase::Shut(status) => return Placed::Refused(status.clone()),
            Phase::Ready(_) => self.phase = Phase::Idle,
            Phase::Idle | Phase::Connecting | Phase::Failing { .. } => {}
        }
        self.waiting.push(Arc::clone(call));
        Placed::Waiting {
            connect: self.begin(),
        }
    }

    /// Begins a round of attempts where the channel is idle. False where it is not.
    pub fn begin(&mut self) -> bool {
        let idle = matches!(self.phase, Phase::Idle);
        if idle {
            self.phase = Phase::Connecting;
            self.new_round();
        }
        idle
    }

    /// Begins the next round of attempts where it is time.
    pub fn begin_again(&mut self, now: Instant) -> bool {
        let Phase::Failing { retry_at, .. } = &mut self.phase else {
            return false;
        };
        if retry_at.is_none_or(|at| now < at) {
            return false;
        }
        *retry_at = None;
        self.new_round();
        true
    }

    fn new_round(&mut self) {
        self.attempt += 1;
        self.began = Instant::now();
        self.addresses.clear();
    }

    /// Every address has failed. Gives the calls that end with that, and when to try again.
    pub fn fail(&mut self, status: &Status) -> (Vec<Arc<Call>>, Instant) {
        self.dialing = None;
        let retry_at = (self.began + self.backoff.next()).max(Instant::now());
        self.phase = Phase::Failing {
            status: status.clone(),
            retry_at: Some(retry_at),
        };
        let failed = self.waiting.extract_if(.., |call| !call.waits_for_ready());
        (failed.collect(), retry_at)
    }
}
