//! `grpc-timeout`: up to eight digits and a unit.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>, "Timeout".

use std::time::Duration;

use http::header::{HeaderName, HeaderValue};

/// `grpc-timeout`
pub const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The most that eight digits hold.
const MOST: u128 = 99_999_999;

/// Each unit with its length in nanoseconds, the finest first.
const UNITS: [(u8, u128); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', 1_000_000_000),
    (b'M', 60_000_000_000),
    (b'H', 3_600_000_000_000),
];

/// The header for `timeout`, in the finest unit that holds it; what the unit cannot tell is rounded up, so that the
/// server never gives up before the client.
#[must_use]
pub fn format(timeout: Duration) -> HeaderValue {
    let nanos = timeout.as_nanos();
    let fitting = UNITS
        .into_iter()
        .map(|(unit, length)| (unit, nanos.div_ceil(length)))
        .find(|&(_, count)| count <= MOST);
    // More hours than that are eleven thousand years.
    let (unit, count) = fitting.unwrap_or((b'H', MOST));
    let text = format!("{count}{}", char::from(unit));
    HeaderValue::from_maybe_shared(bytes::Bytes::from(text))
        .unwrap_or_else(|_| HeaderValue::from_static("99999999H"))
}

/// The time that a header gives; `None` if it is malformed.
#[must_use]
pub fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    let (_, length) = UNITS.into_iter().find(|(name, _)| name == unit)?;
    // Below 2^64: eight digits of hours are 3.6e20 ns, so seconds and nanoseconds are counted apart.
    let nanos = u128::from(count) * length;
    let seconds = u64::try_from(nanos / 1_000_000_000).ok()?;
    let rest = u32::try_from(nanos % 1_000_000_000).ok()?;
    Some(Duration::new(seconds, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_unit_that_holds_it() {
        let cases = [
            (Duration::ZERO, "0n"),
            (Duration::from_nanos(99_999_999), "99999999n"),
            (Duration::from_millis(100), "100000u"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_secs(5), "5000000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_secs(997_200), "997200S"),
            (Duration::from_secs(u64::from(u32::MAX)), "71582789M"),
            (Duration::MAX, "99999999H"),
        ];
        for (timeout, text) in cases {
            assert_eq!(format(timeout), text);
        }
    }

    #[test]
    fn what_is_formatted_is_parsed_never_shorter_and_hardly_longer() {
        let mut state = 3_u64;
        for _ in 0..100_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let timeout = Duration::from_nanos(state >> (state % 60));
            let parsed = parse(format(timeout).as_bytes()).expect("it is well formed");
            assert!(parsed >= timeout, "{timeout:?} {parsed:?}");
            let slack = parsed.checked_sub(timeout).expect("it is no shorter");
            assert!(
                slack.as_nanos() * 100_000 <= timeout.as_nanos(),
                "{timeout:?} {parsed:?}"
            );
        }
    }

    #[test]
    fn every_unit_is_parsed() {
        let seconds = |text: &str| parse(text.as_bytes()).map(|timeout| timeout.as_secs_f64());
        assert_eq!(seconds("1H"), Some(3600.0));
        assert_eq!(seconds("2M"), Some(120.0));
        assert_eq!(seconds("3S"), Some(3.0));
        assert_eq!(seconds("00000004m"), Some(0.004));
        assert_eq!(seconds("5u"), Some(0.000_005));
        assert_eq!(seconds("0n"), Some(0.0));
        assert_eq!(seconds("99999999H"), Some(359_999_996_400.0));
    }

    #[test]
    fn what_is_malformed_gives_nothing() {
        for text in [
            "",
            "S",
            "1",
            "1s",
            "-1S",
            "+1S",
            " 1S",
            "1 S",
            "1.5S",
            "123456789S",
            "1SS",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse(b"\xff\xff"), None);
        for first in 0..=255_u8 {
            for second in 0..=255_u8 {
                let parsed = parse(&[first, second]);
                assert!(parsed.is_none() || first.is_ascii_digit());
            }
        }
    }
}
