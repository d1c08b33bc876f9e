//! The half of a call that sends.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::SendStream;

use super::connection::Connection;

/// A request is kept up to this size, so that it can be sent again where the server has not looked at it; gRPC's own
/// limit for calls that may be tried again.
const KEPT: usize = 256 << 10;

/// What has been sent, and what is to be.
pub struct Sending {
    pub stage: Stage,
    /// The segments so far. Before the call is on a connection they wait here; then they are kept for a second try.
    kept: Vec<(Bytes, bool)>,
    kept_bytes: usize,
    /// Whether `kept` is all of the request so far.
    complete: bool,
    /// The end of the request has been given.
    finished: bool,
}

/// Where the request goes.
pub enum Stage {
    /// Nowhere: nothing has been asked of the call yet.
    New,
    /// To a connection, once there is one.
    Waiting,
    /// To this one.
    Open(SendStream<Bytes>, Arc<Connection>),
    /// The call is over.
    Over,
}

/// What became of a segment.
pub enum Sent {
    /// It is on its way, or kept until there is a connection.
    Yes,
    /// The peer has to take something first.
    NoRoom,
    /// The call is over.
    Over,
}

impl Sending {
    pub fn new() -> Self {
        Self {
            stage: Stage::New,
            kept: Vec::new(),
            kept_bytes: 0,
            complete: true,
            finished: false,
        }
    }

    /// Takes the next segment, if there is room for it.
    pub fn send(&mut self, segment: &Bytes, last: bool, context: &mut Context<'_>) -> Sent {
        if self.finished {
            return Sent::Over;
        }
        match &mut self.stage {
            Stage::New | Stage::Waiting => {
                if self.kept_bytes > 0 && self.kept_bytes + segment.len() > KEPT {
                    return Sent::NoRoom;
                }
            }
            Stage::Open(stream, _) => {
                // What is small need not wait: the connection's own buffers are larger.
                let small = segment.is_empty() || self.kept_bytes == 0;
                if !small && !has_room(stream, context) {
                    return Sent::NoRoom;
                }
                if stream.send_data(segment.clone(), last).is_err() {
                    return Sent::Over;
                }
            }
            Stage::Over => return Sent::Over,
        }
        self.keep(segment.clone(), last);
        Sent::Yes
    }

    fn keep(&mut self, segment: Bytes, last: bool) {
        self.finished = last;
        self.kept_bytes = self.kept_bytes.saturating_add(segment.len());
        let placed = matches!(self.stage, Stage::Open(..));
        if placed && (!self.complete || self.kept_bytes > KEPT) {
            self.complete = false;
            self.kept.clear();
        } else {
            self.kept.push((segment, last));
        }
    }

    /// Goes on on a stream of `connection`: all that was kept is sent on it.
    ///
    /// # Errors
    /// What the stream says.
    pub fn open(
        &mut self,
        mut stream: SendStream<Bytes>,
        connection: Arc<Connection>,
    ) -> Result<(), h2::Error> {
        let mut sent = Ok(());
        for (segment, last) in &self.kept {
            sent = sent.and_then(|()| stream.send_data(segment.clone(), *last));
        }
        self.stage = Stage::Open(stream, connection);
        if self.kept_bytes > KEPT {
            self.complete = false;
            self.kept.clear();
        }
        sent
    }

    /// Whether all of the request can be sent once more.
    pub fn can_repeat(&self) -> bool {
        self.complete
    }

    /// Ends it. What was open is for the caller to reset and drop.
    pub fn end(&mut self) -> Option<(SendStream<Bytes>, Arc<Connection>)> {
        self.kept = Vec::new();
        self.complete = false;
        self.finished = true;
        self.leave(Stage::Over)
    }

    /// Takes the stream away, and goes on with `stage`.
    pub fn leave(&mut self, stage: Stage) -> Option<(SendStream<Bytes>, Arc<Connection>)> {
        match std::mem::replace(&mut self.stage, stage) {
            Stage::Open(stream, connection) => Some((stream, connection)),
            _ => None,
        }
    }
}

/// Whether all that was sent before fits into the peer's window, and something more.
fn has_room(stream: &mut SendStream<Bytes>, context: &mut Context<'_>) -> bool {
    stream.reserve_capacity(1);
    while stream.capacity() == 0 {
        match stream.poll_capacity(context) {
            Poll::Ready(Some(Ok(_))) => {}
            // The stream is over: sending tells.
            Poll::Ready(_) => return true,
            Poll::Pending => return false,
        }
    }
    true
}
