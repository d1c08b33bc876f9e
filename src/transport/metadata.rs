//! The users' metadata, and the headers that gRPC keeps to itself.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>, "Custom-Metadata". What is legal, and what is shown
//! to users, is as grpcio 1.66 has it.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Metadata over this is refused by grpcio with a probability that grows up to `HARD_LIMIT`.
pub const SOFT_LIMIT: usize = 8 << 10;

/// What is taken of a peer unless `grpc.max_metadata_size` or `grpc.absolute_max_metadata_size` says otherwise.
pub const HARD_LIMIT: usize = 16 << 10;

/// Keys with this ending have values of any bytes.
const BINARY: &str = "-bin";

/// A value in base64, without padding as gRPC asks; others may pad.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Headers of the protocol's own: what users set under such a name is not sent, as with grpcio, and never shown.
const RESERVED: [&str; 8] = [
    "content-type",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-internal-encoding-request",
    "grpc-message",
    "grpc-status",
    "grpc-timeout",
    "te",
];

/// Sent where users set them, but not shown to the users at the other end.
const HIDDEN: [&str; 4] = [
    "endpoint-load-metrics-bin",
    "grpc-server-stats-bin",
    "grpc-tags-bin",
    "grpc-trace-bin",
];

/// Shown, but what users set is not sent: the first two the transport sets by itself, the others belong to HTTP/1
/// and may not occur in HTTP/2 (RFC 9113, section 8.2.2).
const NOT_SENT: [&str; 7] = [
    "user-agent",
    "grpc-previous-rpc-attempts",
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// What is wrong with metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A key is empty or too long, or has other characters than `a-z 0-9 - _ .`
    #[error("illegal metadata key {0:?}")]
    IllegalKey(String),
    /// A value that should be text has other characters than visible ASCII and spaces.
    #[error("illegal value of metadata key {0:?}")]
    IllegalValue(String),
    /// What a peer has sent under a binary key is no base64.
    #[error("Error parsing '{0}' metadata: illegal base64 encoding")]
    IllegalBase64(String),
}

/// Keys and values as users see them, in their order; a key may occur several times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    entries: Vec<(HeaderName, Bytes)>,
}

impl Metadata {
    /// Adds what a user has set.
    ///
    /// # Errors
    /// `IllegalKey`, `IllegalValue`.
    pub fn push(&mut self, key: &str, value: impl Into<Bytes>) -> Result<(), MetadataError> {
        let value = value.into();
        let name = HeaderName::from_bytes(key.as_bytes());
        let Some(name) = name.ok().filter(|_| is_legal_key(key)) else {
            return Err(MetadataError::IllegalKey(key.to_owned()));
        };
        if !is_binary(key) && !is_legal_text(&value) {
            return Err(MetadataError::IllegalValue(key.to_owned()));
        }
        self.entries.push((name, value));
        Ok(())
    }

    /// Reads what a user is shown of `headers`.
    ///
    /// # Errors
    /// `IllegalBase64`.
    pub fn from_headers(headers: &HeaderMap) -> Result<Self, MetadataError> {
        let mut entries = Vec::new();
        for (name, value) in headers {
            let key = name.as_str();
            if RESERVED.contains(&key) || HIDDEN.contains(&key) {
                continue;
            }
            if is_binary(key) {
                for part in value.as_bytes().split(|&byte| byte == b',') {
                    entries.push((name.clone(), decode(key, part)?));
                }
            } else {
                entries.push((name.clone(), Bytes::copy_from_slice(value.as_bytes())));
            }
        }
        Ok(Self { entries })
    }

    /// Adds it to the headers to be sent.
    pub fn append_to(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.entries {
            let key = name.as_str();
            if RESERVED.contains(&key) || NOT_SENT.contains(&key) {
                continue;
            }
            let encoded = if is_binary(key) {
                BASE64.encode(value).into()
            } else {
                value.clone()
            };
            // `push` has checked the text; what came from a peer was a header before.
            if let Ok(value) = HeaderValue::from_maybe_shared(encoded) {
                headers.append(name, value);
            }
        }
    }

    /// The pairs, in order. A value is text unless its key `is_binary`.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.entries
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_ref()))
    }

    /// What it counts against a limit on metadata.
    #[must_use]
    pub fn size(&self) -> usize {
        self.iter()
            .map(|(key, value)| {
                // Three bytes become four.
                let padding = if is_binary(key) {
                    value.len() / 3 + 1
                } else {
                    0
                };
                size_of(key, value) + padding
            })
            .sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Whether the values of `key` are bytes, not text.
#[must_use]
pub fn is_binary(key: &str) -> bool {
    key.ends_with(BINARY)
}

fn is_legal_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'))
}

fn is_legal_text(value: &[u8]) -> bool {
    value.iter().all(|byte| matches!(byte, b' '..=b'~'))
}

fn decode(key: &str, value: &[u8]) -> Result<Bytes, MetadataError> {
    BASE64
        .decode(value.trim_ascii())
        .map(Bytes::from)
        .map_err(|_| MetadataError::IllegalBase64(key.to_owned()))
}

/// What a header counts against a limit on metadata: RFC 7541, section 4.1.
#[must_use]
pub const fn size_of(name: &str, value: &[u8]) -> usize {
    name.len() + value.len() + 32
}

