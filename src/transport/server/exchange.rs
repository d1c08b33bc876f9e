//! Whole calls of a server.

use super::super::counters::Record;
use super::super::ends::Exchange;
use super::super::framing::{Framer, FramingError, MessageReader, Side};
use super::call::ServerCall;

impl Exchange for ServerCall {
    fn record(&self) -> &Record {
        ServerCall::record(self)
    }

    fn framer(&self) -> Framer {
        Framer::new(self.send_limit(), self.encoding())
    }

    fn reader(&self) -> MessageReader {
        ServerCall::reader(self)
    }

    fn is_whole(&self) -> bool {
        !self.is_cancelled()
    }

    fn refuse(&self, error: FramingError) {
        self.fail(&error.status(Side::Server));
    }
}
