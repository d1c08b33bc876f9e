//! How a call ended.

use std::fmt;
use std::io;

use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::code::{Code, LOST_CONNECTION};
use super::metadata::{Metadata, total_size};
use super::percent;

/// `grpc-status`
pub const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// `grpc-message`
pub const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// What all trailers together may count: a peer that gets more, by default 8 KiB, loses the code too. The rest is for
/// `:status` and for what the text's own header counts beside it. A text that `philote_fast.patches.context` has cut
/// fits as it is.
const TRAILERS_LIMIT: usize = (8 << 10) - 128;

/// However much trailing metadata there is, a text of this size is sent: it can say something.
const SHORTEST_LIMIT: usize = 512;

/// The outcome of a call: what `grpc.Call` gives as code, details and trailing metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The code.
    pub code: Code,
    /// The details.
    pub message: String,
    /// The trailing metadata.
    pub trailing: Metadata,
}

impl Status {
    /// A status without trailing metadata.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            trailing: Metadata::default(),
        }
    }

    /// Success.
    #[must_use]
    pub fn ok() -> Self {
        Self::new(Code::Ok, "")
    }

    /// Reads the trailers of a call, or the headers of one that has nothing else. What the peer has left out or garbled
    /// becomes `UNKNOWN` with a text that says so.
    #[must_use]
    pub fn from_trailers(trailers: &HeaderMap) -> Self {
        let trailing = match Metadata::from_headers(trailers) {
            Ok(trailing) => trailing,
            Err(error) => return Self::new(Code::Internal, error.to_string()),
        };
        let Some(value) = trailers.get(STATUS) else {
            return Self {
                trailing,
                ..Self::missing()
            };
        };
        let message = trailers.get(MESSAGE).map(HeaderValue::as_bytes);
        let message = percent::decode(message.unwrap_or_default());
        match Code::from_header(value.as_bytes()) {
            Some(code) => Self {
                code,
                message,
                trailing,
            },
            None => Self {
                code: Code::Unknown,
                message: garbled(value, &message),
                trailing,
            },
        }
    }

    /// Whether `headers`, the first of an answer, are all of it.
    #[must_use]
    pub fn is_in(headers: &HeaderMap) -> bool {
        headers.contains_key(STATUS)
    }

    /// The status of an answer that ended without one.
    #[must_use]
    pub fn missing() -> Self {
        Self::new(
            Code::Unknown,
            "The server ended the call without a grpc-status",
        )
    }

    /// The status of an answer of HTTP's that is none of gRPC's.
    #[must_use]
    pub fn from_http(status: StatusCode) -> Self {
        Self::new(
            status.into(),
            format!("Received http2 header with status: {}", status.as_u16()),
        )
    }

    /// The status of a stream, or of a connection, that ended with an error of HTTP/2.
    #[must_use]
    pub fn from_h2(error: &h2::Error) -> Self {
        if let Some(error) = error.get_io() {
            return Self::from_io(error);
        }
        let Some(reason) = error.reason() else {
            return Self::new(Code::Internal, error.to_string());
        };
        if error.is_go_away() && error.is_remote() {
            return Self::new(
                LOST_CONNECTION,
                format!("GOAWAY received; Error code: {}", u32::from(reason)),
            );
        }
        if error.is_reset() && error.is_remote() {
            return Self::new(
                reason.into(),
                format!("Received RST_STREAM with error code {}", u32::from(reason)),
            );
        }
        Self::new(reason.into(), error.to_string())
    }

    /// The status of the calls on a connection that was lost.
    #[must_use]
    pub fn from_io(error: &io::Error) -> Self {
        Self::new(LOST_CONNECTION, io_text(error))
    }

    /// Writes code and text into trailers, the text cut to what a peer takes beside the trailing metadata, which is left
    /// to the caller to append.
    pub fn write(&self, trailers: &mut HeaderMap) {
        trailers.insert(STATUS, HeaderValue::from(u16::from(self.code.number())));
        if self.message.is_empty() {
            return;
        }
        let room = TRAILERS_LIMIT
            .saturating_sub(total_size(trailers))
            .saturating_sub(self.trailing.size());
        let message = percent::encode(&self.message, room.max(SHORTEST_LIMIT));
        // All that `encode` gives may stand in a header.
        if let Ok(message) = HeaderValue::from_maybe_shared(message) {
            trailers.insert(MESSAGE, message);
        }
    }
}

