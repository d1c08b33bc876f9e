//! gRPC over HTTP/2: methods, metadata, statuses and buffers. It knows nothing of Philote, and nothing of Python.
//!
//! Whoever waits does the work: a thread that waits for a reply drives the connection itself, so that a call costs no
//! hand-over between threads. A background thread takes over only while nobody waits.

pub mod apart;
pub mod client;
pub mod code;
pub mod compression;
pub mod counters;
pub mod ends;
pub mod fork;
pub mod framing;
pub mod link;
pub mod metadata;
mod percent;
pub mod pool;
pub mod reactor;
pub mod server;
pub mod signal;
pub mod socket;
pub mod status;
pub mod target;
pub mod threads;
pub mod timeout;
pub mod tls;
mod turn;
pub mod windows;
pub mod writer;

use std::task::Poll;
use std::time::Instant;

use bytes::Bytes;

use framing::MessageReader;

/// The call is over. Its status tells why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

/// The half of a call that sends.
pub trait Outgoing {
    /// Sends framed messages; waits, up to `until`, while the peer's window is full and much is queued.
    ///
    /// After `Pending` nothing of the segment has been taken: ask again.
    fn send(&self, segment: &Bytes, last: bool, until: Instant) -> Poll<Result<(), Ended>>;
}

/// The half of a call that receives.
pub trait Incoming {
    /// Moves what has come into `reader`, waiting for it up to `until`. `Ready(false)` at the end of the messages: the
    /// status is known then.
    fn fill(&self, reader: &mut MessageReader, until: Instant) -> Poll<bool>;
}
