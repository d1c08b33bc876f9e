//! The calling side: channels, their connections, and calls.

mod backoff;
mod bell;
mod call;
mod channel;
mod connecting;
mod connection;
mod dial;
mod exchange;
mod greeting;
mod halves;
mod options;
mod receiving;
mod request;
mod sending;
mod state;

pub use bell::Watch;
pub use call::{Call, CallOptions};
pub use channel::{CLOSED, Channel, ChannelError};
pub use dial::Tls;
pub use options::ChannelOptions;
pub use state::Connectivity;

#[cfg(test)]
mod tests;
