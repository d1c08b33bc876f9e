//! A connection's bytes, encrypted or not.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::pki_types::ServerName;
use rustls::{CertificateError, Error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{Accept, Connect, TlsAcceptor, TlsConnector, TlsStream};

use super::identity::{self, Properties};
use super::{ALPN, ClientTls, ServerTls};

/// What HTTP/2 reads from and writes to.
#[derive(Debug)]
pub enum Io<S> {
    /// As the socket has it.
    Plain(S),
    /// Through TLS.
    Tls(Box<TlsStream<S>>),
}

impl<S> Io<S> {
    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &S {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    /// What is known of the peer, as `context.auth_context()` has it.
    #[must_use]
    pub fn peer_properties(&self) -> Properties {
        match self {
            Self::Plain(_) => identity::insecure(),
            Self::Tls(stream) => {
                let certificates = stream.get_ref().1.peer_certificates();
                identity::secure(certificates.and_then(<[_]>::first))
            }
        }
    }
}

/// The handshake of a new connection, where there is one. After an error the socket is gone.
pub enum Opening<S> {
    /// There is none: `None` after it was given.
    Plain(Option<S>),
    /// A client's.
    Client {
        /// What is going on.
        connect: Connect<S>,
        /// The name for an error.
        name: ServerName<'static>,
    },
    /// A server's.
    Server(Accept<S>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Opening<S> {
    /// Begins as a client, over `tls` with a server called `name`.
    #[must_use]
    pub fn client(socket: S, tls: Option<(&ClientTls, ServerName<'static>)>) -> Self {
        match tls {
            None => Self::Plain(Some(socket)),
            Some((tls, name)) => Self::Client {
                connect: TlsConnector::from(tls.config()).connect(name.clone(), socket),
                name,
            },
        }
    }

    /// Begins as a server.
    #[must_use]
    pub fn server(socket: S, tls: Option<&ServerTls>) -> Self {
        match tls {
            None => Self::Plain(Some(socket)),
            Some(tls) => Self::Server(TlsAcceptor::from(tls.config()).accept(socket)),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Opening<S> {
    type Output = io::Result<Io<S>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let stream: TlsStream<S> = match &mut *self {
            Self::Plain(socket) => {
                let again = || io::Error::other("the connection was opened before");
                return Poll::Ready(socket.take().map(Io::Plain).ok_or_else(again));
            }
            Self::Client { connect, name } => ready!(Pin::new(connect).poll(context))
                .map_err(|error| explained(error, Some(name)))?
                .into(),
            Self::Server(accept) => ready!(Pin::new(accept).poll(context))
                .map_err(|error| explained(error, None))?
                .into(),
        };
        // As grpcio: a peer that does not say that it speaks HTTP/2 may take it for something else.
        if stream.get_ref().1.alpn_protocol() != Some(ALPN) {
            let text = "Cannot check peer: missing selected ALPN property.";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        Poll::Ready(Ok(Io::Tls(Box::new(stream))))
    }
}

/// What grpcio says, as far as it says more than that the handshake has failed.
fn explained(error: io::Error, name: Option<&ServerName<'static>>) -> io::Error {
    let text = match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>())
    {
        Some(Error::InvalidCertificate(CertificateError::NotValidForName)) => {
            let name = name.map(ServerName::to_str).unwrap_or_default();
            format!("Peer name {name} is not in peer certificate")
        }
        Some(inner) => format!("Ssl handshake failed: {inner}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "Socket closed".to_owned(),
        None => return error,
    };
    io::Error::new(error.kind(), text)
}

/// Runs the same method of whichever stream it is.
macro_rules! with_stream {
    ($io:expr, $inner:ident => $do:expr) => {
        match $io.get_mut() {
            Io::Plain(socket) => {
                let $inner = Pin::new(socket);
                $do
            }
            Io::Tls(stream) => {
                let $inner = Pin::new(stream.as_mut());
                $do
            }
        }
    };
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Io<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with_stream!(self, s => s.poll_read(context, buffer))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Io<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self, s => s.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self, s => s.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self, s => s.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self, s => s.poll_shutdown(context))
    }
}
