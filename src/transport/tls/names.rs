//! For which names of servers a certificate is good.

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};

use super::certificate;

/// Checks that `name` is one for which `certificate` is good; its common name counts where it tells no other name.
pub fn verify(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), Error> {
    verify_alternative(certificate, name).or_else(|error| {
        if is_common_name(certificate, name) {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Checks that `name` is one of the alternative names of `certificate`.
pub fn verify_alternative(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
) -> Result<(), Error> {
    ParsedCertificate::try_from(certificate)
        .and_then(|parsed| verify_server_name(&parsed, name))
        .map_err(|_| CertificateError::NotValidForName.into())
}

fn is_common_name(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> bool {
    if let (ServerName::DnsName(name), Some(certificate)) = (name, certificate::parse(certificate))
        && !certificate::has_alternative_names(&certificate)
    {
        certificate::common_name(&certificate)
            .is_some_and(|pattern| matches(&pattern, name.as_ref()))
    } else {
        false
    }
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
