//! What a call is to whoever writes or reads all the messages of one direction of it at once.

use super::counters::Record;
use super::framing::{Framer, FramingError, MessageReader};
use super::{Incoming, Outgoing};

/// A call, with how its messages are framed.
pub trait Exchange: Outgoing + Incoming + Send + Sync {
    /// What is recorded of it.
    fn record(&self) -> &Record;

    /// What frames messages as this call sends them.
    fn framer(&self) -> Framer;

    /// What reads messages as this call receives them.
    fn reader(&self) -> MessageReader;

    /// Whether the messages ended as the peer meant it: with the status OK, or with the end of a request. To be asked
    /// after their end.
    fn is_whole(&self) -> bool;

    /// Ends the call, unless it has ended with an error: what came cannot be read, or what should be sent cannot be.
    fn refuse(&self, error: FramingError);
}
