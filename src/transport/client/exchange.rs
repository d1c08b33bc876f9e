//! Whole calls of a client.

use super::super::code::Code;
use super::super::counters::Record;
use super::super::ends::Exchange;
use super::super::framing::{Framer, FramingError, MessageReader, Side};
use super::call::Call;

impl Exchange for Call {
    fn record(&self) -> &Record {
        Call::record(self)
    }

    fn framer(&self) -> Framer {
        Call::framer(self)
    }

    fn reader(&self) -> MessageReader {
        Call::reader(self)
    }

    fn is_whole(&self) -> bool {
        self.code() == Some(Code::Ok)
    }

    fn refuse(&self, error: FramingError) {
        let ended = !self.end(error.status(Side::Client));
        if ended && self.is_whole() {
            self.fail(error.status(Side::Client));
        }
    }
}
