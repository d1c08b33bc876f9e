//! What a call is to whoever writes or reads all the messages of one direction of it at once.

use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;

use super::framing::{Framer, FramingError, MessageReader};

/// The call is over; its status tells why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

/// A call whose messages are written by segments.
pub trait Outgoing: Send + Sync {
    /// What frames messages as this call sends them.
    fn framer(&self) -> Framer;

    /// Sends framed messages. Waits, until `until`, while the peer takes no more; nothing of the segment has been
    /// taken then. With `last` no more can be sent; the last segment may be empty.
    fn send(&self, segment: Bytes, last: bool, until: Instant) -> Poll<Result<(), Ended>>;

    /// Ends the call, if it has not ended: what should have been sent cannot be.
    fn refuse(&self, error: FramingError);
}

/// A call whose messages are read as they come.
pub trait Incoming: Send + Sync {
    /// The reader of this call's messages, with those that have come and that nobody has taken.
    fn reader(&self) -> MessageReader;

    /// Moves what has come into the reader. Waits, until `until`, while nothing has. False at the end of the messages,
    /// whatever ended them; the status is known then.
    fn fill(&self, reader: &mut MessageReader, until: Instant) -> Poll<bool>;

    /// Whether the messages ended as the peer meant it: with the status OK, or with the end of a request. To be asked
    /// after their end.
    fn is_whole(&self) -> bool;

    /// Ends the call, if it has not ended: what has come cannot be read.
    fn refuse(&self, error: FramingError);
}
