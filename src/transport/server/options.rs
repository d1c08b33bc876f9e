//! What a server is told of itself, with gRPC's defaults.

use std::time::Duration;

use super::super::compression::Encoding;
use super::super::framing::DEFAULT_RECEIVE_LIMIT;
use super::super::metadata::HARD_LIMIT;

/// Calls at once on a connection: more than any pool has threads, and few enough that a flood of them stays small.
pub const STREAMS: u32 = 1024;

/// How long a peer may take until the first call can be made. grpcio's is two minutes, in which a peer that says nothing
/// keeps a socket.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// Pings at most so often, and only on connections that have calls.
const KEEPALIVE: Duration = Duration::from_secs(7200);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// The options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The largest message that is taken.
    pub receive_limit: usize,
    /// The largest message that is sent.
    pub send_limit: usize,
    /// The most that the headers of a call may take.
    pub metadata_limit: u32,
    /// How many calls there may be at once on a connection.
    pub streams: u32,
    /// Whether other processes may listen on the same port.
    pub reuse_port: bool,
    /// How responses are compressed unless the handler says otherwise.
    pub compression: Encoding,
    /// How long a peer may take until the first call can be made.
    pub handshake: Duration,
    /// How often a ping asks whether the peer is there.
    pub keepalive: Duration,
    /// How long the answer may take.
    pub keepalive_timeout: Duration,
    /// Whether connections without calls are asked too.
    pub keepalive_without_calls: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            receive_limit: DEFAULT_RECEIVE_LIMIT,
            send_limit: usize::MAX,
            metadata_limit: u32::try_from(HARD_LIMIT).unwrap_or(u32::MAX),
            streams: STREAMS,
            reuse_port: true,
            compression: Encoding::Identity,
            handshake: HANDSHAKE,
            keepalive: KEEPALIVE,
            keepalive_timeout: KEEPALIVE_TIMEOUT,
            keepalive_without_calls: false,
        }
    }
}
