//! Two that work at the same time, on two cores.
//!
//! Where a core is idle, the system is to wake a thread there. In guests of some hypervisors it does not: a core that the
//! host has put to sleep does not count as idle. A server is then woken on the core of the client that calls it, the
//! client on that of the server that answers, and both stay there though each could have one for itself: a call of
//! 250,000 doubles takes three times as long, one of a scalar twice. So who waits for a peer on its own core lets it
//! run, but does not sleep, and a server's thread moves to another core. Who is awake stays where it is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use socket2::SockRef;

/// A look takes a third of a microsecond: it is not for every small message.
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

/// After so long a pause what is read was sent by the peer's thread. What comes amid much else may have been sent by the
/// system when it took notice here, on this core, of what had been read.
const PAUSE: Duration = Duration::from_micros(300);

/// So little is sent at once, by the peer's thread.
const LITTLE: usize = 8 << 10;

/// What was seen longer ago says nothing about now: a peer that calls so seldom gains nothing by a core of its own.
const LULL: Duration = Duration::from_millis(2);

/// So many looks in a row that find the peer here, and the thread moves; where much comes, at the first.
const TOGETHER: u8 = 3;

/// For how long it stays where it has moved to. A move costs a tenth of a millisecond, mostly for cold caches.
const STAY: Duration = Duration::from_millis(4);

/// The longest that it stays; each move that did not last doubles the time.
const LONGEST_STAY: Duration = Duration::from_secs(1);

/// So many looks in a row that find the peer elsewhere, and the last move has lasted.
const LASTING: u8 = 5;

/// What the threads of a reactor have seen of where their peers work.
#[derive(Debug)]
pub struct Apart {
    moves: bool,
    peer_is_here: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    read: Instant,
    looked: Instant,
    /// Looks in a row that found the peer on the same core.
    together: u8,
    /// Looks in a row that did not.
    apart: u8,
    stays_until: Instant,
    stay: Duration,
}

impl Apart {
    /// Nothing has been seen. `moves`: a thread that is beside its peer may move.
    #[must_use]
    pub fn new(moves: bool) -> Self {
        Self {
            moves,
            peer_is_here: AtomicBool::new(false),
            seen: Mutex::new(Seen::new(Instant::now())),
        }
    }

    /// Whether the peer was on the same core when it was last looked for.
    #[must_use]
    pub fn is_peer_here(&self) -> bool {
        self.peer_is_here.load(Ordering::Relaxed)
    }

    /// Takes notice that the calling thread has just read `count` bytes from `socket`, whose peer is on this machine.
    /// Moves the thread if that is better.
    pub fn has_read(&self, socket: &SockRef<'_>, count: usize) {
        let now = Instant::now();
        let mut seen = match self.seen.try_lock() {
            Ok(seen) => seen,
            Err(TryLockError::Poisoned(seen)) => seen.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if !seen.read(now, count) {
            return;
        }
        let here = cores::is_here(socket);
        self.peer_is_here.store(here, Ordering::Relaxed);
        if seen.look(now, here, count >= LITTLE) && self.moves {
            cores::leave();
        }
    }
}

impl Seen {
    fn new(now: Instant) -> Self {
        Self {
            read: now,
            looked: now,
            together: 0,
            apart: 0,
            stays_until: now,
            stay: STAY,
        }
    }

    /// Takes note of a read. True: it tells where the peer is, and it is time to look.
    fn read(&mut self, now: Instant, count: usize) -> bool {
        let paused = now.saturating_duration_since(self.read) >= PAUSE;
        self.read = now;
        let due = now.saturating_duration_since(self.looked) >= BETWEEN_LOOKS;
        paused || due && count < LITTLE
    }

    /// Takes note of a look. True: the thread is to move.
    fn look(&mut self, now: Instant, here: bool, much: bool) -> bool {
        if now.saturating_duration_since(self.looked) >= LULL {
            self.together = 0;
        }
        self.looked = now;
        if !here {
            self.together = 0;
            self.apart = self.apart.saturating_add(1);
            if self.apart >= LASTING {
                self.stay = STAY;
            }
            return false;
        }
        self.apart = 0;
        self.together = self.together.saturating_add(1);
        if self.together < TOGETHER && !much || now < self.stays_until {
            return false;
        }
        self.together = 0;
        self.stays_until = now + self.stay;
        self.stay = LONGEST_STAY.min(2 * self.stay);
        true
    }
}

#[cfg(target_os = "linux")]
mod cores {
    use std::mem::MaybeUninit;

    use libc::cpu_set_t;
    use socket2::SockRef;

