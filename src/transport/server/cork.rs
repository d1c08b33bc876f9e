//! Small writes together: the headers, the message and the trailers of a reply leave in one.
//!
//! The HTTP/2 library writes a message of some hundred bytes before it looks at what follows it. The peer would wake for
//! a reply whose end is not there yet.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::filter::{FRAME_HEAD, Filter};

/// What is copied to be written together. Beyond this a write of its own costs less than the copy.
const MOST: usize = 64 << 10;

/// As many parts of a vectored write are passed on; the library makes two.
const PARTS: usize = 8;

/// A stream that keeps small writes while it is corked. Its clones are the same stream.
pub struct Cork<S> {
    inner: Arc<Mutex<Inner<S>>>,
}

struct Inner<S> {
    stream: S,
    filter: Filter,
    /// Of a frame's head, what has not been read.
    head: Vec<u8>,
    held: Vec<u8>,
    /// How much of `held` has been written.
    sent: usize,
    corked: bool,
}

impl<S> Clone for Cork<S> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Cork<S> {
    /// `stream`, uncorked; what is read of it goes through `filter`.
    pub fn new(stream: S, filter: Filter) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                stream,
                filter,
                head: Vec::new(),
                held: Vec::new(),
                sent: 0,
                corked: false,
            })),
        }
    }

    /// Keeps what is written from now on, as far as it is little.
    pub fn close(&self) {
        self.lock().corked = true;
    }

    /// Writes what was kept, and whatever is flushed from now on.
    pub fn open(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        inner.corked = false;
        if inner.held.is_empty() {
            return Poll::Ready(Ok(()));
        }
        inner.flush(context)
    }

    /// Nothing panics while this is held but what the stream itself does.
    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Inner<S> {
    fn flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let held = self.held.get(self.sent..).unwrap_or_default();
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, held))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(count);
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Takes note that `count` bytes were written; returns how many of them were not `held`.
    fn advance(&mut self, count: usize) -> usize {
        let left = self.held.len() - self.sent;
        if count < left {
            self.sent += count;
            return 0;
        }
        self.held.clear();
        self.sent = 0;
        count - left
    }

    fn read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.head.is_empty() {
            if self.filter.missing() > 0 {
                if ready!(self.read_head(context))? {
                    continue;
                }
                return Poll::Ready(Ok(()));
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            let read = buffer.filled_mut().get_mut(before..).unwrap_or_default();
            let count = read.len();
            let held = self.filter.pass(read);
            buffer.set_filled(before + count - held);
            // To have read nothing is to be at the end.
            if count == 0 || count > held {
                return Poll::Ready(Ok(()));
            }
        }
        let count = self.head.len().min(buffer.remaining());
        buffer.put_slice(&self.head[..count]);
        self.head.drain(..count);
        Poll::Ready(Ok(()))
    }

    /// Reads what is missing of a head that is held back. False at the end of the stream.
    fn read_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut space = [0; FRAME_HEAD];
        let mut rest = ReadBuf::new(&mut space[..self.filter.missing()]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut rest))?;
        if let Some(head) = self.filter.complete(rest.filled()) {
            self.head.extend_from_slice(&head);
        }
        Poll::Ready(Ok(!rest.filled().is_empty()))
    }

    fn write(
        &mut self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        if self.held.len() - self.sent + total <= MOST {
            self.keep(parts);
            return Poll::Ready(Ok(total));
        }
        loop {
            let mut all = [IoSlice::new(&[]); PARTS];
            all[0] = IoSlice::new(self.held.get(self.sent..).unwrap_or_default());
            for (place, part) in all[1..].iter_mut().zip(parts) {
                *place = *part;
            }
            let all = &all[usize::from(self.held.is_empty())..];
            let written = Pin::new(&mut self.stream).poll_write_vectored(context, all);
            let count = ready!(written)?;
            let of_parts = self.advance(count);
            if of_parts > 0 || count == 0 {
                return Poll::Ready(Ok(of_parts));
            }
        }
    }

    fn keep(&mut self, parts: &[IoSlice<'_>]) {
        if self.sent > 0 {
            self.held.drain(..self.sent);
            self.sent = 0;
        }
        for part in parts {
            self.held.extend_from_slice(part);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Cork<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.lock().read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Cork<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.lock().write(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.lock().write(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        if inner.corked {
            return Poll::Ready(Ok(()));
        }
        inner.flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        ready!(inner.flush(context))?;
        Pin::new(&mut inner.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Takes so many bytes at each write, and none where `room` is used up.
    struct Pipe {
        written: Vec<u8>,
        writes: usize,
        step: usize,
        room: usize,
    }

    impl AsyncRead for Pipe {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Pipe {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.step).min(self.room);
            if count == 0 {
                return Poll::Pending;
            }
            self.written.extend_from_slice(&bytes[..count]);
            self.room -= count;
            self.writes += 1;
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            parts: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
            self.poll_write(context, &all)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn pipe(step: usize, room: usize) -> Cork<Pipe> {
        let pipe = Pipe {
            written: Vec::new(),
            writes: 0,
            step,
            room,
        };
        Cork::new(pipe, Filter::new())
    }

    fn write(cork: &mut Cork<Pipe>, mut bytes: &[u8]) -> Poll<()> {
        let mut context = Context::from_waker(Waker::noop());
        while !bytes.is_empty() {
            let (head, tail) = bytes.split_at(bytes.len() / 2);
            let parts = [IoSlice::new(head), IoSlice::new(tail)];
            let count = ready!(Pin::new(&mut *cork).poll_write_vectored(&mut context, &parts))
                .expect("the pipe does not fail");
            bytes = &bytes[count..];
        }
        Poll::Ready(())
    }

    #[test]
    fn small_writes_leave_as_one() {
        let mut cork = pipe(usize::MAX, usize::MAX);
        let mut context = Context::from_waker(Waker::noop());
        cork.close();
        assert!(write(&mut cork, b"headers").is_ready());
        assert!(Pin::new(&mut cork).poll_flush(&mut context).is_ready());
        assert!(write(&mut cork, b"message").is_ready());
        assert_eq!(cork.lock().stream.writes, 0);
        assert!(cork.open(&mut context).is_ready());
        let inner = cork.lock();
        assert_eq!(inner.stream.writes, 1);
        assert_eq!(inner.stream.written, b"headersmessage");
    }

    #[test]
    fn every_byte_leaves_in_order_whatever_the_socket_takes() {
        let expected: Vec<u8> = (0..=250).cycle().take(MOST * 3).collect();
        for step in [999, MOST, usize::MAX] {
            let mut cork = pipe(step, usize::MAX);
            let mut context = Context::from_waker(Waker::noop());
            cork.close();
            let mut rest = &expected[..];
            for size in [1, 10, MOST, 5, MOST + 1, 7].iter().cycle() {
                let (now, later) = rest.split_at(rest.len().min(*size));
                assert!(write(&mut cork, now).is_ready());
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            assert!(cork.open(&mut context).is_ready());
            assert_eq!(cork.lock().stream.written, expected);
        }
    }

    #[test]
    fn a_full_socket_is_waited_for_and_little_is_kept() {
        let mut cork = pipe(usize::MAX, 100);
        let mut context = Context::from_waker(Waker::noop());
        cork.close();
        assert!(write(&mut cork, &vec![1; MOST]).is_ready());
        assert!(write(&mut cork, &[2; 1000]).is_pending());
        assert!(cork.open(&mut context).is_pending());
        assert!(cork.lock().held.len() <= MOST);
        cork.lock().stream.room = usize::MAX;
        assert!(cork.open(&mut context).is_ready());
        assert_eq!(cork.lock().stream.written, vec![1; MOST]);
    }
}
