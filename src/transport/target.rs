//! The names under which a server is called, and those under which it listens.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/naming.md>

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use super::status::io_text;

mod parse;

/// What a Unix socket's name may take: `sun_path` without its final zero.
const LONGEST_PATH: usize = 107;

/// Where a socket is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// TCP.
    Inet(SocketAddr),
    /// A Unix socket in the file system.
    Unix(String),
    /// A Unix socket of Linux's without a file: the name, which any bytes make.
    Abstract(Vec<u8>),
}

impl fmt::Display for Address {
    /// As `context.peer()` has it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(SocketAddr::V4(address)) => write!(formatter, "ipv4:{address}"),
            Self::Inet(SocketAddr::V6(address)) => {
                let ip = address.ip();
                write!(formatter, "ipv6:%5B{ip}")?;
                if address.scope_id() != 0 {
                    write!(formatter, "%25{}", address.scope_id())?;
                }
                write!(formatter, "%5D:{}", address.port())
            }
            Self::Unix(path) => write!(formatter, "unix:{path}"),
            Self::Abstract(name) => {
                write!(formatter, "unix-abstract:{}", String::from_utf8_lossy(name))
            }
        }
    }
}

/// What is wrong with a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{target:?} is not a target: {reason}")]
pub struct TargetError {
    target: String,
    reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error("it names no host")]
    NoHost,
    #[error("a bracket is not closed, or is followed by something other than a port")]
    Brackets,
    #[error("{0:?} is not a port")]
    Port(String),
    #[error("{0:?} is not an address with a port of the kind that the scheme tells")]
    Address(String),
    #[error("{0:?} cannot be a host's name")]
    Host(String),
    #[error("it names no path")]
    NoPath,
    #[error("the path of a Unix socket has {LONGEST_PATH} bytes at most and no zeros")]
    Path,
    #[error("after unix:// an absolute path is needed")]
    RelativePath,
    #[error("the scheme {0} is not supported")]
    Scheme(String),
    #[error("this system has no such sockets")]
    #[cfg_attr(
        target_os = "linux",
        expect(dead_code, reason = "Linux has both kinds")
    )]
    System,
}

/// A name could not be resolved.
#[derive(Debug, thiserror::Error)]
#[error("DNS resolution failed for {name}: {}", io_text(.source))]
pub struct ResolveError {
    name: String,
    source: io::Error,
}

/// Where to connect to, or to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    endpoint: Endpoint,
    authority: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Endpoint {
    /// To be resolved.
    Name {
        host: String,
        port: u16,
    },
    Addresses(Vec<Address>),
}

impl Target {
    /// Reads a target as `grpc.insecure_channel` takes it.
    ///
    /// `dns://SERVER/HOST` asks the system's resolver all the same, whatever server it names.
    ///
    /// # Errors
    /// What is wrong with it, where grpcio gives a channel on which every call fails.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        parse::parse(text).map_err(|reason| TargetError {
            target: text.to_owned(),
            reason,
        })
    }

    /// Reads an address as `add_insecure_port` takes it: a target, or `*:PORT` for every interface.
    ///
    /// # Errors
    /// As for `parse`.
    pub fn parse_listening(text: &str) -> Result<Self, TargetError> {
        match text.strip_prefix("*:") {
            Some(port) => Self::parse(&format!("[::]:{port}")),
            None => Self::parse(text),
        }
    }

    /// What `:authority` is unless an option says otherwise.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The name of the server that a certificate is checked for, unless an option says otherwise.
    #[must_use]
    pub fn server_name(&self) -> &str {
        host_of(&self.authority)
    }

    /// The addresses, where no name must be resolved for them.
    #[must_use]
    pub fn addresses(&self) -> Option<&[Address]> {
        match &self.endpoint {
            Endpoint::Addresses(addresses) => Some(addresses),
            Endpoint::Name { .. } => None,
        }
    }

    /// The addresses, in the order in which they are to be tried. It may wait for the system's resolver.
    ///
    /// # Errors
    /// The name is not known, or has no addresses.
    pub fn resolve(&self) -> Result<Vec<Address>, ResolveError> {
        let (host, port) = match &self.endpoint {
            Endpoint::Addresses(addresses) => return Ok(addresses.clone()),
            Endpoint::Name { host, port } => (host, *port),
        };
        let failed = |source| ResolveError {
            name: format!("{host}:{port}"),
            source,
        };
        let found = (host.as_str(), port).to_socket_addrs().map_err(failed)?;
        let mut addresses = Vec::new();
        for address in found.map(Address::Inet) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(failed(io::Error::other("the name has no addresses")));
        }
        Ok(addresses)
    }
}

/// The host of an authority, without brackets and port.
#[must_use]
pub fn host_of(authority: &str) -> &str {
    match parse::split_port(authority) {
        Ok((host, _)) => host,
        Err(_) => authority,
    }
}

#[cfg(test)]
mod tests;
