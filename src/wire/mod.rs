//! The Philote wire format: bytes in, bytes out. No Python, no I/O.
//!
//! Encoding is byte for byte what the protobuf runtime (upb) writes. Decoding accepts what the runtime
//! accepts, with the same result, and refuses what it refuses.

#[cfg(target_endian = "big")]
compile_error!("payloads are copied as they lie in memory: the target has to be little-endian");

mod array;
mod chunks;
mod encode;
mod error;
mod message;
pub mod metadata;
mod reader;
mod value;
mod varint;

pub use array::{Array, Doubles, Header, decode_array, packed_prefix};
pub use chunks::{chunks, partials_shape};
pub use encode::{encode_discrete, encode_value};
pub use error::Error;
pub use message::{Discrete, Message, decode};
pub use value::decode_value;

/// How many messages, map entries and groups may be nested in the outermost message: the runtime's limit.
pub(crate) const MAX_DEPTH: u32 = 100;

/// The largest message that protobuf allows, in bytes.
const MAX_MESSAGE: usize = 0x7fff_ffff;