fn garbled(value: &HeaderValue, message: &str) -> String {
    let value = String::from_utf8_lossy(value.as_bytes());
    let text = format!("The server ended the call with a grpc-status that is no code: {value:?}");
    if message.is_empty() {
        text
    } else {
        format!("{text}: {message}")
    }
}

/// What the system says, as grpcio tells it: "Connection refused (111)".
#[must_use]
pub fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else {
        return text;
    };
    let suffix = format!(" (os error {number})");
    match text.strip_suffix(&suffix) {
        Some(text) => format!("{text} ({number})"),
        None => text,
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    fn trailers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
        let headers = pairs.iter().map(|(name, value)| {
            let value = HeaderValue::from_bytes(value).expect("it is a value");
            (HeaderName::from_static(name), value)
        });
        headers.collect()
    }

    #[test]
    fn texts_round_trip() {
        for text in [
            "",
            "plain",
            "50% of\nit\t\r",
            "naïve 値 \u{1f600}",
            "%41",
            " lead ",
        ] {
            let status = Status::new(Code::Aborted, text);
            let mut headers = HeaderMap::new();
            status.write(&mut headers);
            assert_eq!(Status::from_trailers(&headers), status);
        }
        let mut headers = HeaderMap::new();
        Status::ok().write(&mut headers);
        assert_eq!(headers, trailers(&[("grpc-status", b"0")]));
    }

    #[test]
    fn what_is_missing_or_garbled_is_unknown() {
        assert_eq!(Status::from_trailers(&HeaderMap::new()), Status::missing());
        for value in [&b""[..], b"17", b"-1", b"\xff\xfe"] {
            let headers = trailers(&[("grpc-status", value), ("grpc-message", b"why%20")]);
            let status = Status::from_trailers(&headers);
            assert_eq!(status.code, Code::Unknown);
            assert!(status.message.contains("no code"), "{status}");
            assert!(status.message.ends_with(": why "), "{status}");
        }
    }

    #[test]
    fn trailing_metadata_is_what_the_users_have_sent() {
        let headers = trailers(&[
            ("grpc-status", b"5"),
            ("grpc-message", b"no"),
            ("x-key", b"value"),
            ("y-bin", b"AAE"),
        ]);
        let status = Status::from_trailers(&headers);
        let pairs: Vec<_> = status.trailing.iter().collect();
        assert_eq!(pairs, [("x-key", &b"value"[..]), ("y-bin", &[0, 1])]);
    }

    #[test]
    fn a_long_text_is_cut_and_the_code_kept() {
        let status = Status::new(Code::Internal, "é".repeat(100_000));
        let mut headers = HeaderMap::new();
        status.write(&mut headers);
        assert!(total_size(&headers) <= 8 << 10);
        let came = Status::from_trailers(&headers);
        assert_eq!(came.code, Code::Internal);
        assert!(came.message.chars().all(|char| char == 'é'));
        assert!(came.message.len() > 2000);
    }

    #[test]
    fn a_text_beside_much_metadata_is_cut_further_but_never_left_out() {
        for (size, least) in [(5000, 2000), (20_000, 500)] {
            let mut status = Status::new(Code::Internal, "x".repeat(10_000));
            let pushed = status.trailing.push("key", "v".repeat(size));
            pushed.expect("it is legal");
            let mut headers = HeaderMap::new();
            status.write(&mut headers);
            status.trailing.append_to(&mut headers);
            let came = Status::from_trailers(&headers);
            assert!((least..least + 1000).contains(&came.message.len()));
            assert_eq!(came.trailing, status.trailing);
        }
    }

    #[test]
    fn errors_of_the_system_are_told_as_grpcio_does() {
        let error = io::Error::from_raw_os_error(libc::ECONNREFUSED);
        assert_eq!(
            io_text(&error),
            format!("Connection refused ({})", libc::ECONNREFUSED)
        );
        let error = io::Error::new(io::ErrorKind::TimedOut, "the handshake took too long");
        assert_eq!(
            Status::from_io(&error).to_string(),
            "UNAVAILABLE: the handshake took too long"
        );
    }
}
