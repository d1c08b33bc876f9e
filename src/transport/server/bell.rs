//! What the HTTP/2 library rings when something happens to a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Wake, Waker};

use super::call::ServerCall;
use super::queue::Queue;

/// The library knows one waker of a stream for each direction. This one passes it on to all who wait for the call.
pub(super) struct Bell {
    waiting: Mutex<Vec<Waker>>,
    /// Somebody wants to know when the call ends, without waiting for it.
    watched: AtomicBool,
    call: OnceLock<Weak<ServerCall>>,
    queue: Arc<Queue>,
}

impl Bell {
    pub fn new(queue: Arc<Queue>) -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            watched: AtomicBool::new(false),
            call: OnceLock::new(),
            queue,
        })
    }

    /// Has `waker` woken at the next ring.
    pub fn wait(&self, waker: &Waker) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Has every ring looked into for whoever wants to know of the call's end.
    pub fn watch(&self, call: &Arc<ServerCall>) {
        self.call.get_or_init(|| Arc::downgrade(call));
        self.watched.store(true, Ordering::SeqCst);
    }

    pub fn ring(&self) {
        let waiting = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *waiting)
        };
        for waker in waiting {
            waker.wake();
        }
        if self.watched.load(Ordering::SeqCst)
            && let Some(call) = self.call.get().and_then(Weak::upgrade)
        {
            self.queue.look_at(call);
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
