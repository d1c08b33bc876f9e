//! Messages in a stream of bytes: a flag, a length of four bytes, then the message.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>, "Length-Prefixed-Message".

mod framer;
mod reader;

pub use framer::{Framer, SEGMENT};
pub use reader::MessageReader;

use super::code::Code;
use super::compression::Encoding;
use super::status::Status;

/// The bytes before each message.
pub const PREFIX: usize = 5;

/// What gRPC takes of a peer unless it is told otherwise.
pub const DEFAULT_RECEIVE_LIMIT: usize = 4 << 20;

/// Which side of a call speaks, as grpcio's texts name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who calls.
    Client,
    /// Who answers.
    Server,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Client => "CLIENT",
            Self::Server => "SERVER",
        }
    }
}

/// Why a message can be neither read nor sent. The texts are those of grpcio where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// A message that came is over the limit; for a compressed one `size` is only known to be at least that.
    #[error("Received message larger than max ({size} vs. {limit})")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A message to be sent is over the limit.
    #[error("Sent message larger than max ({size} vs. {limit})")]
    TooLargeToSend {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The first byte of a message is neither 0 nor 1.
    #[error("Bad GRPC frame type 0x{0:02x}")]
    BadFlag(u8),
    /// A message says that it is compressed, the headers do not say how.
    #[error("Compressed message received, but the headers name no grpc-encoding")]
    NoEncoding,
    /// A compressed message cannot be inflated.
    #[error("Unexpected error decompressing data for algorithm {}", .0.name())]
    Inflate(Encoding),
    /// The stream ended within a message.
    #[error("The stream ended in the middle of a message")]
    Truncated,
}

impl FramingError {
    /// The code that grpcio gives.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::TooLarge { .. } | Self::TooLargeToSend { .. } => Code::ResourceExhausted,
            Self::BadFlag(_) | Self::NoEncoding | Self::Inflate(_) | Self::Truncated => {
                Code::Internal
            }
        }
    }

    /// The status that `side`, which noticed it, ends the call with.
    #[must_use]
    pub fn status(&self, side: Side) -> Status {
        let text = match self {
            Self::TooLarge { .. } | Self::TooLargeToSend { .. } => {
                format!("{}: {self}", side.name())
            }
            _ => self.to_string(),
        };
        Status::new(self.code(), text)
    }
}
