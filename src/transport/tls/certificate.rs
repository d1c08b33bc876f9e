//! What a certificate says beside what webpki reads: `x509-parser`, made strict where signatures depend on it.

use x509_parser::asn1_rs::{Any, FromDer, Oid, Sequence, SerializeResult, Tag, ToDer};
use x509_parser::certificate::{X509Certificate, X509CertificateParser};
use x509_parser::extensions::{ExtendedKeyUsage, GeneralName, SubjectAlternativeName};
use x509_parser::nom::Parser;
use x509_parser::oid_registry::{
    OID_X509_EXT_EXTENDED_KEY_USAGE, OID_X509_EXT_NAME_CONSTRAINTS, OID_X509_EXT_SUBJECT_ALT_NAME,
};
use x509_parser::x509::{AlgorithmIdentifier, X509Version};

/// What a certificate is shown for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Server,
    Client,
}

/// Takes `bytes` apart; `None` if they are no certificate. Nothing in it is verified.
pub fn parse(bytes: &[u8]) -> Option<X509Certificate<'_>> {
    // Extensions are read when they are asked for: most never are, and a peer has written them.
    let mut parser = X509CertificateParser::new().with_deep_parse_extensions(false);
    let (_, certificate) = parser.parse(bytes).ok()?;
    // Both must tell the same, or a signature could be taken for another kind of signature.
    let consistent = certificate.signature_algorithm == certificate.signature
        && certificate.signature_value.unused_bits == 0
        && is_of_its_version(&certificate);
    (consistent && encode(&certificate).ok()? == bytes).then_some(certificate)
}

/// Whether there is nothing in it that its version does not have, which another reader might not look at.
fn is_of_its_version(certificate: &X509Certificate<'_>) -> bool {
    let identified = certificate.issuer_uid.is_some() || certificate.subject_uid.is_some();
    match certificate.version {
        X509Version::V1 => !identified && certificate.extensions().is_empty(),
        X509Version::V2 => certificate.extensions().is_empty(),
        X509Version::V3 => true,
        _ => false,
    }
}

/// The one encoding of `certificate`.
///
/// The parser lets pass what stands behind the last field of a sequence, bits of tags and lengths that are longer than
/// they need to be. Where the signature does not cover that, this does.
fn encode(certificate: &X509Certificate<'_>) -> SerializeResult<Vec<u8>> {
    let algorithm = algorithm(&certificate.signature_algorithm)?;
    let mut content = certificate.tbs_certificate.as_ref().to_vec();
    content.extend(Sequence::new(algorithm.into()).to_der_vec()?);
    content.extend(certificate.signature_value.to_der_vec()?);
    Sequence::new(content.into()).to_der_vec()
}

/// An algorithm as webpki has it: in DER, without the sequence around it.
pub fn algorithm(identifier: &AlgorithmIdentifier<'_>) -> SerializeResult<Vec<u8>> {
    let mut bytes = identifier.algorithm.to_der_vec()?;
    if let Some(parameters) = &identifier.parameters {
        bytes.extend(parameters.to_der_vec()?);
    }
    Ok(bytes)
}

/// The last common name of the subject.
pub fn common_name(certificate: &X509Certificate<'_>) -> Option<String> {
    let names = certificate.subject.iter_common_name();
    names.last().map(|name| text(name.attr_value()))
}

/// A string of one of the kinds that names have.
pub fn text(value: &Any<'_>) -> String {
    match value.tag() {
        Tag::BmpString => {
            let (units, _) = value.data.as_chunks::<2>();
            let units: Vec<u16> = units.iter().map(|&unit| u16::from_be_bytes(unit)).collect();
            String::from_utf16_lossy(&units)
        }
        Tag::T61String => value.data.iter().map(|&byte| char::from(byte)).collect(),
        _ => String::from_utf8_lossy(value.data).into_owned(),
    }
}

/// Whether it tells the names for which it is good, so that its common name is none of them.
pub fn has_alternative_names(certificate: &X509Certificate<'_>) -> bool {
    extension(certificate, &OID_X509_EXT_SUBJECT_ALT_NAME).is_some()
}

/// The names for which it is good.
pub fn alternative_names<'a>(certificate: &X509Certificate<'a>) -> Vec<GeneralName<'a>> {
    extension(certificate, &OID_X509_EXT_SUBJECT_ALT_NAME)
        .and_then(|value| SubjectAlternativeName::from_der(value).ok())
        .map_or_else(Vec::new, |(_, names)| names.general_names)
}

/// Whether it is good for `purpose`: for every one, unless it tells for which ones.
pub fn is_for(certificate: &X509Certificate<'_>, purpose: Purpose) -> bool {
    let Some(value) = extension(certificate, &OID_X509_EXT_EXTENDED_KEY_USAGE) else {
        return true;
    };
    ExtendedKeyUsage::from_der(value).is_ok_and(|(_, usage)| match purpose {
        Purpose::Server => usage.server_auth,
        Purpose::Client => usage.client_auth,
    })
}

/// Whether it tells for which names it may issue.
pub fn has_name_constraints(certificate: &X509Certificate<'_>) -> bool {
    extension(certificate, &OID_X509_EXT_NAME_CONSTRAINTS).is_some()
}

/// What stands in the first extension of a kind.
fn extension<'a>(certificate: &X509Certificate<'a>, oid: &Oid<'_>) -> Option<&'a [u8]> {
    let mut extensions = certificate.extensions().iter();
    let found = extensions.find(|extension| extension.oid == *oid);
    found.map(|extension| extension.value)
}

