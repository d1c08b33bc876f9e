//! One call.

mod placing;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use h2::Reason;

use super::super::code::Code;
use super::super::compression::Encoding;
use super::super::counters::Record;
use super::super::framing::{Framer, MessageReader};
use super::super::link::Link;
use super::super::metadata::Metadata;
use super::super::status::Status;
use super::bell::{Bell, Watch, lock};
use super::channel::{CLOSED, Shared};
use super::receiving::{Progress, Receiving};
use super::request::Head;
use super::sending::Sending;

/// What a call is made with.
pub struct CallOptions {
    /// `/SERVICE/METHOD`
    pub path: String,
    /// The user's metadata.
    pub metadata: Metadata,
    /// When it ends at the latest.
    pub deadline: Option<Instant>,
    /// Whether it waits for a connection however long that takes.
    pub wait_for_ready: bool,
    /// How its messages are compressed.
    pub encoding: Encoding,
}

/// A call, which any number of threads may use at once. Locks are taken in the order of the fields.
pub struct Call {
    me: Weak<Call>,
    id: u64,
    /// Gone when the channel is closed. Then the call has ended.
    shared: Weak<Shared>,
    limits: Limits,
    head: Head,
    deadline: Option<Instant>,
    wait_for_ready: bool,
    pub(super) sending: Mutex<Sending>,
    receiving: Mutex<Receiving>,
    /// Where the request went, for who wants to write what it has left to do.
    link: Mutex<Option<Arc<Link>>>,
    bell: Arc<Bell>,
    /// The waker that rings the bell.
    pub(super) waker: Waker,
    retried: AtomicBool,
    ended: AtomicBool,
    record: Record,
}

/// What the channel's options say of the sizes of messages.
#[derive(Clone, Copy)]
struct Limits {
    receive: usize,
    send: usize,
}

