//! From an address to a connection: TCP, TLS, and HTTP/2's first words.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use h2::client::{self, SendRequest};
use rustls::pki_types::ServerName;

use super::super::link::{Driver, Link};
use super::super::socket::{Readiness, Socket, Stream};
use super::super::status::io_text;
use super::super::target::Address;
use super::super::tls::{ClientTls, Io, Opening};
use super::super::windows::{CONNECTION_WINDOW, FRAME, STREAM_WINDOW};
use super::channel::Shared;
use super::connection::{Connection, Running, closed_by_peer, lost};
use super::greeting::Greeted;

/// What is queued for the peer before the sender waits.
const SEND_BUFFER: usize = 4 << 20;

/// Headers are judged by the channel's own limit, which gives the call a status. What is larger by so much is dropped by
/// the HTTP/2 library, and the status with it.
const HEADER_ROOM: u32 = 1 << 20;

/// How many calls that were cancelled are remembered, so that what the server has sent before it knew is passed over.
/// What it sends for others is refused, however often: to cancel many calls is normal use.
const REMEMBERED: usize = 1024;

/// A number of streams that no peer sets: while it stands the peer's settings have not come.
const NO_SETTINGS_YET: usize = usize::MAX - 1;

/// How to speak TLS to the peer.
#[derive(Clone)]
pub struct Tls {
    /// What is trusted, and who we are.
    pub tls: ClientTls,
    /// Whom the peer has to be.
    pub name: ServerName<'static>,
}

/// The connection as HTTP/2 has it.
pub type Http2 = client::Connection<Greeted<Io<Socket>>, Bytes>;

type Handshake = Pin<Box<dyn Future<Output = Result<Handshaken, h2::Error>> + Send>>;
type Handshaken = (SendRequest<Bytes>, Http2);

/// An attempt to connect to one address, and the connection that comes of it.
pub struct Dial {
    owner: Weak<Shared>,
    attempt: u64,
    address: Address,
    give_up: Instant,
    link: Arc<OnceLock<Weak<Link>>>,
    stage: Stage,
}

enum Stage {
    Tcp(Socket),
    Tls(Box<Opening<Socket>>),
    Http2(Handshake),
    Settings(Handshaken),
    Running(Running),
    Over,
}

