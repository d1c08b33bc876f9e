//! Handshakes between both sides, in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::test_certificates::{
    CA, CLIENT, CLIENT_KEY, SELF_SIGNED, SELF_SIGNED_KEY, SERVER, SERVER_KEY, VERSION_1,
    VERSION_1_KEY,
};
use super::*;

type Bytes = Rc<RefCell<VecDeque<u8>>>;

/// One end of a connection whose other end the same thread has.
#[derive(Debug)]
struct End {
    incoming: Bytes,
    outgoing: Bytes,
}

fn ends() -> (End, End) {
    let (up, down) = (Bytes::default(), Bytes::default());
    let near = End {
        incoming: Rc::clone(&down),
        outgoing: Rc::clone(&up),
    };
    let far = End {
        incoming: up,
        outgoing: down,
    };
    (near, far)
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut incoming = self.incoming.borrow_mut();
        if incoming.is_empty() {
            // The other end is gone.
            if Rc::strong_count(&self.incoming) == 1 {
                return Poll::Ready(Ok(()));
            }
            return Poll::Pending;
        }
        let count = incoming.len().min(buffer.remaining());
        let bytes: Vec<u8> = incoming.drain(..count).collect();
        buffer.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.outgoing.borrow_mut().extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

type Outcome = Result<Io<End>, String>;

/// Opens a connection from both sides; one that has failed is gone for the other.
fn open(client: Option<&ClientTls>, name: &str, server: Option<&ServerTls>) -> (Outcome, Outcome) {
    let (near, far) = ends();
    let name = server_name(name).expect("it is a name");
    let mut openings = [
        Some(Opening::client(near, client.map(|client| (client, name)))),
        Some(Opening::server(far, server)),
    ];
    let mut outcomes = [None, None];
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..100 {
        for (opening, outcome) in openings.iter_mut().zip(&mut outcomes) {
            if let Some(running) = opening
                && let Poll::Ready(ended) = Pin::new(running).poll(&mut context)
            {
                *outcome = Some(ended.map_err(|error| error.to_string()));
                *opening = None;
            }
        }
    }
    let [near, far] = outcomes.map(|outcome| outcome.unwrap_or(Err("still waits".to_owned())));
    (near, far)
}

fn client(roots: &str) -> ClientTls {
    ClientTls::new(Some(roots.as_bytes()), None, None).expect("the roots are good")
}

fn client_with(roots: &str, key: &str, chain: &str) -> ClientTls {
    let (key, chain) = (Some(key.as_bytes()), Some(chain.as_bytes()));
    ClientTls::new(Some(roots.as_bytes()), key, chain).expect("all is good")
}

fn server(pairs: &[(&str, &str)], roots: Option<&str>) -> ServerTls {
    let pairs: Vec<(&[u8], &[u8])> = pairs
        .iter()
        .map(|(key, chain)| (key.as_bytes(), chain.as_bytes()))
        .collect();
    ServerTls::new(&pairs, roots.map(str::as_bytes), roots.is_some()).expect("all is good")
}

fn send(from: &mut Io<End>, to: &mut Io<End>) {
    let mut context = Context::from_waker(Waker::noop());
    let sent = Pin::new(&mut *from).poll_write(&mut context, b"hello");
    assert!(matches!(sent, Poll::Ready(Ok(5))));
    assert!(Pin::new(from).poll_flush(&mut context).is_ready());
    let mut space = [0; 10];
    let mut buffer = ReadBuf::new(&mut space);
    let read = Pin::new(to).poll_read(&mut context, &mut buffer);
    assert!(matches!(read, Poll::Ready(Ok(()))));
    assert_eq!(buffer.filled(), b"hello");
}

#[test]
fn bytes_go_both_ways_with_and_without_tls() {
    let tls = (client(CA), server(&[(SERVER_KEY, SERVER)], None));
    for (client, server) in [(None, None), (Some(&tls.0), Some(&tls.1))] {
        let (near, far) = open(client, "localhost", server);
        let (mut near, mut far) = (near.expect("it opens"), far.expect("it opens"));
        send(&mut near, &mut far);
        send(&mut far, &mut near);
        let kind = if server.is_some() { "ssl" } else { "insecure" };
        assert_eq!(
            far.peer_properties()[0],
            ("transport_security_type", vec![kind.as_bytes().to_vec()])
        );
    }
}

#[test]
fn certificates_that_grpcio_takes_are_taken() {
    let pairs = [
        (SELF_SIGNED, SELF_SIGNED_KEY, SELF_SIGNED),
        (CA, VERSION_1_KEY, VERSION_1),
        (SERVER, SERVER_KEY, SERVER),
    ];
    for (roots, key, chain) in pairs {
        let (near, far) = open(
            Some(&client(roots)),
            "localhost",
            Some(&server(&[(key, chain)], None)),
        );
        assert_eq!((near.err(), far.err()), (None, None));
    }
}

#[test]
fn an_unknown_server_and_one_of_another_name_are_refused() {
    let server = server(&[(SERVER_KEY, SERVER)], None);
    let (near, far) = open(Some(&client(SELF_SIGNED)), "localhost", Some(&server));
    let near = near.expect_err("it is unknown");
    assert!(
        near.starts_with("Ssl handshake failed: invalid peer certificate"),
        "{near}"
    );
    assert!(far.is_err());
    let (near, _) = open(Some(&client(CA)), "other.org", Some(&server));
    let near = near.expect_err("it has another name");
    assert_eq!(near, "Peer name other.org is not in peer certificate");
    let unknowing = ClientTls::new(None, None, None).expect("the roots are built in");
    assert!(
        open(Some(&unknowing), "localhost", Some(&server))
            .0
            .is_err()
    );
}

#[test]
fn a_server_may_ask_who_is_there() {
    let server = server(&[(SERVER_KEY, SERVER)], Some(CA));
    let clients = [
        (client_with(CA, CLIENT_KEY, CLIENT), Some("clientcn")),
        (client_with(CA, VERSION_1_KEY, VERSION_1), Some("localhost")),
        (client_with(CA, SELF_SIGNED_KEY, SELF_SIGNED), None),
        (client(CA), None),
    ];
    for (client, common_name) in clients {
        let (_, far) = open(Some(&client), "localhost", Some(&server));
        let properties = far.ok().map(|far| far.peer_properties());
        let found = properties.and_then(|properties| {
            let found = properties
                .into_iter()
                .find(|(name, _)| *name == "x509_common_name");
            found.map(|(_, values)| values.concat())
        });
        assert_eq!(found.as_deref(), common_name.map(str::as_bytes));
    }
}

#[test]
fn the_certificate_that_the_client_wants_is_shown() {
    let server = server(
        &[(SELF_SIGNED_KEY, SELF_SIGNED), (SERVER_KEY, SERVER)],
        None,
    );
    let cases = [
        (CA, "a.example.com", true),
        (CA, "other", false),
        (SELF_SIGNED, "localhost", true),
    ];
    for (roots, name, fits) in cases {
        assert_eq!(
            open(Some(&client(roots)), name, Some(&server)).0.is_ok(),
            fits,
            "{name}"
        );
    }
}

#[test]
fn tls_on_one_side_alone_ends_with_an_error() {
    let server = server(&[(SERVER_KEY, SERVER)], None);
    let (near, far) = ends();
    near.outgoing
        .borrow_mut()
        .extend(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let mut opening = Opening::server(far, Some(&server));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Err(error)) = Pin::new(&mut opening).poll(&mut context) else {
        panic!("it is no handshake");
    };
    assert!(
        error.to_string().starts_with("Ssl handshake failed: "),
        "{error}"
    );
    drop(near);
}

#[test]
fn a_peer_that_goes_away_has_closed_the_socket() {
    let (near, far) = ends();
    drop(far);
    let name = server_name("localhost").expect("it is a name");
    let mut opening = Opening::client(near, Some((&client(CA), name)));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(Err(error)) = Pin::new(&mut opening).poll(&mut context) else {
        panic!("nobody is there");
    };
    assert_eq!(error.to_string(), "Socket closed");
}

#[test]
fn credentials_that_cannot_work_are_refused() {
    let key = Some(CLIENT_KEY.as_bytes());
    let half = ClientTls::new(None, key, None).map(drop);
    assert!(matches!(half, Err(TlsError::HalfIdentity)));
    let roots = ClientTls::new(Some(b"junk"), None, None).map(drop);
    assert!(matches!(
        roots,
        Err(TlsError::NoCertificate(Part::RootCertificates))
    ));
    let nobody = ServerTls::new(&[], None, false).map(drop);
    assert!(matches!(nobody, Err(TlsError::NoIdentity)));
    let pair = (SERVER_KEY.as_bytes(), SERVER.as_bytes());
    let locked = ServerTls::new(&[pair], None, true).map(drop);
    assert!(matches!(locked, Err(TlsError::NoRoots)));
    assert!(matches!(server_name("a b"), Err(TlsError::Name(_))));
}
