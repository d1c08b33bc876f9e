//! Tests of waiting for I/O.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;

use mio::Interest;

use super::*;

const SOON: Duration = Duration::from_secs(60);

/// Of whoever stands by.
const PATIENCE: Duration = Duration::from_millis(1);

/// Rings once something has happened to it.
#[derive(Default)]
struct Bell {
    happened: Mutex<Vec<&'static str>>,
    waiting: Mutex<Option<Arc<Signal>>>,
}

impl Bell {
    fn note(&self, what: &'static str) {
        lock(&self.happened).push(what);
        if let Some(signal) = lock(&self.waiting).take() {
            signal.ring();
        }
    }

    fn poll(&self) -> Poll<&'static str> {
        *lock(&self.waiting) = Some(Signal::of_this_thread().0);
        lock(&self.happened)
            .pop()
            .map_or(Poll::Pending, Poll::Ready)
    }
}

impl Source for Bell {
    fn ready(self: Arc<Self>, _: bool) {
        self.note("ready");
    }

    fn nudge(self: Arc<Self>) {
        self.note("nudge");
    }

    fn tick(self: Arc<Self>, _: Instant) {
        self.note("tick");
    }
}

fn with_bell() -> (Arc<Reactor>, Arc<Bell>, Token) {
    let reactor = Reactor::new(false).expect("resources");
    let (bell, token) = add_bell(&reactor);
    (reactor, bell, token)
}

fn add_bell(reactor: &Reactor) -> (Arc<Bell>, Token) {
    let bell = Arc::new(Bell::default());
    let token = reactor.token();
    reactor.add(token, Arc::clone(&bell) as Arc<dyn Source>);
    (bell, token)
}

#[test]
fn a_wait_ends_in_time() {
    let reactor = Reactor::new(false).expect("resources");
    let until = Instant::now() + Duration::from_millis(2);
    assert!(reactor.wait(until, |_| Poll::<()>::Pending).is_pending());
    assert!(Instant::now() >= until);
}

#[test]
fn alarms_and_nudges_reach_the_sources() {
    let (reactor, bell, _) = with_bell();
    reactor.set_alarm(Instant::now() + Duration::from_millis(2));
    let heard = reactor.wait(Instant::now() + SOON, |_| bell.poll());
    assert_eq!(heard, Poll::Ready("tick"));
    reactor.nudge();
    let heard = reactor.wait(Instant::now() + SOON, |_| bell.poll());
    assert_eq!(heard, Poll::Ready("nudge"));
}

#[test]
fn who_waits_is_reached_with_the_baton_and_without() {
    let reactor = Reactor::new(false).expect("resources");
    let told = Arc::new(AtomicBool::new(false));
    let wakers = Arc::new(Mutex::new(Vec::new()));
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let (reactor, told, wakers) =
                (Arc::clone(&reactor), Arc::clone(&told), Arc::clone(&wakers));
            thread::spawn(move || {
                reactor.wait(Instant::now() + SOON, |context| {
                    lock(&wakers).push(context.waker().clone());
                    if told.load(Ordering::SeqCst) {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    }
                })
            })
        })
        .collect();
    while lock(&wakers).len() < waiters.len() {
        thread::yield_now();
    }
    told.store(true, Ordering::SeqCst);
    lock(&wakers).iter().for_each(std::task::Waker::wake_by_ref);
    for waiter in waiters {
        assert!(waiter.join().expect("ends").is_ready());
    }
}

