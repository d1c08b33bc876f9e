//! What a certificate says: RFC 5280, as far as it is needed beside webpki.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::der::{self, Reader};

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

const SECONDS_OF_DAY: u64 = 86_400;

/// A certificate in DER, taken apart; nothing in it is verified.
#[derive(Debug)]
pub struct Certificate<'a> {
    /// 1, 2 or 3.
    pub version: u8,
    /// What the issuer has signed.
    pub signed: &'a [u8],
    pub signature_algorithm: &'a [u8],
    pub signature: &'a [u8],
    pub issuer: &'a [u8],
    pub subject: &'a [u8],
    /// The key as TLS takes it: algorithm and bits in one.
    pub key: &'a [u8],
    pub key_algorithm: &'a [u8],
    pub key_bits: &'a [u8],
    not_before: Duration,
    not_after: Duration,
    extensions: Option<Reader<'a>>,
}

/// One of the names for which a certificate is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlternativeName<'a> {
    Email(&'a str),
    Dns(&'a str),
    Uri(&'a str),
    Ip(IpAddr),
}

/// Whether a certificate is good at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Early,
    Good,
    Expired,
}

impl<'a> Certificate<'a> {
    /// Takes `bytes` apart; `None` if they are no certificate.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut all = Reader::new(bytes);
        let mut outer = all.enter(der::SEQUENCE)?;
        let signed = outer.expect(der::SEQUENCE)?;
        let signature_algorithm = outer.expect(der::SEQUENCE)?.content;
        let signature = outer.expect(der::BIT_STRING)?.bits()?;
        if !all.is_empty() || !outer.is_empty() {
            return None;
        }

        let mut fields = signed.reader();
        let version = match fields.optional(der::numbered(0)) {
            None => 1,
            Some(version) => match version.reader().expect(der::INTEGER)?.content {
                [number @ 0..=2] => number + 1,
                _ => return None,
            },
        };
        fields.expect(der::INTEGER)?;
        // Both must tell the same, or a signature could be taken for another kind of signature.
        if fields.expect(der::SEQUENCE)?.content != signature_algorithm {
            return None;
        }
        let issuer = fields.expect(der::SEQUENCE)?.content;
        let mut validity = fields.enter(der::SEQUENCE)?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = fields.expect(der::SEQUENCE)?.content;
        let key = fields.expect(der::SEQUENCE)?;
        let mut parts = key.reader();
        let key_algorithm = parts.expect(der::SEQUENCE)?.content;
        let key_bits = parts.expect(der::BIT_STRING)?.bits()?;
        // Unique identifiers, which nobody uses.
        fields.optional(0x81);
        fields.optional(0x82);
        let extensions = match fields.optional(der::numbered(3)) {
            Some(extensions) => Some(extensions.reader().enter(der::SEQUENCE)?),
            None => None,
        };
        Some(Self {
            version,
            signed: signed.whole,
            signature_algorithm,
            signature,
            issuer,
            subject,
            key: key.whole,
            key_algorithm,
            key_bits,
            not_before,
            not_after,
            extensions,
        })
    }

    /// Whether it is good at the time `now`, told from 1970 on.
    pub fn validity(&self, now: Duration) -> Validity {
        if now < self.not_before {
            Validity::Early
        } else if now > self.not_after {
            Validity::Expired
        } else {
            Validity::Good
        }
    }

    /// The last common name of its subject.
    pub fn common_name(&self) -> Option<String> {
        self.subject_attributes()
            .into_iter()
            .rfind(|(oid, _)| *oid == COMMON_NAME)
            .map(|(_, value)| value)
    }

    /// The identifiers and values of its subject's attributes.
    pub fn subject_attributes(&self) -> Vec<(&'a [u8], String)> {
        let mut attributes = Vec::new();
        let mut sets = Reader::new(self.subject);
        while let Some(mut set) = sets.enter(der::SET) {
            while let Some(mut attribute) = set.enter(der::SEQUENCE) {
                let oid = attribute.expect(der::OID);
                if let (Some(oid), Some(value)) = (oid, attribute.value()) {
                    attributes.push((oid.content, text(value)));
                }
            }
        }
        attributes
    }

    /// Whether it tells the names for which it is good, so that its common name is none of them.
    pub fn has_alternative_names(&self) -> bool {
        self.extension(SUBJECT_ALTERNATIVE_NAME).is_some()
    }

    /// The names for which it is good, as far as they are of known kinds.
    pub fn alternative_names(&self) -> Vec<AlternativeName<'a>> {
        let mut known = Vec::new();
        let names = self
            .extension(SUBJECT_ALTERNATIVE_NAME)
            .and_then(|mut extension| extension.enter(der::SEQUENCE));
        if let Some(mut names) = names {
            while let Some(name) = names.value() {
                known.extend(alternative_name(name));
            }
        }
        known
    }

    fn extension(&self, oid: &[u8]) -> Option<Reader<'a>> {
        let mut extensions = self.extensions.clone()?;
        while let Some(mut extension) = extensions.enter(der::SEQUENCE) {
            if extension.expect(der::OID)?.content == oid {
                extension.optional(der::BOOLEAN);
                return Some(extension.expect(der::OCTET_STRING)?.reader());
            }
        }
        None
    }
}

