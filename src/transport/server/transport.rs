//! A connection's bytes, encrypted or not.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::super::socket::Socket;

/// What HTTP/2 runs over.
pub(super) enum Transport {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// Runs the same method of whichever it is.
macro_rules! with_either {
    ($transport:expr, $inner:ident => $do:expr) => {
        match $transport.get_mut() {
            Transport::Plain($inner) => {
                let $inner = Pin::new($inner);
                $do
            }
            Transport::Tls($inner) => {
                let $inner = Pin::new(&mut **$inner);
                $do
            }
        }
    };
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with_either!(self, inner => inner.poll_read(context, buffer))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        with_either!(self, inner => inner.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        with_either!(self, inner => inner.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_either!(self, inner => inner.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_either!(self, inner => inner.poll_shutdown(context))
    }
}