#[cfg(test)]
mod tests {
    use super::super::test_certificates::{CA, CLIENT, SELF_SIGNED, SERVER, VERSION_1, der};
    use super::*;

    const ALL: [&str; 5] = [CA, SERVER, CLIENT, SELF_SIGNED, VERSION_1];

    /// A sequence of which `content` is shorter than 64 KiB and longer than 255 bytes.
    fn sequence(content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).expect("it is short");
        [&[0x30, 0x82], &length.to_be_bytes()[..], content].concat()
    }

    /// Everything that is asked of a certificate.
    fn read(bytes: &[u8]) {
        if let Some(certificate) = parse(bytes) {
            let _ = common_name(&certificate);
            let _ = alternative_names(&certificate);
            let _ = algorithm(&certificate.subject_pki.algorithm);
            let _ = is_for(&certificate, Purpose::Server);
            let _ = certificate.validity.not_after.timestamp();
            for attribute in certificate.subject.iter_attributes() {
                let _ = text(attribute.attr_value());
            }
        }
    }

    #[test]
    fn what_a_client_shows() {
        let bytes = der(CLIENT);
        let certificate = parse(&bytes).expect("it is one");
        assert_eq!(certificate.version, X509Version::V3);
        assert_eq!(common_name(&certificate).as_deref(), Some("clientcn"));
        let mut loopback = [0; 16];
        loopback[15] = 1;
        let expected = [
            GeneralName::DNSName("client.example"),
            GeneralName::IPAddress(&[10, 0, 0, 1]),
            GeneralName::IPAddress(&loopback),
            GeneralName::URI("spiffe://x/y"),
            GeneralName::RFC822Name("a@b.c"),
        ];
        assert_eq!(alternative_names(&certificate), expected);
        assert!(is_for(&certificate, Purpose::Client) && !is_for(&certificate, Purpose::Server));
    }

    #[test]
    fn the_first_version_has_no_extensions() {
        let bytes = der(VERSION_1);
        let certificate = parse(&bytes).expect("it is one");
        assert_eq!(certificate.version, X509Version::V1);
        assert!(!has_alternative_names(&certificate));
        assert!(is_for(&certificate, Purpose::Server) && is_for(&certificate, Purpose::Client));

        // Another version, and so with extensions that it may not have.
        let bytes = der(CLIENT);
        let mark = [0xa0, 3, 2, 1, 2];
        let at = bytes.windows(5).position(|window| window == mark);
        for version in [0, 1, 3] {
            let mut changed = bytes.to_vec();
            changed[at.expect("it is there") + 4] = version;
            assert!(parse(&changed).is_none(), "{version}");
        }
    }

    #[test]
    fn strings_of_every_kind() {
        let string = |tag, data| text(&Any::from_tag_and_data(tag, data));
        assert_eq!(string(Tag::Utf8String, "gr\u{fc}n".as_bytes()), "gr\u{fc}n");
        assert_eq!(string(Tag::T61String, b"gr\xfcn"), "gr\u{fc}n");
        assert_eq!(string(Tag::BmpString, b"\0g\0r\0\xfc\0n\0"), "gr\u{fc}n");
        assert_eq!(string(Tag::PrintableString, b"a\xff"), "a\u{fffd}");
    }

    #[test]
    fn what_no_signature_covers_has_one_encoding() {
        for pem in ALL {
            let bytes = der(pem);
            let certificate = parse(&bytes).expect("it is one");
            let content = bytes.get(4..).expect("it is longer");
            assert_eq!(sequence(content), bytes.to_vec());
            let signed = certificate.tbs_certificate.as_ref();
            let (signed, rest) = content.split_at(signed.len());
            let (algorithm, signature) = rest.split_at(12);

            let behind = [&bytes, &[0][..]].concat();
            let behind_the_signature = sequence(&[content, &[5, 0]].concat());
            let algorithm_with_more = [&[0x30, 12], &algorithm[2..], &[5, 0]].concat();
            let other_algorithm = sequence(&[signed, &algorithm_with_more, signature].concat());
            let long = [&[0x30, 0x83, 0], &bytes[2..]].concat();
            let length = [signature[0], 0x81];
            let long_signature = sequence(&[signed, algorithm, &length, &signature[1..]].concat());
            for changed in [
                behind,
                behind_the_signature,
                other_algorithm,
                long,
                long_signature,
            ] {
                assert!(parse(&changed).is_none());
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_never_panics() {
        for pem in ALL {
            let bytes = der(pem);
            for at in 0..bytes.len() {
                assert!(parse(&bytes[..at]).is_none());
                let bits = (0..8).map(|bit| bytes[at] ^ (1 << bit));
                for value in bits.chain([0, 0x1f, 0x7f, 0x80, 0x84, 0x88, 0xff]) {
                    let mut changed = bytes.to_vec();
                    changed[at] = value;
                    read(&changed);
                }
                let mut shorter = bytes.to_vec();
                shorter.remove(at);
                read(&shorter);
            }
        }
    }

    #[test]
    fn what_is_nested_deeply_is_refused() {
        for open in [&[0x30, 0x80][..], &[0xa0, 0x80], &[0x24, 0x80]] {
            let nested = sequence(&sequence(&open.repeat(10_000)));
            assert!(parse(&nested).is_none());
        }
    }
}
