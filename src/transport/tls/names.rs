//! For which names of servers a certificate is good.

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};

use super::certificate;

/// Checks the name that `certificate` is for.
pub fn verify(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
    let parsed = ParsedCertificate::try_from(certificate);
    if parsed.is_ok_and(|parsed| verify_server_name(&parsed, name).is_ok()) {
        return Ok(());
    }
    if let (ServerName::DnsName(name), Some(certificate)) = (name, certificate::parse(certificate))
        && !certificate::has_alternative_names(&certificate)
        && certificate::common_name(&certificate)
            .is_some_and(|pattern| matches(&pattern, name.as_ref()))
    {
        return Ok(());
    }
    Err(CertificateError::NotValidForName.into())
}

/// Whether `name` is `pattern`, in which a `*` may stand for the first label.
fn matches(pattern: &str, name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let pattern = pattern.strip_suffix('.').unwrap_or(pattern);
    let Some(pattern) = pattern.strip_prefix("*.") else {
        return !pattern.is_empty() && pattern.eq_ignore_ascii_case(name);
    };
    let rest = name.split_once('.').filter(|(label, _)| !label.is_empty());
    // Not all of a top-level domain.
    pattern.contains('.') && rest.is_some_and(|(_, rest)| pattern.eq_ignore_ascii_case(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_stars() {
        for (pattern, name) in [("a.b", "A.B."), ("*.b.c", "a.b.c"), ("*.B.C.", "a.b.c")] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", ""),
            ("a", "b"),
            ("*.b", "a.b"),
            ("*", "a"),
            ("*.b.c", "b.c"),
            ("*.b.c", ".b.c"),
            ("*.b.c", "x.a.b.c"),
            ("a*.b.c", "ax.b.c"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
