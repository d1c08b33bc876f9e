//! One call, as the thread that runs its handler has it.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use bytes::Bytes;
use h2::RecvStream;

use super::super::code::Code;
use super::super::compression::Encoding;
use super::super::counters::Record;
use super::super::framing::MessageReader;
use super::super::link::Link;
use super::super::metadata::{Metadata, MetadataError};
use super::super::status::Status;
use super::super::{Ended, Incoming, Outgoing};
use super::bell::Bell;
use super::connection::Peer;
use super::queue::Note;
use super::request::Head;
use super::roster::Roster;
use super::sending::{Counted, Sending};

/// A handler that sends a stream waits while so much of it has not left: a peer that stops reading fills no more memory.
const UNSENT: usize = 4 << 20;

const ACTIVE: u8 = 0;
const FINISHED: u8 = 1;
const CANCELLED: u8 = 2;

/// What a caller is told whose call a handler forgot.
const FORGOTTEN: &str = "The handler ended without an answer";

/// A call. Every thread may use it at any time.
pub struct ServerCall {
    id: u32,
    head: Head,
    peer: Arc<Peer>,
    link: Arc<Link>,
    roster: Arc<Roster>,
    bell: Arc<Bell>,
    waker: Waker,
    sending: Mutex<Sending>,
    body: Mutex<Option<RecvStream>>,
    state: AtomicU8,
    /// How many bytes of its messages have not left, as far as they are counted.
    unsent: Arc<AtomicUsize>,
    /// What the binding keeps with the call.
    note: Mutex<Option<Note>>,
    watcher: Mutex<Option<Note>>,
    record: Record,
}

/// What became of initial metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// It is sent.
    Sent,
    /// Some were sent before.
    TooLate,
    /// The call is over.
    Over,
}

impl ServerCall {
    pub(super) fn new(
        head: Head,
        peer: Arc<Peer>,
        link: Arc<Link>,
        roster: Arc<Roster>,
        bell: Arc<Bell>,
        streams: (Sending, RecvStream),
        record: Record,
    ) -> Arc<Self> {
        let (sending, body) = streams;
        let call = Arc::new(Self {
            id: body.stream_id().as_u32(),
            head,
            peer,
            link,
            roster,
            waker: Waker::from(Arc::clone(&bell)),
            bell,
            sending: Mutex::new(sending),
            body: Mutex::new(Some(body)),
            state: AtomicU8::new(ACTIVE),
            unsent: Arc::default(),
            note: Mutex::default(),
            watcher: Mutex::default(),
            record,
        });
        call.roster.add(&call);
        call
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// What is recorded of it.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What the caller wants.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Who the caller is.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// When the caller gives up.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.head.deadline
    }

    /// A reader for the call's messages.
    #[must_use]
    pub fn reader(&self) -> MessageReader {
        MessageReader::new(self.peer.options.receive_limit, self.head.encoding)
    }

    /// The largest message that may be sent.
    #[must_use]
    pub fn send_limit(&self) -> usize {
        self.peer.options.send_limit
    }

