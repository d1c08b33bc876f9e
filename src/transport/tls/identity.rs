//! What a server is told of its caller: the properties of grpcio's authentication context.

use std::net::IpAddr;

use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

use super::{certificate, pem};

/// Names with their values, in the order in which grpcio has them.
pub type Properties = Vec<(&'static str, Vec<Vec<u8>>)>;

/// The property that tells whether there is TLS.
const SECURITY_TYPE: &str = "transport_security_type";
const SECURITY_LEVEL: &str = "security_level";

/// Attributes of names with their short forms: RFC 4514, section 3, and those that OpenSSL adds.
const ATTRIBUTES: [(&[u8], &str); 12] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 4], "SN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "street"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1],
        "emailAddress",
    ),
    (
        &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1],
        "UID",
    ),
    (
        &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25],
        "DC",
    ),
];

/// The properties of a caller without TLS.
#[must_use]
pub fn insecure() -> Properties {
    vec![
        one(SECURITY_TYPE, "insecure"),
        one(SECURITY_LEVEL, "TSI_SECURITY_NONE"),
    ]
}

/// The properties of a caller with TLS, who has shown `certificate` or none.
#[must_use]
pub fn secure(certificate: Option<&CertificateDer<'_>>) -> Properties {
    let mut properties = vec![one(SECURITY_TYPE, "ssl")];
    let mut spiffe = None;
    if let Some(certificate) = certificate
        && let Some(parsed) = certificate::parse(certificate)
    {
        add_subject(&parsed, &mut properties);
        let text = pem::write_certificate(certificate);
        properties.push(one("x509_pem_cert", text));
        spiffe = add_names(&parsed, &mut properties);
    }
    properties.push(one(SECURITY_LEVEL, "TSI_PRIVACY_AND_INTEGRITY"));
    properties.push(one("ssl_session_reused", "false"));
    properties.extend(spiffe.map(|id| one("peer_spiffe_id", id)));
    properties
}

fn one(name: &'static str, value: impl Into<Vec<u8>>) -> (&'static str, Vec<Vec<u8>>) {
    (name, vec![value.into()])
}

fn add_subject(certificate: &X509Certificate<'_>, properties: &mut Properties) {
    let mut parts: Vec<String> = certificate
        .subject
        .iter_attributes()
        .map(|attribute| {
            let name = attribute_name(attribute.attr_type().as_bytes());
            let value = certificate::text(attribute.attr_value());
            format!("{name}={}", escaped(&value))
        })
        .collect();
    parts.reverse();
    properties.push(one("x509_subject", parts.join(",")));
    let name = certificate::common_name(certificate);
    properties.extend(name.map(|name| one("x509_common_name", name)));
}

/// Adds the alternative names, together and by kind; gives the SPIFFE ID if there is just one.
fn add_names(certificate: &X509Certificate<'_>, properties: &mut Properties) -> Option<Vec<u8>> {
    let names: Vec<(&str, String)> = certificate::alternative_names(certificate)
        .iter()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(("peer_dns", (*name).to_owned())),
            GeneralName::IPAddress(bytes) => Some(("peer_ip", ip(bytes)?.to_string())),
            GeneralName::URI(uri) => Some(("peer_uri", (*uri).to_owned())),
            GeneralName::RFC822Name(email) => Some(("peer_email", (*email).to_owned())),
            _ => None,
        })
        .collect();
    let of = |kind: Option<&str>| -> Vec<Vec<u8>> {
        let wanted = names
            .iter()
            .filter(|(of, _)| kind.is_none_or(|kind| kind == *of));
        wanted.map(|(_, name)| name.clone().into_bytes()).collect()
    };
    properties.push(("x509_subject_alternative_name", of(None)));
    for kind in ["peer_dns", "peer_ip", "peer_uri", "peer_email"] {
        properties.push((kind, of(Some(kind))));
    }
    properties.retain(|(_, values)| !values.is_empty());
    match of(Some("peer_uri")).as_slice() {
        [uri] if uri.starts_with(b"spiffe://") => Some(uri.clone()),
        _ => None,
    }
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let four = || <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let sixteen = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    four().or_else(|_| sixteen()).ok()
}

/// The short name of an attribute, else its identifier in dots.
fn attribute_name(oid: &[u8]) -> String {
    if let Some((_, name)) = ATTRIBUTES.iter().find(|(known, _)| *known == oid) {
        return (*name).to_owned();
    }
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc: u64 = 0;
    for byte in oid {
        arc = arc.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if arcs.is_empty() {
                let first = (arc / 40).min(2);
                arcs.push(first);
                arc -= first * 40;
            }
            arcs.push(arc);
            arc = 0;
        }
    }
    let arcs: Vec<String> = arcs.iter().map(u64::to_string).collect();
    arcs.join(".")
}

/// A value as RFC 4514, section 2.4, writes it.
fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let last = value.chars().count().saturating_sub(1);
    for (at, char) in value.chars().enumerate() {
        let special = matches!(char, '"' | '+' | ',' | ';' | '<' | '>' | '\\')
            || at == 0 && matches!(char, ' ' | '#')
            || at == last && char == ' ';
        if special {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::test_certificates::{CLIENT, SELF_SIGNED, der};
    use super::*;

    fn texts(properties: &Properties) -> Vec<(&str, String)> {
        let text =
            |values: &Vec<Vec<u8>>| String::from_utf8_lossy(&values.join(&b' ')).into_owned();
        properties
            .iter()
            .map(|(name, values)| (*name, text(values)))
            .collect()
    }

    #[test]
    fn a_client_with_names_of_every_kind() {
        let properties = secure(Some(&der(CLIENT)));
        let names = "client.example 10.0.0.1 ::1 spiffe://x/y a@b.c";
        let expected = [
            ("transport_security_type", "ssl"),
            ("x509_subject", "CN=clientcn,O=Org\\, Ltd"),
            ("x509_common_name", "clientcn"),
            ("x509_pem_cert", CLIENT),
            ("x509_subject_alternative_name", names),
            ("peer_dns", "client.example"),
            ("peer_ip", "10.0.0.1 ::1"),
            ("peer_uri", "spiffe://x/y"),
            ("peer_email", "a@b.c"),
            ("security_level", "TSI_PRIVACY_AND_INTEGRITY"),
            ("ssl_session_reused", "false"),
            ("peer_spiffe_id", "spiffe://x/y"),
        ];
        assert_eq!(
            texts(&properties),
            expected.map(|(name, text)| (name, text.to_owned()))
        );
        assert_eq!(properties[4].1.len(), 5);
    }

    #[test]
    fn a_client_without_other_names_without_a_certificate_and_without_tls() {
        assert_eq!(secure(Some(&der(SELF_SIGNED))).len(), 6);
        assert_eq!(secure(None).len(), 3);
        assert_eq!(texts(&insecure())[0].1, "insecure");
    }

    #[test]
    fn attributes_and_values() {
        assert_eq!(attribute_name(&[0x55, 4, 3]), "CN");
        assert_eq!(attribute_name(&[0x2a, 0x86, 0x48, 1]), "1.2.840.1");
        assert_eq!(attribute_name(&[0x88, 0x37, 3]), "2.999.3");
        assert_eq!(attribute_name(&[]), "");
        assert_eq!(attribute_name(&[0xff; 30]), "");
        assert_eq!(escaped("#a+b# "), "\\#a\\+b#\\ ");
        assert_eq!(escaped(" "), "\\ ");
        assert_eq!(escaped(""), "");
    }
}
