//! The binding of the transport.
