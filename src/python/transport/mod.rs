//! The binding of the transport.

mod wait;
