//! Where a call's request goes: to a connection, and to another where the first has not looked at it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use h2::Reason;

use super::super::bell::lock;
use super::super::channel::Shared;
use super::super::connection::Connection;
use super::super::sending::Stage;
use super::Call;
use crate::transport::code::Code;
use crate::transport::link::Link;
use crate::transport::status::Status;

/// What came of the try to make a request on a connection.
enum Opened {
    Done,
    /// The connection takes no more requests.
    Unusable,
    Failed(Status),
}

impl Call {
    /// Gives the request to a connection, unless that has been done.
    pub(in super::super) fn begin(&self) {
        {
            let mut sending = lock(&self.sending);
            if !matches!(sending.stage, Stage::New) {
                return;
            }
            sending.stage = Stage::Waiting;
        }
        self.record.count();
        self.place();
    }

    fn place(&self) {
        let (Some(me), Some(shared)) = (self.me.upgrade(), self.shared.upgrade()) else {
            return self.closed();
        };
        match shared.place(&me) {
            Ok(Some(connection)) => self.open(&shared, &connection),
            Ok(None) => {
                // It may have ended before it was in the list of those that wait.
                if self.has_ended() {
                    shared.forget(self);
                }
            }
            Err(status) => {
                self.end(status);
            }
        }
    }

    /// Makes the request on `connection`.
    pub(in super::super) fn open(&self, shared: &Shared, connection: &Arc<Connection>) {
        let opened = Link::hold(|| {
            let mut sending = lock(&self.sending);
            if !matches!(sending.stage, Stage::Waiting) {
                return Opened::Done;
            }
            let Some(request) = shared.template.request(&self.head, self.deadline) else {
                return Opened::Failed(no_such_method());
            };
            match connection.requests().send_request(request, false) {
                Err(error) if error.is_go_away() || error.is_io() => Opened::Unusable,
                Err(error) => Opened::Failed(Status::from_h2(&error)),
                Ok((response, stream)) => {
                    connection.enter();
                    *lock(&self.link) = Some(Arc::clone(&connection.link));
                    lock(&self.receiving).open(response);
                    // Where that fails the answer tells why.
                    drop(sending.open(stream, Arc::clone(connection)));
                    Opened::Done
                }
            }
        });
        match opened {
            Opened::Done => {
                connection.link.pump();
                // Whoever waits has to have the stream wake them.
                self.bell.ring();
            }
            Opened::Unusable => {
                shared.lost(connection);
                self.place();
            }
            Opened::Failed(status) => {
                self.end(status);
            }
        }
    }

    /// The stream has failed.
    pub(super) fn failed(&self, error: &h2::Error) {
        if unprocessed(error) && self.repeat(error.is_go_away()) {
            return;
        }
        let connection = match &lock(&self.sending).stage {
            Stage::Open(_, connection) => Some(Arc::clone(connection)),
            _ => None,
        };
        self.end(match connection {
            Some(connection) => connection.lost(error),
            None => Status::from_h2(error),
        });
    }

    /// Makes the request once more, on another connection where this one is `leaving`. The server has not looked at it.
    fn repeat(&self, leaving: bool) -> bool {
        let Some(shared) = self.shared.upgrade() else {
            return false;
        };
        let former = {
            let mut sending = lock(&self.sending);
            let mut receiving = lock(&self.receiving);
            let may = shared.options.retries
                && sending.can_repeat()
                && !receiving.has_begun()
                && !self.retried.swap(true, Ordering::SeqCst);
            if !may {
                return false;
            }
            receiving.close();
            sending.leave(Stage::Waiting)
        };
        if let Some((stream, connection)) = former {
            connection.leave();
            if leaving {
                shared.lost(&connection);
            }
            Link::hold(|| drop(stream));
        }
        self.place();
        true
    }
}

/// Whether the server has said that it has not looked at the request.
fn unprocessed(error: &h2::Error) -> bool {
    // HTTP/2 gives such a GOAWAY only to streams above the last that the server has seen.
    error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM))
}

/// What any server says to a name that no method can have.
fn no_such_method() -> Status {
    Status::new(Code::Unimplemented, "Method not found!")
}
