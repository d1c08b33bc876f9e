//! What a server says first.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The head of an HTTP/2 frame: its length, its type, flags, and stream (RFC 9113, section 4.1).
const HEAD: usize = 9;

const TYPE_AT: usize = 3;
const SETTINGS: u8 = 4;

/// How a server of the wrong kind begins.
const HTTP1: &[u8] = b"HTTP/1";

/// A connection whose first frame must be SETTINGS (RFC 9113, section 3.4).
///
/// Whatever else a peer says would be taken for the length of a frame, and waited for.
pub struct Greeted<S> {
    inner: S,
    head: [u8; HEAD],
    /// How much of the head has come.
    count: usize,
}

impl<S> Greeted<S> {
    /// A connection of which nothing has been read.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            head: [0; HEAD],
            count: 0,
        }
    }

    fn check(&mut self, come: &[u8]) -> io::Result<()> {
        let taken = come.len().min(HEAD - self.count);
        self.head[self.count..self.count + taken].copy_from_slice(&come[..taken]);
        self.count += taken;
        let head = &self.head[..self.count];
        if head.starts_with(HTTP1) {
            return Err(wrong("Trying to connect an http1.x server"));
        }
        match head.get(TYPE_AT) {
            // What it is shows soon.
            _ if HTTP1.starts_with(head) => Ok(()),
            Some(&kind) if kind != SETTINGS => {
                Err(wrong("The first frame of the peer is not SETTINGS"))
            }
            _ => Ok(()),
        }
    }
}

fn wrong(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl<S: AsyncRead + Unpin> AsyncRead for Greeted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        if self.count < HEAD && matches!(polled, Poll::Ready(Ok(()))) {
            self.check(&buffer.filled()[before..])?;
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Greeted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&[u8]]) -> io::Result<()> {
        let mut greeted = Greeted::new(());
        parts.iter().try_for_each(|part| {
            if greeted.count < HEAD {
                greeted.check(part)?;
            }
            Ok(())
        })
    }

    #[test]
    fn settings_come_first_in_whatever_pieces() {
        assert!(read(&[b"\0\0\0\x04\0\0\0\0\0more"]).is_ok());
        assert!(read(&[b"\0", b"\0\x06", b"\x04\0\0\0\0", b"\0\0\x03"]).is_ok());
        assert!(read(&[]).is_ok());
    }

    #[test]
    fn all_else_is_told_at_once() {
        let error = read(&[b"HTTP", b"/1.1 400"]).expect_err("it is HTTP/1");
        assert!(error.to_string().contains("http1"));
        assert!(read(&[b"\0\0\0", b"\0"]).is_err());
        assert!(read(&[b"SSH-2.0-x"]).is_err());
    }
}