    /// How messages are compressed that are sent now.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        lock(&self.sending).encoding()
    }

    /// Compresses messages from now on, if the caller takes them so and no headers have been sent.
    pub fn set_encoding(&self, encoding: Encoding) {
        if self.head.accepts(encoding) {
            lock(&self.sending).set_encoding(encoding);
        }
    }

    /// Whether neither a status was sent nor the call was cancelled.
    pub fn is_active(&self) -> bool {
        self.is_open() && {
            let mut sending = lock(&self.sending);
            self.notice_reset(&mut sending);
            self.is_open()
        }
    }

    /// Whether the call ended before its handler did: by its caller, its deadline or an error.
    pub fn is_cancelled(&self) -> bool {
        !self.is_active() && self.state.load(Ordering::SeqCst) == CANCELLED
    }

    /// Sends initial metadata ahead of the first message.
    pub fn send_initial(&self, metadata: &Metadata) -> Initial {
        self.link.operate(|| {
            let mut sending = lock(&self.sending);
            self.notice_reset(&mut sending);
            if !self.is_open() {
                return Initial::Over;
            }
            if !sending.is_new() {
                return Initial::TooLate;
            }
            match sending.begin(metadata) {
                Ok(()) => Initial::Sent,
                Err(_) => Initial::Over,
            }
        })
    }

    /// Ends the call with a status. False: it had ended before.
    pub fn finish(&self, status: &Status) -> bool {
        self.end(status, FINISHED)
    }

    /// Ends the call with an error that its handler did not make.
    pub fn fail(&self, status: &Status) -> bool {
        self.end(status, CANCELLED)
    }

    /// Ends the call as if the caller had cancelled it.
    pub fn cancel(&self) -> bool {
        self.fail(&Status::new(Code::Cancelled, "CANCELLED"))
    }

    /// Ends the call since its deadline has passed.
    pub(super) fn expire(&self) {
        self.fail(&Status::new(Code::DeadlineExceeded, "Deadline Exceeded"));
    }

    /// Has `watcher` given to whoever stands by when the call ends. False: it has ended.
    #[must_use]
    pub fn watch(self: &Arc<Self>, watcher: Note) -> bool {
        *lock(&self.watcher) = Some(watcher);
        self.bell.watch(self);
        // Where it has ended in between, either side may take the watcher, and only one of them finds it.
        self.is_active() || self.take_watcher().is_none()
    }

    pub(super) fn take_watcher(&self) -> Option<Note> {
        lock(&self.watcher).take()
    }

    /// Keeps something with the call.
    pub fn set_note(&self, note: Note) {
        *lock(&self.note) = Some(note);
    }

    /// Takes what was kept with the call.
    pub fn take_note(&self) -> Option<Note> {
        lock(&self.note).take()
    }

    /// The caller's metadata.
    ///
    /// # Errors
    /// What the caller has sent is no metadata.
    pub fn metadata(&self) -> Result<Metadata, MetadataError> {
        Metadata::from_headers(&self.head.headers)
    }

    fn is_open(&self) -> bool {
        self.state.load(Ordering::SeqCst) == ACTIVE
    }

    fn take_data(&self, reader: &mut MessageReader) -> Poll<bool> {
        let mut taken = false;
        let polled = self.link.touch(|| {
            let mut body = lock(&self.body);
            let Some(body) = body.as_mut() else {
                return Poll::Ready(Ok(()));
            };
            let mut context = Context::from_waker(&self.waker);
            loop {
                match ready!(body.poll_data(&mut context)) {
                    Some(Ok(data)) => {
                        taken = true;
                        // It fails only where the stream is gone, which the next poll tells.
                        drop(body.flow_control().release_capacity(data.len()));
                        reader.push(data);
                    }
                    Some(Err(_)) => return Poll::Ready(Err(Ended)),
                    None => return Poll::Ready(Ok(())),
                }
            }
        });
        match polled {
            _ if taken => Poll::Ready(true),
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(false),
            Poll::Ready(Err(Ended)) => {
                self.lose();
                Poll::Ready(false)
            }
        }
    }

    fn queue(&self, segment: Bytes) -> Result<(), Ended> {
        let mut sending = lock(&self.sending);
        self.notice_reset(&mut sending);
        if !self.is_open() {
            return Err(Ended);
        }
        if segment.is_empty() {
            return Ok(());
        }
        sending.message(segment)
    }

    fn notice_reset(&self, sending: &mut Sending) {
        if self.is_open() && sending.is_reset(&mut Context::from_waker(&self.waker)) {
            self.close(CANCELLED);
            self.record.fail();
            *sending = Sending::Done;
        }
    }

    /// The stream is gone.
    fn lose(&self) {
        let former = {
            let mut sending = lock(&self.sending);
            if !self.is_open() {
                return;
            }
            self.close(CANCELLED);
            self.record.fail();
            std::mem::replace(&mut *sending, Sending::Done)
        };
        drop(former);
        self.release_body();
    }

    fn end(&self, status: &Status, state: u8) -> bool {
        self.link.operate(|| {
            let mut sending = lock(&self.sending);
            self.notice_reset(&mut sending);
            if !self.is_open() {
                return false;
            }
            self.close(state);
            if status.code != Code::Ok {
                self.record.fail();
            }
            sending.end(status);
            drop(sending);
            // With both halves dropped the library tells a caller that still sends to stop.
            self.release_body();
            // Before anything is written: the server may have stopped after that.
            self.bell.ring();
            true
        })
    }

    /// Takes note that the call has ended; whoever does so holds `sending`.
    fn close(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
        self.roster.remove(self.id, self.head.deadline);
    }

    fn release_body(&self) {
        let body = lock(&self.body).take();
        drop(body);
    }
}

impl Incoming for ServerCall {
    fn fill(&self, reader: &mut MessageReader, until: Instant) -> Poll<bool> {
        if let Poll::Ready(filled) = self.take_data(reader) {
            return Poll::Ready(filled);
        }
        self.link.reactor().wait(until, |context| {
            self.bell.wait(context.waker());
            self.take_data(reader)
        })
    }
}

impl Outgoing for ServerCall {
    /// The last segment leaves with the status.
    fn send(&self, segment: &Bytes, last: bool, until: Instant) -> Poll<Result<(), Ended>> {
        if last && segment.is_empty() {
            // The status is the end of the messages.
            return Poll::Ready(Ok(()));
        }
        if last {
            return Poll::Ready(Link::hold(|| self.queue(segment.clone())));
        }
        if self.unsent.load(Ordering::SeqCst) > UNSENT {
            let room = self.link.reactor().wait(until, |context| {
                self.bell.wait(context.waker());
                if self.is_active() && self.unsent.load(Ordering::SeqCst) > UNSENT {
                    return Poll::Pending;
                }
                Poll::Ready(())
            });
            ready!(room);
        }
        let segment = Counted::wrap(segment.clone(), &self.unsent, &self.bell);
        Poll::Ready(self.link.operate(|| self.queue(segment)))
    }
}

impl Drop for ServerCall {
    fn drop(&mut self) {
        self.end(&Status::new(Code::Internal, FORGOTTEN), CANCELLED);
    }
}

/// Nothing panics while one of these is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