impl Dial {
    /// Begins an attempt, which tells `owner` what comes of it under the number `attempt`.
    ///
    /// # Errors
    /// The text of why it cannot begin.
    pub fn start(
        owner: &Arc<Shared>,
        attempt: u64,
        address: Address,
        give_up: Instant,
    ) -> Result<Arc<Link>, String> {
        let reactor = &owner.reactor;
        let (token, readiness) = (reactor.token(), Arc::new(Readiness::default()));
        let socket = connect(&address)
            .and_then(|stream| {
                Socket::new(stream, Arc::clone(reactor), token, Arc::clone(&readiness))
            })
            .map_err(|error| describe(&address, &error))?;
        let cell = Arc::new(OnceLock::new());
        let dial = Self {
            owner: Arc::downgrade(owner),
            attempt,
            address,
            give_up,
            link: Arc::clone(&cell),
            stage: Stage::Tcp(socket),
        };
        let link = Link::start(reactor, token, readiness, Box::new(dial));
        // It was empty.
        drop(cell.set(Arc::downgrade(&link)));
        reactor.set_alarm(give_up);
        Ok(link)
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Poll<Result<(), String>> {
        loop {
            let next = match &mut self.stage {
                Stage::Tcp(socket) => match socket.poll_connected() {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => {
                        return Poll::Ready(Err(describe(&self.address, &error)));
                    }
                    Poll::Ready(Ok(())) => self.connected(),
                },
                Stage::Tls(opening) => match Pin::new(opening).poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(io)) => Ok(self.hello(io)),
                    Poll::Ready(Err(error)) => Err(format!("UNKNOWN: {}: {error}", self.address)),
                },
                Stage::Http2(handshake) => match handshake.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(done) => done
                        .map(Stage::Settings)
                        .map_err(|error| no_http2(&self.address, Err(error))),
                },
                Stage::Settings((requests, http2)) => {
                    if let Poll::Ready(over) = Pin::new(http2).poll(context) {
                        return Poll::Ready(Err(no_http2(&self.address, over)));
                    }
                    let streams = requests.current_max_send_streams();
                    if streams == NO_SETTINGS_YET || self.link.get().is_none() {
                        return Poll::Pending;
                    }
                    Ok(self.run())
                }
                Stage::Running(running) => return running.poll(context).map(Ok),
                Stage::Over => return Poll::Ready(Ok(())),
            };
            match next {
                Ok(stage) => self.stage = stage,
                Err(text) => return Poll::Ready(Err(text)),
            }
        }
    }

    fn connected(&mut self) -> Result<Stage, String> {
        let Stage::Tcp(socket) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Ok(Stage::Over);
        };
        let Some(owner) = self.owner.upgrade() else {
            return Ok(Stage::Over);
        };
        if let Stream::Tcp(stream) = socket.stream() {
            stream
                .set_nodelay(true)
                .map_err(|error| describe(&self.address, &error))?;
        }
        let tls = owner.tls.as_ref();
        let tls = tls.map(|tls| (&tls.tls, tls.name.clone()));
        Ok(Stage::Tls(Box::new(Opening::client(socket, tls))))
    }

    fn hello(&self, io: Io<Socket>) -> Stage {
        let limit = self.owner.upgrade().map_or(0, |o| o.options.max_metadata);
        let mut builder = client::Builder::new();
        builder
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(FRAME)
            .max_send_buffer_size(SEND_BUFFER)
            .max_header_list_size(limit.saturating_add(HEADER_ROOM))
            .initial_max_send_streams(NO_SETTINGS_YET)
            .max_concurrent_reset_streams(REMEMBERED)
            .max_local_error_reset_streams(None)
            .enable_push(false);
        let io = Greeted::new(io);
        Stage::Http2(Box::pin(async move { builder.handshake(io).await }))
    }

    /// The peer speaks HTTP/2: calls may begin.
    fn run(&mut self) -> Stage {
        let Stage::Settings((requests, http2)) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return Stage::Over;
        };
        let link = self.link.get().and_then(Weak::upgrade);
        let (Some(owner), Some(link)) = (self.owner.upgrade(), link) else {
            return Stage::Over;
        };
        let connection = Connection::new(link, requests);
        let running = Running::new(http2, &connection, &owner);
        owner.connected(self.attempt, &connection);
        Stage::Running(running)
    }

    fn is_connecting(&self) -> bool {
        !matches!(self.stage, Stage::Running(_) | Stage::Over)
    }

    fn fail(&mut self, text: String) {
        self.stage = Stage::Over;
        if let Some(owner) = self.owner.upgrade() {
            owner.failed(self.attempt, text);
        }
    }
}

impl Driver for Dial {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_connecting() && Instant::now() >= self.give_up {
            let text = format!(
                "UNKNOWN: {}: connection attempt timed out before receiving SETTINGS frame",
                self.address
            );
            self.fail(text);
            return Poll::Ready(());
        }
        match self.advance(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Ready(Err(text)) => {
                self.fail(text);
                Poll::Ready(())
            }
        }
    }

    fn tick(&mut self, now: Instant) -> bool {
        match &mut self.stage {
            Stage::Running(running) => running.tick(now),
            Stage::Over => false,
            _ => {
                if now < self.give_up
                    && let Some(owner) = self.owner.upgrade()
                {
                    owner.reactor.set_alarm(self.give_up);
                }
                now >= self.give_up
            }
        }
    }
}

/// Why a peer is none of gRPC's.
fn no_http2(address: &Address, over: Result<(), h2::Error>) -> String {
    let status = over.map_or_else(|error| lost(&error), |()| closed_by_peer());
    format!("{}: {address}: {}", status.code, status.message)
}

fn connect(address: &Address) -> io::Result<Stream> {
    match address {
        Address::Inet(address) => mio::net::TcpStream::connect(*address).map(Stream::Tcp),
        #[cfg(unix)]
        Address::Unix(path) => mio::net::UnixStream::connect(path).map(Stream::Unix),
        #[cfg(target_os = "linux")]
        Address::Abstract(name) => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            mio::net::UnixStream::connect_addr(&address).map(Stream::Unix)
        }
        #[cfg(not(target_os = "linux"))]
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Why an address cannot be connected to, in grpcio's words.
fn describe(address: &Address, error: &io::Error) -> String {
    let what = match address {
        Address::Inet(_) => "Failed to connect to remote host: connect",
        Address::Unix(_) | Address::Abstract(_) => "connect",
    };
    format!("UNKNOWN: {address}: {what}: {}", io_text(error))
}
