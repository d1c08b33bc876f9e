//! Sockets as the HTTP/2 and TLS libraries want them: asynchronous, though nobody but the reactor waits.

use std::io::{self, IoSlice, Write};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};

use mio::event::Source as _;
use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Token};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::reactor::Reactor;
use super::turn;

/// What the system has said of a socket. Its connection tells, the socket reads.
#[derive(Debug, Default)]
pub struct Readiness {
    /// How often the system has said that there may be something to read.
    edges: AtomicU32,
    /// The peer will send no more: to be read until the end, whatever else is said.
    closing: AtomicBool,
}

impl Readiness {
    /// Takes note of an event.
    pub fn ready(&self, closing: bool) {
        if closing {
            self.closing.store(true, Ordering::SeqCst);
        }
        self.edges.fetch_add(1, Ordering::SeqCst);
    }
}

/// A stream socket of a kind that gRPC uses.
#[derive(Debug)]
pub enum Stream {
    /// TCP, over IPv4 or IPv6.
    Tcp(TcpStream),
    /// A Unix socket.
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Runs the same method of whichever stream it is.
macro_rules! with_stream {
    ($stream:expr, $inner:ident => $do:expr) => {
        match $stream {
            Stream::Tcp($inner) => $do,
            #[cfg(unix)]
            Stream::Unix($inner) => $do,
        }
    };
}

/// A connected socket, or one that is connecting, registered with a reactor.
pub struct Socket {
    stream: Stream,
    reactor: Arc<Reactor>,
    readiness: Arc<Readiness>,
    /// The last edge after which everything was read.
    exhausted: u32,
    /// Whether the peer is on this machine, at the other end of a loopback interface.
    near: bool,
}

impl Socket {
    /// Registers `stream`; what the reactor says of `token` must reach `readiness`.
    ///
    /// # Errors
    /// Where the system does not take it.
    pub fn new(
        mut stream: Stream,
        reactor: Arc<Reactor>,
        token: Token,
        readiness: Arc<Readiness>,
    ) -> io::Result<Self> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = reactor.registry();
        with_stream!(&mut stream, s => s.register(registry, token, interest))?;
        let exhausted = readiness.edges.load(Ordering::SeqCst).wrapping_sub(1);
        Ok(Self {
            stream,
            reactor,
            readiness,
            exhausted,
            near: false,
        })
    }

    /// The connection stands: its addresses are known.
    pub fn connected(&mut self) {
        if let Stream::Tcp(stream) = &self.stream {
            self.near = stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        }
    }

    /// Takes notice of where the peer is that has sent `count` bytes.
    fn notice(&self, count: usize) {
        if self.near {
            let apart = self.reactor.apart();
            with_stream!(&self.stream, s => apart.has_read(&SockRef::from(s), count));
        }
    }

    /// The stream, for its addresses.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether the connection stands. To be asked after each event until it does.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn poll_connected(&mut self) -> Poll<io::Result<()>> {
        match self.stream.connected() {
            Ok(true) => {
                self.connected();
                Poll::Ready(Ok(()))
            }
            Ok(false) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Stream {
    fn connected(&self) -> io::Result<bool> {
        if let Some(error) = with_stream!(self, s => s.take_error())? {
            return Err(error);
        }
        let peer = match self {
            Self::Tcp(stream) => stream.peer_addr().map(drop),
            #[cfg(unix)]
            Self::Unix(stream) => stream.peer_addr().map(drop),
        };
        match peer {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends the connection for all who have the socket, a forked child too.
    fn shut_down(&self) {
        // Whether the peer is still there does not matter.
        drop(with_stream!(self, s => s.shutdown(Shutdown::Both)));
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Before the read: what comes after it is another edge.
        let edge = self.readiness.edges.load(Ordering::SeqCst);
        let closing = self.readiness.closing.load(Ordering::SeqCst);
        if edge == self.exhausted && !closing {
            return Poll::Pending;
        }
        if turn::is_over() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let asked = buffer.remaining();
        // SAFETY: what is given is only written to.
        let room = unsafe { buffer.unfilled_mut() };
        match retried(|| with_stream!(&self.stream, s => s.try_io(|| SockRef::from(s).recv(room))))
        {
            Ok(count) => {
                // SAFETY: the system has written so many bytes. To clear them first would cost as much as to read them.
                unsafe { buffer.assume_init(count) };
                buffer.advance(count);
                if count < asked {
                    self.exhausted = edge;
                }
                self.notice(count);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.exhausted = edge;
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        blocked(retried(
            || with_stream!(&mut self.stream, s => s.write(bytes)),
        ))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        blocked(retried(
            || with_stream!(&mut self.stream, s => s.write_vectored(parts)),
        ))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = with_stream!(&self.stream, s => s.shutdown(Shutdown::Write));
        Poll::Ready(match ended {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            other => other,
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.stream.shut_down();
        let registry = self.reactor.registry();
        // A socket that a forked child has too would stay registered after it is closed here.
        drop(with_stream!(&mut self.stream, s => s.deregister(registry)));
    }
}

fn blocked(result: io::Result<usize>) -> Poll<io::Result<usize>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        other => Poll::Ready(other),
    }
}

/// The same once more where a signal came in between.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