fn alternative_name(name: der::Value<'_>) -> Option<AlternativeName<'_>> {
    let text = || str::from_utf8(name.content).ok();
    match name.tag {
        0x81 => text().map(AlternativeName::Email),
        0x82 => text().map(AlternativeName::Dns),
        0x86 => text().map(AlternativeName::Uri),
        0x87 => {
            let ip = match name.content.len() {
                4 => Ipv4Addr::from(<[u8; 4]>::try_from(name.content).ok()?).into(),
                _ => Ipv6Addr::from(<[u8; 16]>::try_from(name.content).ok()?).into(),
            };
            Some(AlternativeName::Ip(ip))
        }
        _ => None,
    }
}

/// A string of one of the kinds that names have.
fn text(value: der::Value<'_>) -> String {
    const BMP_STRING: u8 = 0x1e;
    const TELETEX_STRING: u8 = 0x14;
    match value.tag {
        BMP_STRING => {
            let (units, _) = value.content.as_chunks::<2>();
            let units = units.iter().map(|&unit| u16::from_be_bytes(unit));
            char::decode_utf16(units)
                .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        TELETEX_STRING => value.content.iter().map(|&byte| char::from(byte)).collect(),
        _ => String::from_utf8_lossy(value.content).into_owned(),
    }
}

/// A time, told from 1970 on; what was before counts as 1970.
fn time(fields: &mut Reader<'_>) -> Option<Duration> {
    let value = fields.value()?;
    let digits = value.content.strip_suffix(b"Z")?;
    let pairs = |bytes: &[u8]| -> Option<Vec<u64>> {
        let (pairs, []) = bytes.as_chunks::<2>() else {
            return None;
        };
        pairs.iter().map(|pair| number(*pair)).collect()
    };
    let (year, rest) = match value.tag {
        der::UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let year = pairs(year)?.first().copied()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        der::GENERALIZED_TIME => {
            let (year, rest) = digits.split_at_checked(4)?;
            let &[century, year] = pairs(year)?.as_slice() else {
                return None;
            };
            (century * 100 + year, rest)
        }
        _ => return None,
    };
    let &[
        month @ 1..=12,
        day @ 1..=31,
        hour @ 0..=23,
        minute @ 0..=59,
        second @ 0..=60,
    ] = pairs(rest)?.as_slice()
    else {
        return None;
    };
    let seconds = days(year, month, day) * SECONDS_OF_DAY + hour * 3600 + minute * 60 + second;
    Some(Duration::from_secs(seconds))
}

fn number([tens, ones]: [u8; 2]) -> Option<u64> {
    let digit = |byte: u8| char::from(byte).to_digit(10).map(u64::from);
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// The days from 1970 to a date of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    const BEFORE_1970: u64 = 719_468;
    // The year begins in March, so that the day which is sometimes missing is its last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year.saturating_sub(1), month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let of_year = (153 * month + 2) / 5 + day - 1;
    (year * 365 + leap_days + of_year).saturating_sub(BEFORE_1970)
}

#[cfg(test)]
mod tests {
    use super::super::test_certificates::{CLIENT, SELF_SIGNED, VERSION_1, der};
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(1970, 3, 1), 59);
        assert_eq!(days(2000, 2, 29), 11_016);
        assert_eq!(days(2026, 11, 30), 20_787);
        assert_eq!(days(9999, 12, 31), 2_932_896);
        assert_eq!(days(0, 1, 1), 0);
    }

    #[test]
    fn times() {
        let seconds = |tag: u8, text: &str| {
            let bytes = [
                &[tag, u8::try_from(text.len()).expect("short")],
                text.as_bytes(),
            ]
            .concat();
            time(&mut Reader::new(&bytes)).map(|time| time.as_secs())
        };
        assert_eq!(seconds(der::UTC_TIME, "700101000001Z"), Some(1));
        assert_eq!(seconds(der::UTC_TIME, "491231235959Z"), Some(2_524_607_999));
        assert_eq!(
            seconds(der::GENERALIZED_TIME, "20500101000000Z"),
            Some(2_524_608_000)
        );
        for text in [
            "",
            "Z",
            "7001010000Z",
            "701301000000Z",
            "70010100000Z",
            "7001010000xxZ",
        ] {
            assert_eq!(seconds(der::UTC_TIME, text), None, "{text}");
            assert_eq!(seconds(der::GENERALIZED_TIME, text), None, "{text}");
        }
    }

    #[test]
    fn names_of_a_client() {
        let bytes = der(CLIENT);
        let certificate = Certificate::parse(&bytes).expect("it is one");
        assert_eq!(certificate.version, 3);
        assert_eq!(certificate.common_name().as_deref(), Some("clientcn"));
        let names = certificate.alternative_names();
        let expected = [
            AlternativeName::Dns("client.example"),
            AlternativeName::Ip([10, 0, 0, 1].into()),
            AlternativeName::Ip(Ipv6Addr::LOCALHOST.into()),
            AlternativeName::Uri("spiffe://x/y"),
            AlternativeName::Email("a@b.c"),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn validity() {
        let bytes = der(SELF_SIGNED);
        let certificate = Certificate::parse(&bytes).expect("it is one");
        let second = Duration::from_secs(1);
        let (from, to) = (certificate.not_before, certificate.not_after);
        let days = to.saturating_sub(from).as_secs() / SECONDS_OF_DAY;
        assert_eq!(days, 36_500);
        assert_eq!(
            certificate.validity(from.saturating_sub(second)),
            Validity::Early
        );
        assert_eq!(certificate.validity(from), Validity::Good);
        assert_eq!(certificate.validity(to), Validity::Good);
        assert_eq!(certificate.validity(to + second), Validity::Expired);
    }

    #[test]
    fn a_certificate_of_the_first_version() {
        let bytes = der(VERSION_1);
        let certificate = Certificate::parse(&bytes).expect("it is one");
        assert_eq!(certificate.version, 1);
        assert!(!certificate.has_alternative_names());
    }

    #[test]
    fn what_is_cut_off_or_changed_never_panics() {
        let bytes = der(CLIENT);
        for end in 0..bytes.len() {
            assert!(Certificate::parse(&bytes[..end]).is_none());
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0x80, 0x84, 0xff, bytes[at] ^ 1] {
                let mut changed = bytes.to_vec();
                changed[at] = value;
                if let Some(certificate) = Certificate::parse(&changed) {
                    let _ = certificate.common_name();
                    let _ = certificate.alternative_names();
                }
            }
        }
    }
}