impl Call {
    pub(super) fn new(shared: &Arc<Shared>, id: u64, options: CallOptions) -> Arc<Self> {
        let bell = Arc::new(Bell::default());
        let limits = Limits {
            receive: shared.options.max_receive,
            send: shared.options.max_send,
        };
        let receiving = Receiving::new(
            limits.receive,
            usize::try_from(shared.options.max_metadata).unwrap_or(usize::MAX),
        );
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            id,
            shared: Arc::downgrade(shared),
            limits,
            head: Head {
                path: options.path,
                metadata: options.metadata,
                encoding: options.encoding,
            },
            deadline: options.deadline,
            wait_for_ready: options.wait_for_ready,
            sending: Mutex::new(Sending::new()),
            receiving: Mutex::new(receiving),
            link: Mutex::default(),
            waker: Waker::from(Arc::clone(&bell)),
            bell,
            retried: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            record: Record::new(Arc::clone(&shared.meter)),
        })
    }

    /// Its number on its channel.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What is recorded of it.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// When it ends at the latest.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether it waits for a connection however long that takes.
    #[must_use]
    pub fn waits_for_ready(&self) -> bool {
        self.wait_for_ready
    }

    /// A framer for this call's messages.
    #[must_use]
    pub fn framer(&self) -> Framer {
        Framer::new(self.limits.send, self.head.encoding)
    }

    /// A reader for this call's messages, to be filled by `fill`.
    #[must_use]
    pub fn reader(&self) -> MessageReader {
        MessageReader::new(self.limits.receive, Encoding::Identity)
    }

    /// Says, before anything is waited for, that the answer is one message: `message` then gives it once the call is over.
    pub fn expect_one(&self) {
        lock(&self.receiving).expect_one();
    }

    /// Sends what has been asked of the call so far, its headers at least.
    pub fn flush(&self) {
        self.begin();
    }

    /// Waits for the next message. `None` at the end, when the status is known.
    pub fn message(&self, until: Instant) -> Poll<Option<Bytes>> {
        let polled = self.wait(until, Receiving::message);
        self.settle();
        polled.map(|message| {
            message.unwrap_or_else(|status| {
                self.fail(status);
                None
            })
        })
    }

    /// Waits for the initial metadata. Of a call that ended without, it is empty.
    pub fn initial_metadata(&self, until: Instant) -> Poll<Metadata> {
        self.wait(until, |receiving| match receiving.initial() {
            Some(metadata) => Poll::Ready(metadata.clone()),
            None => Poll::Pending,
        })
    }

    /// Waits for the end.
    pub fn status(&self, until: Instant) -> Poll<Status> {
        self.wait(until, |receiving| match receiving.status() {
            Some(status) => Poll::Ready(status.clone()),
            None => Poll::Pending,
        })
    }

    /// The code that it has ended with, if it has.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        lock(&self.receiving).status().map(|status| status.code)
    }

    /// Whether the call was seen to have ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Ends the call with `status`, unless it has ended: false then. The peer learns that it is cancelled.
    pub fn end(&self, status: Status) -> bool {
        let ended = lock(&self.receiving).finish(status);
        if ended {
            self.release();
        }
        ended
    }

    /// Ends the call, of which nobody has asked anything if it has not begun: then there never was one.
    pub fn abandon(&self, status: Status) {
        self.record.forget();
        self.end(status);
    }

    /// Ends the call because what the peer has sent is no good, though it may have told a success.
    pub(super) fn fail(&self, status: Status) {
        lock(&self.receiving).overrule(status);
        self.release();
    }

    pub(super) fn expire(&self) {
        self.end(Status::new(Code::DeadlineExceeded, "Deadline Exceeded"));
    }

    pub(super) fn report_to(&self, watch: &Arc<Watch>) {
        self.bell.report_to(watch, Weak::clone(&self.me));
        // It may have ended already, and its stream does not yet know whom to wake.
        watch.touch(Weak::clone(&self.me));
    }

    /// Takes what has come, and says whether that was the end.
    pub fn look(&self) -> bool {
        self.begin();
        self.advance();
        self.has_ended()
    }

    /// Takes what the stream has for it.
    fn advance(&self) {
        let mut context = Context::from_waker(&self.waker);
        let progress = lock(&self.receiving).advance(&mut context);
        match progress {
            Progress::Some => {}
            Progress::Ended => self.release(),
            Progress::Failed(error) => self.failed(&error),
        }
    }

    /// Gives everything up that the call has of its connection.
    fn release(&self) {
        self.ended.store(true, Ordering::SeqCst);
        let former = lock(&self.sending).end();
        let (stream, failed) = {
            let mut receiving = lock(&self.receiving);
            let status = receiving.status();
            let failed = status.is_some_and(|status| status.code != Code::Ok);
            (receiving.take_stream(), failed)
        };
        self.record.count();
        if failed {
            self.record.fail();
        }
        Link::hold(|| {
            if let Some((mut sender, connection)) = former {
                connection.leave();
                // Nothing is sent where both sides have said that they are done.
                sender.send_reset(Reason::CANCEL);
            }
            drop(stream);
        });
        // The link keeps what waits for I/O, which goes with the channel.
        let link = lock(&self.link).take();
        if let Some(link) = link {
            link.settle();
        }
        if let Some(shared) = self.shared.upgrade() {
            shared.forget(self);
        }
        self.bell.ring();
    }

    /// The channel is closed, and with it all its calls.
    fn closed(&self) {
        self.end(Status::new(Code::Cancelled, CLOSED));
    }

    /// Writes what is left to be written, in this very thread.
    pub(super) fn settle(&self) {
        let link = lock(&self.link).clone();
        if let Some(link) = link {
            link.settle();
        }
    }

    /// Asks `poll` until it is ready; the deadline ends the call, and with that the wait.
    pub(super) fn wait<T>(
        &self,
        until: Instant,
        mut poll: impl FnMut(&mut Receiving) -> Poll<T>,
    ) -> Poll<T> {
        self.begin();
        self.wait_for(until, |_| Link::hold(|| poll(&mut lock(&self.receiving))))
    }

    pub(super) fn wait_for<T>(
        &self,
        until: Instant,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        loop {
            let Some(shared) = self.shared.upgrade() else {
                self.advance();
                self.closed();
                return poll(&mut Context::from_waker(&self.waker));
            };
            let stop = self.deadline.map_or(until, |deadline| deadline.min(until));
            let polled = shared.reactor.wait(stop, |context| {
                self.bell.attend(context.waker());
                self.advance();
                poll(context)
            });
            let overdue = || self.deadline.is_some_and(|at| Instant::now() >= at);
            if polled.is_ready() || self.has_ended() || !overdue() {
                return polled;
            }
            self.expire();
        }
    }
}
