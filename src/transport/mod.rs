//! gRPC over HTTP/2: methods, metadata, statuses and buffers. It knows nothing of Philote, and nothing of Python.
//!
//! Whoever waits does the work: a thread that waits for a reply drives the connection itself, so that a call costs no
//! hand-over between threads. A background thread takes over only while nobody waits.

pub mod code;
pub mod compression;
pub mod framing;
pub mod link;
pub mod metadata;
mod percent;
pub mod pool;
pub mod reactor;
pub mod signal;
pub mod socket;
pub mod status;
pub mod target;
pub mod threads;
pub mod timeout;
pub mod tls;