    const SIZE: usize = size_of::<cpu_set_t>();

    /// Whether what was read last was sent from the calling thread's core: on a loopback interface the sender's core
    /// receives.
    pub fn is_here(socket: &SockRef<'_>) -> bool {
        current().is_some_and(|here| socket.cpu_affinity().is_ok_and(|there| there == here))
    }

    /// Moves the calling thread to another of the cores that it may run on, if there is one. It may come back at once.
    pub fn leave() {
        if let Some(all) = allowed()
            && let Some(others) = without_current(&all)
            && allow(&others)
        {
            allow(&all);
        }
    }

    /// How many cores the calling thread may run on.
    #[cfg(test)]
    pub fn count() -> Option<i32> {
        // SAFETY: the set is only read.
        allowed().map(|set| unsafe { libc::CPU_COUNT(&set) })
    }

    fn current() -> Option<usize> {
        // SAFETY: the call takes and touches nothing; it gives -1 where it fails.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    fn allowed() -> Option<cpu_set_t> {
        let mut set = MaybeUninit::<cpu_set_t>::zeroed();
        // SAFETY: the call writes no more than `SIZE` bytes, and a set of zeros is a valid one.
        let (failed, set) = unsafe {
            let failed = libc::sched_getaffinity(0, SIZE, set.as_mut_ptr());
            (failed, set.assume_init())
        };
        (failed == 0).then_some(set)
    }

    fn without_current(all: &cpu_set_t) -> Option<cpu_set_t> {
        let here = current().filter(|&here| here < 8 * SIZE)?;
        let mut others = *all;
        // SAFETY: the set has a place for that core.
        unsafe { libc::CPU_CLR(here, &mut others) };
        // SAFETY: the set is only read.
        (unsafe { libc::CPU_COUNT(&others) } > 0).then_some(others)
    }

    fn allow(set: &cpu_set_t) -> bool {
        // SAFETY: the set has `SIZE` bytes and is only read.
        unsafe { libc::sched_setaffinity(0, SIZE, set) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod cores {
    use socket2::SockRef;

    pub fn is_here(_: &SockRef<'_>) -> bool {
        false
    }

    pub fn leave() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look every so often.
    const STEP: Duration = Duration::from_millis(1);

    struct Clock {
        seen: Seen,
        now: Instant,
    }

    impl Clock {
        fn new() -> Self {
            let now = Instant::now();
            Self {
                seen: Seen::new(now),
                now,
            }
        }

        /// The looks, of so many in a row, after which the thread moves.
        fn moves(&mut self, looks: usize, here: bool, much: bool) -> Vec<usize> {
            let mut moves = Vec::new();
            for look in 1..=looks {
                self.now += STEP;
                if self.seen.look(self.now, here, much) {
                    moves.push(look);
                }
            }
            moves
        }
    }

    #[test]
    fn a_thread_moves_when_the_peer_is_found_here_again_and_again() {
        assert_eq!(Clock::new().moves(3, true, false), [3]);
        let mut clock = Clock::new();
        assert!(clock.moves(2, true, false).is_empty());
        assert!(clock.moves(1, false, false).is_empty());
        assert!(clock.moves(2, true, false).is_empty());
        // Where calls are rare it does not matter.
        clock.now += LULL;
        assert!(clock.moves(2, true, false).is_empty());
    }

    #[test]
    fn where_much_comes_it_moves_at_once() {
        assert_eq!(Clock::new().moves(1, true, true), [1]);
    }

    #[test]
    fn moves_that_do_not_last_become_rare() {
        let mut clock = Clock::new();
        // It stays for 4, 8, 16 ms.
        assert_eq!(clock.moves(30, true, true), [1, 5, 13, 29]);
        let in_a_minute = clock.moves(60_000, true, true).len();
        assert!(in_a_minute < 70, "{in_a_minute}");
        clock.moves(usize::from(LASTING), false, false);
        clock.now += LONGEST_STAY;
        assert_eq!(clock.moves(5, true, true), [1, 5]);
    }

    #[test]
    fn what_comes_amid_much_else_does_not_tell_where_the_peer_is() {
        let Clock { mut seen, now } = Clock::new();
        let later = now + BETWEEN_LOOKS;
        assert!(!seen.read(later, LITTLE));
        assert!(seen.read(later, LITTLE - 1));
        assert!(seen.read(later + PAUSE, LITTLE));
        seen.looked = later;
        assert!(!seen.read(later, 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_leaves_a_core_may_run_on_all_as_before() {
        let before = cores::count();
        cores::leave();
        assert_eq!(cores::count(), before);
    }
}
