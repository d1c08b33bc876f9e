//! Calls against a peer that follows a script, frame by frame.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::*;
use crate::transport::Outgoing;
use crate::transport::code::Code;
use crate::transport::compression::Encoding;
use crate::transport::metadata::Metadata;
use crate::transport::status::Status;
use crate::transport::target::Target;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status: 200`, from HPACK's static table.
const OK_200: u8 = 0x88;

struct Peer {
    listener: TcpListener,
}

/// A connection of a client, read frame by frame.
struct Accepted(TcpStream);

impl Peer {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self { listener }
    }

    fn channel(&self) -> Channel {
        let address = self.listener.local_addr().expect("bound");
        let target = Target::parse(&address.to_string()).expect("a target");
        Channel::new(target, ChannelOptions::default(), None).expect("a channel")
    }

    fn follow<T: Send + 'static>(
        self,
        script: impl FnOnce(&TcpListener) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        thread::spawn(move || script(&self.listener))
    }
}

fn accept(listener: &TcpListener) -> Accepted {
    let (mut stream, _) = listener.accept().expect("a client");
    stream.read_exact(&mut [0; 24]).expect("the preface");
    let mut accepted = Accepted(stream);
    accepted.send(SETTINGS, 0, 0, &[]);
    accepted
}

impl Accepted {
    fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).expect("sent");
    }

    fn frame(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some((head[3], head[4], stream, payload))
    }

    /// The stream of the next request, when all of it has come.
    fn request(&mut self) -> u32 {
        loop {
            match self.frame().expect("the client is there") {
                (SETTINGS, 0, ..) => self.send(SETTINGS, ACK, 0, &[]),
                (DATA, END_STREAM, stream, _) => return stream,
                _ => {}
            }
        }
    }

    fn answer(&mut self, stream: u32, message: &[u8]) {
        self.send(HEADERS, END_HEADERS, stream, &[OK_200]);
        let size = u32::try_from(message.len()).expect("short").to_be_bytes();
        self.send(DATA, 0, stream, &[&[0], &size[..], message].concat());
        self.send(HEADERS, END_HEADERS | END_STREAM, stream, &status(b'0'));
    }

    /// What the client says until it goes.
    fn rest(&mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.frame().map(|(kind, ..)| kind)).collect()
    }
}

/// `grpc-status` as a literal of HPACK's.
fn status(code: u8) -> Vec<u8> {
    [b"\x00\x0bgrpc-status\x01", &[code][..]].concat()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn options() -> CallOptions {
    CallOptions {
        path: "/service/method".to_owned(),
        metadata: Metadata::default(),
        deadline: None,
        wait_for_ready: false,
        encoding: Encoding::Identity,
    }
}

fn ask(call: &Call) {
    let mut framer = call.framer();
    framer.message(&[b"question"]).expect("it is small");
    framer.flush();
    let question = framer.segment().expect("there is one message");
    assert!(call.send(&question, true, soon()).is_ready());
}

/// Makes a call of one message, and waits for all that comes of it.
fn call(channel: &Channel, options: CallOptions) -> (Option<Vec<u8>>, Status) {
    let call = channel.start(options).expect("the channel is open");
    ask(&call);
    let Poll::Ready(message) = call.message(soon()) else {
        panic!("the call lasts for ever")
    };
    let Poll::Ready(status) = call.status(soon()) else {
        panic!("the call lasts for ever")
    };
    (message.map(|message| message.to_vec()), status)
}

#[test]
fn an_answer() {
    let peer = Peer::new();
    let channel = peer.channel();
    assert_eq!(channel.connectivity(false), Connectivity::Idle);
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        for answer in [&b"answer"[..], b""] {
            let stream = client.request();
            client.answer(stream, answer);
        }
        client.rest()
    });
    let (message, status) = call(&channel, options());
    assert_eq!(
        (message.as_deref(), status),
        (Some(&b"answer"[..]), Status::ok())
    );
    let (message, status) = call(&channel, options());
    assert_eq!((message.as_deref(), status), (Some(&b""[..]), Status::ok()));
    assert_eq!(channel.connectivity(false), Connectivity::Ready);
    channel.close(CLOSED);
    assert_eq!(channel.connectivity(false), Connectivity::Shutdown);
    assert!(channel.start(options()).is_none());
    assert!(!server.join().expect("followed").contains(&RST_STREAM));
}

#[test]
fn what_the_server_has_not_looked_at_is_asked_once_more() {
    let peer = Peer::new();
    let channel = peer.channel();
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        client.request();
        client.send(GOAWAY, 0, 0, &[0; 8]);
        let mut again = accept(listener);
        let stream = again.request();
        again.answer(stream, b"second");
        again.rest();
    });
    let (message, status) = call(&channel, options());
    assert_eq!(
        (message.as_deref(), status),
        (Some(&b"second"[..]), Status::ok())
    );
    channel.close(CLOSED);
    server.join().expect("followed");
}

#[test]
fn a_refused_stream_is_asked_once_more_and_no_oftener() {
    let peer = Peer::new();
    let channel = peer.channel();
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        for _ in 0..2 {
            let stream = client.request();
            client.send(RST_STREAM, 0, stream, &[0, 0, 0, 7]);
        }
        client.rest()
    });
    let (message, status) = call(&channel, options());
    assert_eq!((message, status.code), (None, Code::Unavailable));
    channel.close(CLOSED);
    assert!(!server.join().expect("followed").contains(&HEADERS));
}

#[test]
fn what_the_server_may_have_looked_at_is_never_asked_again() {
    let peer = Peer::new();
    let channel = peer.channel();
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        let stream = client.request();
        // It names the stream, so it may have run the call; then it is gone.
        let last = stream.to_be_bytes();
        client.send(GOAWAY, 0, 0, &[&last[..], &[0; 4]].concat());
        drop(client);
        listener.set_nonblocking(true).expect("a socket");
    });
    let (message, status) = call(&channel, options());
    assert_eq!((message, status.code), (None, Code::Unavailable));
    server.join().expect("followed");
}

#[test]
fn a_status_outlives_the_reset_that_follows() {
    let peer = Peer::new();
    let channel = peer.channel();
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        let stream = client.request();
        let headers = [&[OK_200], &status(b'9')[..]].concat();
        client.send(HEADERS, END_HEADERS | END_STREAM, stream, &headers);
        client.send(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
        client.rest();
    });
    let (message, status) = call(&channel, options());
    assert_eq!((message, status.code), (None, Code::FailedPrecondition));
    channel.close(CLOSED);
    server.join().expect("followed");
}

#[test]
fn a_deadline_cancels_the_stream() {
    let peer = Peer::new();
    let channel = peer.channel();
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        client.request();
        client.rest()
    });
    let deadline = Some(Instant::now() + Duration::from_millis(300));
    let (message, status) = call(
        &channel,
        CallOptions {
            deadline,
            ..options()
        },
    );
    assert_eq!((message, status.code), (None, Code::DeadlineExceeded));
    channel.close(CLOSED);
    assert!(server.join().expect("followed").contains(&RST_STREAM));
}

#[test]
fn closing_ends_the_calls_of_other_threads() {
    let peer = Peer::new();
    let channel = peer.channel();
    let server = peer.follow(|listener| {
        let mut client = accept(listener);
        client.request();
        client.rest();
    });
    let waiting = channel.start(options()).expect("the channel is open");
    ask(&waiting);
    let waiter = thread::spawn(move || waiting.status(soon()));
    while channel.connectivity(false) != Connectivity::Ready {
        thread::sleep(Duration::from_millis(1));
    }
    channel.close(CLOSED);
    let status = waiter.join().expect("ends");
    assert_eq!(status, Poll::Ready(Status::new(Code::Cancelled, CLOSED)));
    server.join().expect("followed");
}

#[test]
fn nobody_is_there() {
    let peer = Peer::new();
    let channel = peer.channel();
    drop(peer);
    let (message, status) = call(&channel, options());
    assert_eq!((message, status.code), (None, Code::Unavailable));
    assert!(
        status
            .message
            .starts_with("failed to connect to all addresses")
    );
    assert_eq!(channel.connectivity(false), Connectivity::TransientFailure);
}