/// What `headers` count against a limit on metadata, the pseudo-headers beside them left out.
#[must_use]
pub fn total_size(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| size_of(name.as_str(), value.as_bytes()))
        .sum()
}

/// The value of `user-agent`, with what the channel's options put before and after it.
///
/// # Errors
/// `IllegalValue` if an option has characters that no header may have.
pub fn user_agent(
    primary: Option<&str>,
    secondary: Option<&str>,
) -> Result<HeaderValue, MetadataError> {
    let own = concat!("grpc-python-philote-fast/", env!("CARGO_PKG_VERSION"));
    let own = format!("{own} ({}; h2)", std::env::consts::OS);
    let fields: Vec<&str> = [primary, Some(&own), secondary]
        .into_iter()
        .flatten()
        .filter(|field| !field.is_empty())
        .collect();
    let text = fields.join(" ");
    if !is_legal_text(text.as_bytes()) {
        return Err(MetadataError::IllegalValue("user-agent".to_owned()));
    }
    HeaderValue::from_str(&text).map_err(|_| MetadataError::IllegalValue("user-agent".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("it is a name");
            headers.append(name, HeaderValue::from_str(value).expect("it is a value"));
        }
        headers
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Vec<(String, Vec<u8>)>, MetadataError> {
        let metadata = Metadata::from_headers(&headers(pairs))?;
        let pairs = metadata.iter();
        Ok(pairs
            .map(|(key, value)| (key.to_owned(), value.to_vec()))
            .collect())
    }

    #[test]
    fn what_is_sent_comes_back() {
        let mut metadata = Metadata::default();
        let all: Vec<u8> = (0..=255).collect();
        let pairs: [(&str, &[u8]); 9] = [
            ("a", b"b"),
            ("a", b"1,2"),
            ("a", b""),
            ("a_b.c-9", b" lead, trail "),
            ("x-bin", &all),
            ("x-bin", b""),
            ("x-bin", b"\0"),
            ("host", b"h"),
            ("grpc-other", b"~"),
        ];
        for (key, value) in pairs {
            metadata.push(key, value.to_vec()).expect("it is legal");
        }
        let mut headers = HeaderMap::new();
        metadata.append_to(&mut headers);
        assert_eq!(Metadata::from_headers(&headers), Ok(metadata));
        assert!(
            headers
                .get_all("x-bin")
                .iter()
                .all(|value| !value.as_bytes().contains(&b'='))
        );
    }

    #[test]
    fn keys_and_values_that_grpcio_refuses_are_refused() {
        let mut metadata = Metadata::default();
        for key in ["", "A", "a b", ":path", "é", "a\n", "a/b", "Content-Type"] {
            let error = MetadataError::IllegalKey(key.to_owned());
            assert_eq!(metadata.push(key, "v"), Err(error));
        }
        let long = "k".repeat(1 << 16);
        assert_eq!(
            metadata.push(&long, ""),
            Err(MetadataError::IllegalKey(long.clone()))
        );
        for value in ["\t", "x\n", "é", "\u{7f}", "\0"] {
            let error = MetadataError::IllegalValue("a".to_owned());
            assert_eq!(metadata.push("a", value), Err(error));
        }
        assert!(metadata.is_empty());
        assert_eq!(metadata.push("a-bin", &b"\xff\0\n"[..]), Ok(()));
    }

    #[test]
    fn the_protocols_own_headers_are_neither_sent_nor_shown() {
        let mut metadata = Metadata::default();
        for key in RESERVED.iter().chain(&NOT_SENT) {
            metadata.push(key, "v").expect("the key is legal");
        }
        let mut sent = HeaderMap::new();
        metadata.append_to(&mut sent);
        assert!(sent.is_empty(), "{sent:?}");
        for key in RESERVED.iter().chain(&HIDDEN) {
            assert_eq!(read(&[(key, "v")]), Ok(vec![]));
        }
        let shown = read(&[("user-agent", "x"), ("grpc-status-details-bin", "AA")]);
        assert_eq!(shown.map(|pairs| pairs.len()), Ok(2));
    }

    #[test]
    fn base64_may_be_padded_and_joined() {
        let pairs = read(&[("a-bin", "AAE, AAE=,Ag==,,Ag"), ("b", "x,y")]).expect("it is legal");
        let values: Vec<&[u8]> = pairs.iter().map(|(_, value)| value.as_slice()).collect();
        assert_eq!(values, [&[0, 1][..], &[0, 1], &[2], &[], &[2], b"x,y"]);
        for value in ["A", "!!!!", "AA=A", "A===", "-_"] {
            let error = MetadataError::IllegalBase64("a-bin".to_owned());
            assert_eq!(read(&[("a-bin", value)]), Err(error), "{value}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(total_size(&HeaderMap::new()), 0);
        assert_eq!(total_size(&headers(&[("ab", "c"), ("ab", "")])), 35 + 34);
    }

    #[test]
    fn user_agents() {
        let own = user_agent(None, Some("")).expect("it is legal");
        let own = own.to_str().expect("it is text").to_owned();
        assert!(own.starts_with("grpc-python-philote-fast/0."));
        let all = user_agent(Some("before"), Some("after")).expect("it is legal");
        assert_eq!(all, format!("before {own} after"));
        assert!(user_agent(Some("a\nb"), None).is_err());
    }
}
