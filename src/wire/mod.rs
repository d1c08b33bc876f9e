//! The Philote wire format: bytes in, bytes out. No Python, no I/O.

pub mod metadata;
