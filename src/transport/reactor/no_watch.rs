//! Where one poll cannot wait for another: whoever stands by drives then, and is asked for the baton.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::{Poll, Waker};

/// There is none.
pub(super) enum Watch {}

impl Watch {
    // As where there is one.
    #[allow(clippy::unnecessary_wraps)]
    pub fn new(_: &Poll) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub fn waker(&self) -> &Arc<Waker> {
        match *self {}
    }

    pub fn prepare(&self, _: u64, _: Duration) {
        match *self {}
    }

    pub fn begin(&self) {
        match *self {}
    }

    pub fn sleep(&self, _: Duration) {
        match *self {}
    }

    pub fn end(&self) -> bool {
        match *self {}
    }

    pub fn is_on(&self) -> bool {
        match *self {}
    }

    pub fn is_lent(&self) -> bool {
        match *self {}
    }

    pub fn lend(&self) {
        match *self {}
    }

    pub fn give_back(&self, _: u64, _: u64) {
        match *self {}
    }

    pub fn wake(&self) {
        match *self {}
    }
}
