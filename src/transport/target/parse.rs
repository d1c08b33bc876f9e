//! Targets as users write them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use http::uri::Authority;

use super::super::percent;
use super::{Address, Endpoint, LONGEST_PATH, Reason, Target};

/// Where a name has no port.
pub const DEFAULT_PORT: u16 = 443;

/// What a server on a Unix socket is called in `:authority`.
const LOCAL_AUTHORITY: &str = "localhost";

/// Schemes that gRPC knows and this transport does not.
const UNSUPPORTED: [&str; 3] = ["google-c2p", "vsock", "xds"];

pub(super) fn parse(text: &str) -> Result<Target, Reason> {
    let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
    match scheme.to_ascii_lowercase().as_str() {
        "dns" => name(&percent::decode(without_server(rest).as_bytes())),
        "ipv4" => addresses(rest, |part| {
            let address: SocketAddrV4 = part.parse().ok()?;
            Some(SocketAddr::V4(address))
        }),
        "ipv6" => addresses(rest, |part| {
            let address: SocketAddrV6 = percent::decode(part.as_bytes()).parse().ok()?;
            Some(SocketAddr::V6(address))
        }),
        "unix" => unix(rest),
        "unix-abstract" => unix_abstract(rest),
        other if UNSUPPORTED.contains(&other) => Err(Reason::Scheme(other.to_owned())),
        // Whatever else stands before a colon is a host.
        _ => name(text),
    }
}

/// What follows the server in `//SERVER/HOST`.
fn without_server(rest: &str) -> &str {
    match rest.strip_prefix("//") {
        Some(rest) => rest.split_once('/').map_or("", |(_, path)| path),
        None => rest.strip_prefix('/').unwrap_or(rest),
    }
}

fn name(text: &str) -> Result<Target, Reason> {
    let (host, port) = split_port(text)?;
    let port_number = match port {
        None | Some("") => DEFAULT_PORT,
        Some(port) => parse_port(port)?,
    };
    if host.is_empty() {
        return Err(Reason::NoHost);
    }
    let ip: Option<IpAddr> = host.parse().ok();
    // A zone means nothing to the server.
    let bare = host.split_once('%').map_or(host, |(bare, _)| bare);
    let mut authority = if bare.parse::<Ipv6Addr>().is_ok() {
        format!("[{bare}]")
    } else {
        bare.to_owned()
    };
    if let Some(port) = port.filter(|port| !port.is_empty()) {
        authority = format!("{authority}:{port}");
    }
    if authority.parse::<Authority>().is_err() || host.contains('@') {
        return Err(Reason::Host(host.to_owned()));
    }
    let endpoint = match ip {
        Some(ip) => Endpoint::Addresses(vec![Address::Inet(SocketAddr::new(ip, port_number))]),
        None => Endpoint::Name {
            host: host.to_owned(),
            port: port_number,
        },
    };
    Ok(Target {
        endpoint,
        authority,
    })
}

/// The host without brackets, and the port if there is one.
pub(super) fn split_port(text: &str) -> Result<(&str, Option<&str>), Reason> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or(Reason::Brackets)?;
        let port = match after {
            "" => None,
            after => Some(after.strip_prefix(':').ok_or(Reason::Brackets)?),
        };
        return Ok((host, port));
    }
    match text.split_once(':') {
        // More than one colon: an IPv6 address.
        Some((_, after)) if after.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, Reason> {
    match text {
        "http" => Ok(80),
        "https" => Ok(443),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map_err(|_| Reason::Port(text.to_owned()))
        }
        _ => Err(Reason::Port(text.to_owned())),
    }
}

fn addresses(rest: &str, read: impl Fn(&str) -> Option<SocketAddr>) -> Result<Target, Reason> {
    let list = without_server(rest);
    let found: Result<Vec<SocketAddr>, Reason> = list
        .split(',')
        .map(|part| read(part).ok_or_else(|| Reason::Address(part.to_owned())))
        .collect();
    let found = found?;
    let authority = found.first().map(|&first| match first {
        SocketAddr::V4(address) => address.to_string(),
        SocketAddr::V6(address) => format!("[{}]:{}", address.ip(), address.port()),
    });
    Ok(Target {
        endpoint: Endpoint::Addresses(found.into_iter().map(Address::Inet).collect()),
        authority: authority.unwrap_or_default(),
    })
}

fn unix(rest: &str) -> Result<Target, Reason> {
    let path = match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(Reason::RelativePath),
        None => rest,
    };
    let path = percent::decode(path.as_bytes());
    if path.is_empty() {
        return Err(Reason::NoPath);
    }
    if path.len() > LONGEST_PATH || path.contains('\0') {
        return Err(Reason::Path);
    }
    #[cfg(not(unix))]
    return Err(Reason::System);
    #[cfg(unix)]
    Ok(local(Address::Unix(path)))
}

fn unix_abstract(rest: &str) -> Result<Target, Reason> {
    let name = percent::decode_bytes(rest.as_bytes());
    if name.is_empty() {
        return Err(Reason::NoPath);
    }
    if name.len() > LONGEST_PATH {
        return Err(Reason::Path);
    }
    #[cfg(not(target_os = "linux"))]
    return Err(Reason::System);
    #[cfg(target_os = "linux")]
    Ok(local(Address::Abstract(name)))
}

#[cfg(unix)]
fn local(address: Address) -> Target {
    Target {
        endpoint: Endpoint::Addresses(vec![address]),
        authority: LOCAL_AUTHORITY.to_owned(),
    }
}
