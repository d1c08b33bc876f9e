//! A call as whoever writes or reads framed messages has it.

use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;

use super::super::framing::MessageReader;
use super::super::link::Link;
use super::super::{Ended, Incoming, Outgoing};
use super::bell::lock;
use super::call::Call;
use super::sending::Sent;

impl Outgoing for Call {
    fn send(&self, segment: &Bytes, last: bool, until: Instant) -> Poll<Result<(), Ended>> {
        let try_send = |context: &mut Context<'_>| {
            Link::hold(|| lock(&self.sending).send(segment, last, context))
        };
        let mut context = Context::from_waker(&self.waker);
        let mut sent = try_send(&mut context);
        if matches!(sent, Sent::NoRoom) {
            self.begin();
            let polled = self.wait_for(until, |_| {
                match try_send(&mut Context::from_waker(&self.waker)) {
                    Sent::NoRoom => Poll::Pending,
                    sent => Poll::Ready(sent),
                }
            });
            match polled {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(done) => sent = done,
            }
        }
        self.begin();
        self.settle();
        Poll::Ready(match sent {
            Sent::Over => Err(Ended),
            Sent::Yes | Sent::NoRoom => Ok(()),
        })
    }
}

impl Incoming for Call {
    fn fill(&self, reader: &mut MessageReader, until: Instant) -> Poll<bool> {
        let filled = self.wait(until, |receiving| {
            if receiving.fill(reader) {
                Poll::Ready(true)
            } else if receiving.status().is_some() {
                Poll::Ready(false)
            } else {
                Poll::Pending
            }
        });
        self.settle();
        filled
    }
}
