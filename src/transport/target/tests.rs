//! Every form of a target, and what is none.

use super::*;

/// Addresses as text, or the name to be resolved; then the authority.
fn parsed(text: &str) -> (String, String) {
    let target = Target::parse(text).expect(text);
    let endpoint = match &target.endpoint {
        Endpoint::Name { host, port } => format!("{host} {port}"),
        Endpoint::Addresses(addresses) => addresses
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" "),
    };
    (endpoint, target.authority)
}

#[test]
fn every_form_that_grpcio_takes() {
    let cases = [
        ("localhost:50051", "localhost 50051", "localhost:50051"),
        ("localhost", "localhost 443", "localhost"),
        ("localhost:", "localhost 443", "localhost"),
        ("localhost:http", "localhost 80", "localhost:http"),
        (
            "my_service.a-b.c:1",
            "my_service.a-b.c 1",
            "my_service.a-b.c:1",
        ),
        ("127.0.0.1:0", "ipv4:127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1", "ipv4:127.0.0.1:443", "127.0.0.1"),
        ("[::1]:50051", "ipv6:%5B::1%5D:50051", "[::1]:50051"),
        ("[::1]", "ipv6:%5B::1%5D:443", "[::1]"),
        ("::1", "ipv6:%5B::1%5D:443", "[::1]"),
        ("[fe80::1%eth0]:5", "fe80::1%eth0 5", "[fe80::1]:5"),
        ("dns:///a.b:1", "a.b 1", "a.b:1"),
        ("dns:a.b:1", "a.b 1", "a.b:1"),
        ("dns:/a.b", "a.b 443", "a.b"),
        ("dns://8.8.8.8/a.b:1", "a.b 1", "a.b:1"),
        ("DNS:///10.0.0.1:2", "ipv4:10.0.0.1:2", "10.0.0.1:2"),
        ("ipv4:1.2.3.4:5", "ipv4:1.2.3.4:5", "1.2.3.4:5"),
        (
            "ipv4:1.2.3.4:5,6.7.8.9:10",
            "ipv4:1.2.3.4:5 ipv4:6.7.8.9:10",
            "1.2.3.4:5",
        ),
        ("ipv4:///1.2.3.4:5", "ipv4:1.2.3.4:5", "1.2.3.4:5"),
        ("ipv6:[::1]:5", "ipv6:%5B::1%5D:5", "[::1]:5"),
        (
            "ipv6:%5B::1%5D:5,[::2]:6",
            "ipv6:%5B::1%5D:5 ipv6:%5B::2%5D:6",
            "[::1]:5",
        ),
        (
            "ipv6:[fe80::1%253]:5",
            "ipv6:%5Bfe80::1%253%5D:5",
            "[fe80::1]:5",
        ),
    ];
    for (text, endpoint, authority) in cases {
        assert_eq!(
            parsed(text),
            (endpoint.to_owned(), authority.to_owned()),
            "{text}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn unix_sockets() {
    let cases = [
        ("unix:relative/x.sock", "unix:relative/x.sock"),
        ("unix:/tmp/x.sock", "unix:/tmp/x.sock"),
        ("unix:///tmp/a%20b", "unix:/tmp/a b"),
        ("unix-abstract:name", "unix-abstract:name"),
        ("unix-abstract:a%00b", "unix-abstract:a\0b"),
    ];
    for (text, endpoint) in cases {
        assert_eq!(parsed(text), (endpoint.to_owned(), "localhost".to_owned()));
    }
    let longest = format!("unix:{}", "p".repeat(LONGEST_PATH));
    assert!(Target::parse(&longest).is_ok());
    assert!(Target::parse(&format!("{longest}p")).is_err());
}

#[test]
fn what_is_no_target_is_named() {
    let cases = [
        "",
        ":1",
        "dns:",
        "dns://",
        "dns:///",
        "dns:///:5",
        "[]:1",
        "[::1",
        "[::1]x",
        "a:65536",
        "a:-1",
        "a:+1",
        "a:1x",
        "a b:1",
        "a@b:1",
        "ipv4:",
        "ipv4:1.2.3.4",
        "ipv4:x:1",
        "ipv4:[::1]:1",
        "ipv4:1.2.3.4:5,",
        "ipv6:::1:5",
        "ipv6:1.2.3.4:5",
        "unix:",
        "unix://",
        "unix://host/p",
        "unix:a%00b",
        "unix-abstract:",
        "xds:///a",
        "vsock:1:2",
        "http://x",
        "a/b:1",
        "é:1",
    ];
    for text in cases {
        let error = Target::parse(text).expect_err(text).to_string();
        assert!(
            error.starts_with(&format!("{text:?} is not a target: ")),
            "{error}"
        );
    }
}

#[test]
fn listening_addresses() {
    let listening = |text: &str| {
        let target = Target::parse_listening(text).expect(text);
        target.addresses().expect("there is no name")[0].to_string()
    };
    assert_eq!(listening("[::]:0"), "ipv6:%5B::%5D:0");
    assert_eq!(listening("0.0.0.0:50051"), "ipv4:0.0.0.0:50051");
    assert_eq!(listening("*:7"), "ipv6:%5B::%5D:7");
    assert!(Target::parse_listening(":0").is_err());
    assert!(Target::parse_listening("*:x").is_err());
}

#[test]
fn names_are_resolved() {
    let found = Target::parse("localhost:5")
        .expect("it is a target")
        .resolve();
    let found = found.expect("every system knows itself");
    assert!(found.iter().all(|address| match address {
        Address::Inet(address) => address.ip().is_loopback() && address.port() == 5,
        _ => false,
    }));
    let error = Target::parse("no-such-host.invalid:5")
        .expect("it is a target")
        .resolve();
    let error = error.expect_err("nobody has it").to_string();
    assert!(
        error.starts_with("DNS resolution failed for no-such-host.invalid:5: "),
        "{error}"
    );
}

#[test]
fn the_name_in_a_certificate() {
    let name = |text: &str| Target::parse(text).expect(text).server_name().to_owned();
    assert_eq!(name("a.b:5"), "a.b");
    assert_eq!(name("a.b"), "a.b");
    assert_eq!(name("[::1]:5"), "::1");
    assert_eq!(name("ipv4:1.2.3.4:5"), "1.2.3.4");
}
