//! What both sides of a connection allow the other to send at once.

/// What a peer may send of one call before it is read: enough that a whole call of 16 MiB never waits for permission.
pub const STREAM_WINDOW: u32 = 16 << 20;

/// The same for all calls of a connection, and with that the memory that a peer can fill.
pub const CONNECTION_WINDOW: u32 = 64 << 20;

/// The largest DATA frame that is taken, and so the largest that a native peer sends. The HTTP/2 library takes new memory
/// for each frame: of this size it is the same warm memory again and again, and while one frame is read the next is
/// sent. With its head it fits into one TCP segment of a loopback interface, whose MTU is 64 KiB: a frame of 64 KiB needs
/// a second one for 62 bytes.
pub const FRAME: u32 = 60 << 10;
