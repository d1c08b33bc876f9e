//! Threads of the transport's own.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that never runs a handler of the process's signals: those are for the threads that Python knows.
///
/// # Errors
/// Where the system gives no more threads.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let builder = Builder::new().name(name.to_owned());
    without_signals(|| builder.spawn(body))
}

/// A new thread begins with the mask of the thread that starts it.
#[cfg(unix)]
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let former = set_mask(&all_signals());
    let started = start();
    set_mask(&former);
    started
}

#[cfg(not(unix))]
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    start()
}

#[cfg(unix)]
fn all_signals() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the call fills the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

#[cfg(unix)]
fn set_mask(mask: &libc::sigset_t) -> libc::sigset_t {
    let mut former = std::mem::MaybeUninit::zeroed();
    // SAFETY: both sets are valid, the second for writing; a set of zeros is a valid one should the call fail.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, former.as_mut_ptr());
        former.assume_init()
    }
}
