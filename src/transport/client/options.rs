//! What a channel can be told.

use std::time::Duration;

use http::HeaderValue;

use super::super::framing::DEFAULT_RECEIVE_LIMIT;
use super::super::metadata::HARD_LIMIT;

/// No connection is waited for longer, as in gRPC's connection-backoff document.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a lost ping is waited for, where nothing else is said; gRPC's default.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Everything that a channel can be told about itself. The defaults are those of gRPC.
#[derive(Debug, Clone)]
pub struct ChannelOptions {
    /// What the channel is called where its calls are counted.
    pub name: String,
    /// The largest message that is received.
    pub max_receive: usize,
    /// The largest message that is sent.
    pub max_send: usize,
    /// The most that the headers of an answer may take, in HTTP/2's measure.
    pub max_metadata: u32,
    /// How often the peer is pinged; never, unless it is asked for.
    pub keepalive: Option<Duration>,
    /// How long the answer to a ping may take.
    pub keepalive_timeout: Duration,
    /// Whether pings are sent while there is no call.
    pub keepalive_without_calls: bool,
    /// The wait after the first failed attempt to connect.
    pub initial_backoff: Duration,
    /// The least time for one attempt.
    pub min_backoff: Duration,
    /// The longest wait between two attempts.
    pub max_backoff: Duration,
    /// What is sent as `:authority` in place of the target.
    pub authority: Option<String>,
    /// The name that the peer's certificate is checked for, in place of the target.
    pub tls_name: Option<String>,
    /// What is sent as `user-agent`.
    pub user_agent: HeaderValue,
    /// Whether a call that the server has not looked at is tried once more.
    pub retries: bool,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            max_receive: DEFAULT_RECEIVE_LIMIT,
            max_send: usize::MAX,
            max_metadata: u32::try_from(HARD_LIMIT).unwrap_or(u32::MAX),
            keepalive: None,
            keepalive_timeout: KEEPALIVE_TIMEOUT,
            keepalive_without_calls: false,
            initial_backoff: Duration::from_secs(1),
            min_backoff: CONNECT_TIMEOUT,
            max_backoff: Duration::from_secs(120),
            authority: None,
            tls_name: None,
            user_agent: HeaderValue::from_static(""),
            retries: true,
        }
    }
}
