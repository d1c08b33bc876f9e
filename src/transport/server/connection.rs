//! One connection of a server, from the first byte to the last.

use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use h2::server::{Builder, Connection as H2, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;

use super::super::compression::Encoding;
use super::super::counters::Record;
use super::super::link::{Driver, Link};
use super::super::socket::Socket;
use super::super::tls::{Io, Opening, Properties, ServerTls};
use super::super::windows::{CONNECTION_WINDOW, FRAME, STREAM_WINDOW};
use super::bell::Bell;
use super::call::ServerCall;
use super::cork::Cork;
use super::filter::Filter;
use super::options::Options;
use super::pings::Pings;
use super::request::{Head, Refusal};
use super::roster::Roster;
use super::sending::{Sending, refuse};
use super::shared::{Shared, Stage};

/// Cancelled calls that the library remembers, so that late frames of them are no errors. Many cancels on one
/// connection are normal use.
const REMEMBERED_RESETS: usize = 1024;

/// Calls that the peer has cancelled before they were looked at: they are taken at once, so only a flood has so many.
const UNSEEN_RESETS: usize = 1024;

/// What the library takes of headers beyond the limit, so that the call can be refused as gRPC does. Where there is more
/// it ends the connection.
const METADATA_ROOM: u32 = 256 << 10;

/// Errors of the peer's after which the connection is given up.
const PEER_ERRORS: usize = 1024;

/// The other end of a connection.
pub struct Peer {
    /// As `context.peer()` has it.
    pub address: String,
    /// What is known of it.
    pub properties: Properties,
    pub(super) options: Arc<Options>,
}

/// The state machine of a connection.
pub(super) struct Connection {
    shared: Arc<Shared>,
    id: u64,
    link: Arc<OnceLock<Weak<Link>>>,
    roster: Arc<Roster>,
    address: String,
    phase: Phase,
    /// When the first call must be possible.
    ready_by: Option<Instant>,
    told_to_stop: bool,
    closing: bool,
}

/// What is needed of a connection while its link owns it.
pub(super) struct Handle {
    /// To be set before the connection is driven.
    pub link: Arc<OnceLock<Weak<Link>>>,
    pub roster: Arc<Roster>,
}

enum Phase {
    Opening(Box<Opening<Socket>>),
    Preface {
        handshake: Box<Handshake<Cork<Io<Socket>>, Bytes>>,
        cork: Cork<Io<Socket>>,
        properties: Properties,
    },
    Open(Box<Open>),
    Over,
}

struct Open {
    http: H2<Cork<Io<Socket>>, Bytes>,
    cork: Cork<Io<Socket>>,
    peer: Arc<Peer>,
    pings: Option<Pings>,
}

impl Connection {
    /// A connection that has just been accepted.
    pub fn new(
        shared: &Arc<Shared>,
        id: u64,
        socket: Socket,
        tls: Option<&ServerTls>,
        address: String,
    ) -> (Self, Handle) {
        let link = Arc::new(OnceLock::new());
        let ready_by = Instant::now() + shared.options.handshake;
        shared.reactor.set_alarm(ready_by);
        let connection = Self {
            shared: Arc::clone(shared),
            id,
            link: Arc::clone(&link),
            roster: Arc::default(),
            address,
            phase: Phase::Opening(Box::new(Opening::server(socket, tls))),
            ready_by: Some(ready_by),
            told_to_stop: false,
            closing: false,
        };
        let roster = Arc::clone(&connection.roster);
        (connection, Handle { link, roster })
    }

    /// Begins with HTTP/2.
    fn greet(&self, stream: Io<Socket>) -> Phase {
        let properties = stream.peer_properties();
        let cork = Cork::new(stream, Filter::new());
        let options = &self.shared.options;
        let handshake = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME)
            .max_header_list_size(options.metadata_limit.saturating_add(METADATA_ROOM))
            .max_concurrent_streams(options.streams)
            .max_concurrent_reset_streams(REMEMBERED_RESETS)
            .max_pending_accept_reset_streams(UNSEEN_RESETS)
            .max_local_error_reset_streams(Some(PEER_ERRORS))
            .handshake(cork.clone());
        Phase::Preface {
            handshake: Box::new(handshake),
            cork,
            properties,
        }
    }

    /// One step towards the first call. `Ready(true)`: try the next.
    fn advance(&mut self, phase: Phase, context: &mut Context<'_>) -> Poll<bool> {
        match phase {
            Phase::Opening(mut opening) => match Pin::new(&mut *opening).poll(context) {
                Poll::Pending => self.phase = Phase::Opening(opening),
                Poll::Ready(Err(_)) => return Poll::Ready(false),
                Poll::Ready(Ok(stream)) => {
                    self.phase = self.greet(stream);
                    return Poll::Ready(true);
                }
            },
            Phase::Preface {
                mut handshake,
                cork,
                properties,
            } => match Pin::new(&mut *handshake).poll(context) {
                Poll::Pending => {
                    self.phase = Phase::Preface {
                        handshake,
                        cork,
                        properties,
                    };
                }
                Poll::Ready(Err(_)) => return Poll::Ready(false),
                Poll::Ready(Ok(http)) => {
                    self.open(http, cork, properties);
                    return Poll::Ready(true);
                }
            },
            Phase::Open(_) | Phase::Over => return Poll::Ready(false),
        }
        Poll::Pending
    }

    fn open(
        &mut self,
        mut http: H2<Cork<Io<Socket>>, Bytes>,
        cork: Cork<Io<Socket>>,
        properties: Properties,
    ) {
        self.ready_by = None;
        let options = &self.shared.options;
        let pings = http.ping_pong().map(|pings| Pings::new(pings, options));
        if let Some(pings) = &pings {
            self.shared.reactor.set_alarm(pings.next());
        }
        let peer = Arc::new(Peer {
            address: std::mem::take(&mut self.address),
            properties,
            options: Arc::clone(options),
        });
        self.phase = Phase::Open(Box::new(Open {
            http,
            cork,
            peer,
            pings,
        }));
    }

    fn serve(&mut self, mut open: Box<Open>, context: &mut Context<'_>) -> Poll<()> {
        let stops = self.shared.stage() != Stage::Serving;
        if stops && !self.told_to_stop {
            self.told_to_stop = true;
            open.http.graceful_shutdown();
        }
        open.cork.close();
        let over = self.drive(&mut open, stops, context);
        let written = open.cork.open(context);
        if over || matches!(written, Poll::Ready(Err(_))) {
            return Poll::Ready(());
        }
        self.phase = Phase::Open(open);
        Poll::Pending
    }

    /// Reads and writes what can be. True where the connection is over.
    fn drive(&mut self, open: &mut Open, stops: bool, context: &mut Context<'_>) -> bool {
        loop {
            match open.http.poll_accept(context) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    self.admit(request, respond, &open.peer, stops);
                }
                Poll::Ready(Some(Err(_)) | None) => return true,
                Poll::Pending if stops && self.is_done(open) => {
                    self.closing = true;
                    open.http.abrupt_shutdown(Reason::NO_ERROR);
                }
                Poll::Pending => break,
            }
        }
        if let Some(pings) = &mut open.pings
            && pings.poll(context)
        {
            self.shared.reactor.set_alarm(pings.next());
        }
        false
    }

    /// Whether nothing is left to be done before the connection is closed.
    fn is_done(&self, open: &Open) -> bool {
        !self.closing && self.roster.is_empty() && !open.http.has_streams()
    }

    fn admit(
        &self,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        peer: &Arc<Peer>,
        stops: bool,
    ) {
        let Some(link) = self.link.get().and_then(Weak::upgrade) else {
            return;
        };
        if stops {
            // The caller may try it elsewhere: nothing has been done.
            respond.send_reset(Reason::REFUSED_STREAM);
            return;
        }
        let limit = self.shared.options.metadata_limit;
        let now = Instant::now();
        let (head, body) = match Head::read(request, now, limit) {
            Ok(call) => call,
            Err(Refusal::Http(code)) => return refuse(respond, code),
            Err(Refusal::Grpc(status)) => {
                let encoding = Encoding::Identity;
                return Sending::New { respond, encoding }.end(&status);
            }
        };
        let deadline = head.deadline;
        let default = self.shared.options.compression;
        let accepted = head.accepts(default);
        let encoding = if accepted {
            default
        } else {
            Encoding::Identity
        };
        let streams = (Sending::New { respond, encoding }, body);
        let (peer, roster) = (Arc::clone(peer), Arc::clone(&self.roster));
        let bell = Bell::new(Arc::clone(&self.shared.queue));
        let record = Record::come(Arc::clone(&self.shared.meter), now);
        let call = ServerCall::new(head, peer, link, roster, bell, streams, record);
        self.shared.queue.push(call);
        if let Some(deadline) = deadline {
            self.shared.reactor.set_alarm(deadline);
        }
    }

    /// Ends the calls whose deadline has passed.
    fn expire(&self, now: Instant) -> bool {
        let (due, next) = self.roster.due(now);
        if let Some(next) = next {
            self.shared.reactor.set_alarm(next);
        }
        for call in &due {
            call.expire();
        }
        !due.is_empty()
    }
}

impl Driver for Connection {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let phase = std::mem::replace(&mut self.phase, Phase::Over);
            if let Phase::Open(open) = phase {
                return self.serve(open, context);
            }
            if self.shared.stage() != Stage::Serving {
                return Poll::Ready(());
            }
            if !ready!(self.advance(phase, context)) {
                return Poll::Ready(());
            }
        }
    }

    fn tick(&mut self, now: Instant) -> bool {
        if let Some(ready_by) = self.ready_by {
            if now >= ready_by {
                self.phase = Phase::Over;
                return true;
            }
            self.shared.reactor.set_alarm(ready_by);
            return false;
        }
        let expired = self.expire(now);
        let Phase::Open(open) = &mut self.phase else {
            return expired;
        };
        let Some(pings) = &mut open.pings else {
            return expired;
        };
        let idle = self.roster.is_empty();
        if !pings.tick(now, idle) {
            // The peer has not answered.
            self.phase = Phase::Over;
            return true;
        }
        self.shared.reactor.set_alarm(pings.next());
        // A ping may have to be written.
        true
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.phase = Phase::Over;
        self.shared.forget(self.id);
    }
}