/// A thread that stands by until it is told that it is over; `asked` is how often it was asked whether it is.
fn standing_by_and_counting(
    reactor: &Arc<Reactor>,
    patience: Duration,
    over: &Arc<AtomicBool>,
    asked: &Arc<AtomicUsize>,
) -> thread::JoinHandle<Poll<()>> {
    let (reactor, over, asked) = (Arc::clone(reactor), Arc::clone(over), Arc::clone(asked));
    thread::spawn(move || {
        reactor.stand_by(patience, Instant::now() + SOON, |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            if over.load(Ordering::SeqCst) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
    })
}

fn standing_by(reactor: &Arc<Reactor>, over: &Arc<AtomicBool>) -> thread::JoinHandle<Poll<()>> {
    standing_by_and_counting(reactor, PATIENCE, over, &Arc::default())
}

/// Waits until whoever stands by watches, and nobody drives.
#[cfg(unix)]
fn until_it_watches(watch: &Watch) {
    while !watch.is_on() || watch.is_lent() {
        thread::yield_now();
    }
}

#[cfg(unix)]
fn until_it_happens(bell: &Bell, what: &str) {
    while lock(&bell.happened).pop() != Some(what) {
        thread::yield_now();
    }
}

fn end(reactor: &Reactor, over: &AtomicBool, standby: thread::JoinHandle<Poll<()>>) {
    over.store(true, Ordering::SeqCst);
    reactor.wake_standby();
    assert!(standby.join().expect("ends").is_ready());
}

fn drives_while_nobody_waits_and_lets_go(reactor: &Arc<Reactor>) {
    let (bell, token) = add_bell(reactor);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut peer = TcpStream::connect(listener.local_addr().expect("bound")).expect("it");
    let (accepted, _) = listener.accept().expect("a peer");
    accepted.set_nonblocking(true).expect("a socket");
    let mut accepted = mio::net::TcpStream::from_std(accepted);
    let readable = Interest::READABLE;
    reactor
        .registry()
        .register(&mut accepted, token, readable)
        .expect("registered");

    let over = Arc::new(AtomicBool::new(false));
    let standby = standing_by(reactor, &over);
    peer.write_all(b"x").expect("sent");
    while lock(&bell.happened).is_empty() {
        thread::yield_now();
    }
    // It has the baton, or is about to take it; a wait ends all the same.
    peer.write_all(b"y").expect("sent");
    let heard = reactor.wait(Instant::now() + SOON, |_| bell.poll());
    assert_eq!(heard, Poll::Ready("ready"));
    end(reactor, &over, standby);
}

#[test]
fn who_stands_by_drives_while_nobody_waits_and_lets_go() {
    drives_while_nobody_waits_and_lets_go(&Reactor::new(false).expect("resources"));
}

#[test]
fn it_does_so_where_the_system_has_no_second_poll() {
    let mut reactor = Reactor::new(false).expect("resources");
    Arc::get_mut(&mut reactor).expect("no other").watch = None;
    drives_while_nobody_waits_and_lets_go(&reactor);
}

#[cfg(unix)]
#[test]
fn the_baton_is_free_while_another_watches() {
    let (reactor, bell, _) = with_bell();
    let over = Arc::new(AtomicBool::new(false));
    let standby = standing_by(&reactor, &over);
    let watch = reactor.watch.as_ref().expect("a second poll");
    for _ in 0..3 {
        until_it_watches(watch);
        // Nobody is asked for it, and the watch goes on afterwards.
        assert!(!reactor.standby.ask_for_the_baton());
        let until = Instant::now() + PATIENCE;
        assert!(reactor.wait(until, |_| Poll::<()>::Pending).is_pending());
    }
    reactor.nudge();
    until_it_happens(&bell, "nudge");
    end(&reactor, &over, standby);
}

#[test]
fn who_stands_by_looks_whenever_it_is_roused() {
    let reactor = Reactor::new(false).expect("resources");
    let (asked, over) = <(Arc<AtomicUsize>, Arc<AtomicBool>)>::default();
    let standby = standing_by_and_counting(&reactor, Duration::ZERO, &over, &asked);
    for round in 0..50_000 {
        let before = asked.load(Ordering::SeqCst);
        // At any point of its way into sleep.
        (0..round % 1_000).for_each(|_| std::hint::spin_loop());
        reactor.rouse_standby();
        while asked.load(Ordering::SeqCst) == before {
            assert!(!standby.is_finished(), "it slept on in round {round}");
            thread::yield_now();
        }
    }
    end(&reactor, &over, standby);
}

#[cfg(unix)]
#[test]
fn an_alarm_that_is_set_while_another_drives_is_heard() {
    let (reactor, bell, _) = with_bell();
    let over = Arc::new(AtomicBool::new(false));
    let standby = standing_by(&reactor, &over);
    let watch = reactor.watch.as_ref().expect("a second poll");
    until_it_watches(watch);
    let driver = Arc::clone(&reactor);
    let drives = thread::spawn(move || {
        let until = Instant::now() + 5 * PATIENCE;
        driver.wait(until, |_| Poll::<()>::Pending)
    });
    while !watch.is_lent() && !drives.is_finished() {
        thread::yield_now();
    }
    // Whoever drives hears of it, and lets go before it is due.
    reactor.set_alarm(Instant::now() + 20 * PATIENCE);
    assert!(drives.join().expect("ends").is_pending());
    until_it_happens(&bell, "tick");
    end(&reactor, &over, standby);
}
