//! Where a server listens.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mio::net::TcpListener;
#[cfg(unix)]
use mio::net::UnixListener;
use mio::{Interest, Token, event::Source as _};
use socket2::{Domain, SockAddr, Socket as Raw, Type};

use super::super::link::Link;
use super::super::reactor::Source;
use super::super::socket::{Readiness, Socket, Stream};
use super::super::target::Address;
use super::super::tls::ServerTls;
use super::connection::Connection;
use super::shared::Shared;

/// Connections that wait to be taken; the system may allow fewer.
const BACKLOG: i32 = 4096;

/// Where the system has no means for another connection, it is asked again after so long.
const PAUSE: Duration = Duration::from_millis(100);

enum Listening {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// A listening socket.
pub(super) struct Listener {
    shared: Arc<Shared>,
    listening: Mutex<Option<Listening>>,
    address: Address,
    tls: Option<ServerTls>,
    token: Token,
}

/// Runs the same method of whichever it is.
macro_rules! with_listening {
    ($listening:expr, $inner:ident => $do:expr) => {
        match $listening {
            Listening::Tcp($inner) => $do,
            #[cfg(unix)]
            Listening::Unix($inner) => $do,
        }
    };
}

impl Listener {
    /// Binds `address`; connections wait until the server starts. Returns the port, 1 for a Unix socket as in grpcio.
    ///
    /// # Errors
    /// What the system says.
    pub fn bind(
        shared: &Arc<Shared>,
        address: Address,
        tls: Option<ServerTls>,
    ) -> io::Result<(Arc<Self>, u16)> {
        let (listening, port) = match &address {
            Address::Inet(address) => bind_tcp(*address, shared.options.reuse_port)?,
            Address::Unix(path) => (bind_unix(path)?, 1),
            Address::Abstract(name) => (bind_abstract(name)?, 1),
        };
        let listener = Arc::new(Self {
            shared: Arc::clone(shared),
            listening: Mutex::new(Some(listening)),
            address,
            tls,
            token: shared.reactor.token(),
        });
        Ok((listener, port))
    }

    /// Begins to take connections.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(self: &Arc<Self>) -> io::Result<()> {
        let registry = self.shared.reactor.registry();
        if let Some(listening) = self.lock().as_mut() {
            let (token, interest) = (self.token, Interest::READABLE);
            with_listening!(listening, l => l.register(registry, token, interest))?;
        }
        let source = Arc::clone(self) as Arc<dyn Source>;
        self.shared.reactor.add(self.token, source);
        Ok(())
    }

    /// Takes no more connections.
    pub fn close(&self) {
        let Some(mut listening) = self.lock().take() else {
            return;
        };
        self.shared.reactor.remove(self.token);
        let registry = self.shared.reactor.registry();
        drop(with_listening!(&mut listening, l => l.deregister(registry)));
        if let Address::Unix(path) = &self.address {
            // As grpcio, which leaves no file behind either.
            drop(std::fs::remove_file(path));
        }
    }

    fn accept_all(self: &Arc<Self>) {
        loop {
            match self.accept() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // That peer is gone already.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) => {}
                Err(_) => return self.shared.reactor.set_alarm(Instant::now() + PAUSE),
            }
        }
    }

    /// Takes one connection. False: the listener is closed.
    fn accept(self: &Arc<Self>) -> io::Result<bool> {
        let (stream, address) = match &*self.lock() {
            None => return Ok(false),
            Some(Listening::Tcp(listener)) => {
                let (stream, peer) = listener.accept()?;
                // It fails only where the peer is gone.
                drop(stream.set_nodelay(true));
                (Stream::Tcp(stream), Address::Inet(peer).to_string())
            }
            #[cfg(unix)]
            Some(Listening::Unix(listener)) => {
                let (stream, peer) = listener.accept()?;
                let path = peer.as_pathname().map(|path| path.to_string_lossy());
                let path = path.unwrap_or_default().into_owned();
                (Stream::Unix(stream), Address::Unix(path).to_string())
            }
        };
        self.begin(stream, address)?;
        Ok(true)
    }

    fn begin(&self, stream: Stream, address: String) -> io::Result<()> {
        let shared = &self.shared;
        let token = shared.reactor.token();
        let readiness = Arc::<Readiness>::default();
        let reactor = Arc::clone(&shared.reactor);
        let mut socket = Socket::new(stream, reactor, token, Arc::clone(&readiness))?;
        socket.connected();
        let id = shared.next_id();
        let (connection, handle) = Connection::new(shared, id, socket, self.tls.as_ref(), address);
        let link = Link::start(&shared.reactor, token, readiness, Box::new(connection));
        // It cannot be set before: nobody else drives the connection while this thread has the baton.
        handle.link.get_or_init(|| Arc::downgrade(&link));
        if shared.remember(id, &link, handle.roster) {
            link.pump();
        } else {
            link.kill();
        }
        Ok(())
    }

    /// Nothing panics while this is held.
    fn lock(&self) -> MutexGuard<'_, Option<Listening>> {
        self.listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Listener {
    fn ready(self: Arc<Self>, _: bool) {
        self.accept_all();
    }

    fn nudge(self: Arc<Self>) {}

    fn tick(self: Arc<Self>, _: Instant) {
        self.accept_all();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.close();
    }
}

fn bind_tcp(address: SocketAddr, reuse_port: bool) -> io::Result<(Listening, u16)> {
    let socket = Raw::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        // As grpcio: `[::]` is every address, of IPv4 too.
        socket.set_only_v6(false)?;
    }
    #[cfg(unix)]
    {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(reuse_port)?;
    }
    #[cfg(not(unix))]
    let _ = reuse_port;
    listen(&socket, &address.into())?;
    let listener = std::net::TcpListener::from(socket);
    let port = listener.local_addr()?.port();
    Ok((Listening::Tcp(TcpListener::from_std(listener)), port))
}

fn listen(socket: &Raw, address: &SockAddr) -> io::Result<()> {
    socket.bind(address)?;
    socket.set_nonblocking(true)?;
    socket.listen(BACKLOG)
}

#[cfg(unix)]
fn bind_unix(path: &str) -> io::Result<Listening> {
    use std::os::unix::fs::FileTypeExt;

    // As grpcio: the socket of a server that has died is in the way.
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        std::fs::remove_file(path)?;
    }
    listen_unix(&SockAddr::unix(path)?)
}

#[cfg(unix)]
fn bind_abstract(name: &[u8]) -> io::Result<Listening> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let name = [b"\0", name].concat();
    listen_unix(&SockAddr::unix(OsStr::from_bytes(&name))?)
}

#[cfg(unix)]
fn listen_unix(address: &SockAddr) -> io::Result<Listening> {
    let socket = Raw::new(Domain::UNIX, Type::STREAM, None)?;
    listen(&socket, address)?;
    let listener = std::os::unix::net::UnixListener::from(socket);
    Ok(Listening::Unix(UnixListener::from_std(listener)))
}

#[cfg(not(unix))]
fn bind_unix(_: &str) -> io::Result<Listening> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn bind_abstract(_: &[u8]) -> io::Result<Listening> {
    Err(ErrorKind::Unsupported.into())
}
