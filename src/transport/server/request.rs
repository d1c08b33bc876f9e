//! What a caller asks for, and what is wrong with it.

use std::time::Instant;

use http::header::{CONTENT_TYPE, HeaderMap, TE};
use http::{Method, Request, StatusCode};

use super::super::code::Code;
use super::super::compression::Encoding;
use super::super::metadata::{Metadata, is_binary, total_size};
use super::super::status::Status;
use super::super::timeout;
use super::sending::{ACCEPT_ENCODING, ENCODING};

const GRPC: &[u8] = b"application/grpc";

/// The head of a call.
#[derive(Debug)]
pub struct Head {
    /// Such as `/package.Service/Method`.
    pub method: String,
    /// When the caller gives up.
    pub deadline: Option<Instant>,
    /// How its messages are compressed.
    pub encoding: Encoding,
    /// All headers.
    pub headers: HeaderMap,
}

/// Why a request is not a call.
#[derive(Debug)]
pub enum Refusal {
    /// It is none of gRPC's.
    Http(StatusCode),
    /// It is, but not a valid one.
    Grpc(Status),
}

impl Head {
    /// Reads the head of a request whose headers may take `limit` bytes.
    ///
    /// # Errors
    /// What is wrong with it, as grpcio answers it.
    pub fn read<T>(request: Request<T>, now: Instant, limit: u32) -> Result<(Self, T), Refusal> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        let content_type = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        if !content_type.is_some_and(is_grpc) {
            return Err(Refusal::Http(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        if parts.method != Method::POST {
            return Err(malformed("Bad method header"));
        }
        if headers.get(TE).is_none_or(|te| te != "trailers") {
            return Err(malformed("Bad te header"));
        }
        let size = total_size(&headers);
        if usize::try_from(limit).is_ok_and(|limit| size > limit) {
            let text = format!("received metadata size exceeds hard limit ({size} vs. {limit})");
            return Err(Refusal::Grpc(Status::new(Code::ResourceExhausted, text)));
        }
        let encoding = match headers.get(ENCODING) {
            None => Encoding::Identity,
            Some(name) => Encoding::from_name(name.as_bytes()).ok_or_else(|| {
                let name = String::from_utf8_lossy(name.as_bytes());
                let text = format!("Compression algorithm '{name}' is not supported");
                Refusal::Grpc(Status::new(Code::Unimplemented, text))
            })?,
        };
        if headers.keys().any(|key| is_binary(key.as_str())) {
            Metadata::from_headers(&headers)
                .map_err(|error| Refusal::Grpc(Status::new(Code::Internal, error.to_string())))?;
        }
        // One that cannot be read is none, as with grpcio.
        let time = headers.get(timeout::TIMEOUT);
        let time = time.and_then(|time| timeout::parse(time.as_bytes()));
        let head = Self {
            method: parts.uri.path().to_owned(),
            deadline: time.and_then(|time| now.checked_add(time)),
            encoding,
            headers,
        };
        Ok((head, body))
    }

    /// Whether the caller takes messages that are compressed so.
    #[must_use]
    pub fn accepts(&self, encoding: Encoding) -> bool {
        let accepted = self.headers.get(ACCEPT_ENCODING);
        encoding.is_accepted(accepted.map_or(&[], |accepted| accepted.as_bytes()))
    }
}

/// `application/grpc`, alone or with a format or parameters.
fn is_grpc(content_type: &[u8]) -> bool {
    let rest = content_type.strip_prefix(GRPC);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"+") || rest.starts_with(b";"))
}

fn malformed(text: &str) -> Refusal {
    Refusal::Grpc(Status::new(Code::Unknown, text))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn request() -> Request<()> {
        Request::builder()
            .method(Method::POST)
            .uri("http://localhost/package.Service/Method")
            .header(CONTENT_TYPE, "application/grpc+proto")
            .header(TE, "trailers")
            .body(())
            .expect("it is well formed")
    }

    fn read(request: Request<()>) -> Result<Head, Refusal> {
        Head::read(request, Instant::now(), 1000).map(|(head, ())| head)
    }

    #[test]
    fn a_call_is_read() {
        let now = Instant::now();
        let mut request = request();
        let headers = request.headers_mut();
        headers.insert("grpc-timeout", "5S".parse().expect("legal"));
        headers.insert("grpc-encoding", "gzip".parse().expect("legal"));
        headers.insert(
            "grpc-accept-encoding",
            "identity,gzip".parse().expect("legal"),
        );
        let (head, ()) = Head::read(request, now, 1000).expect("it is a call");
        assert_eq!(head.method, "/package.Service/Method");
        assert_eq!(head.deadline, Some(now + Duration::from_secs(5)));
        assert_eq!(head.encoding, Encoding::Gzip);
        assert!(head.accepts(Encoding::Gzip) && head.accepts(Encoding::Identity));
        assert!(!head.accepts(Encoding::Deflate));
    }

    #[test]
    fn a_timeout_that_cannot_be_read_is_none() {
        let mut request = request();
        let malformed = "soon".parse().expect("legal");
        request.headers_mut().insert("grpc-timeout", malformed);
        assert_eq!(read(request).expect("it is a call").deadline, None);
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let mut other = request();
        other
            .headers_mut()
            .insert(CONTENT_TYPE, "text/html".parse().expect("legal"));
        assert!(matches!(
            read(other),
            Err(Refusal::Http(StatusCode::UNSUPPORTED_MEDIA_TYPE))
        ));
        let mut get = request();
        *get.method_mut() = Method::GET;
        let mut without_te = request();
        without_te.headers_mut().remove(TE);
        for (request, text) in [(get, "Bad method header"), (without_te, "Bad te header")] {
            let Err(Refusal::Grpc(status)) = read(request) else {
                panic!("it is taken");
            };
            assert_eq!((status.code, &status.message[..]), (Code::Unknown, text));
        }
        for (key, value, code) in [
            ("grpc-encoding", "br", Code::Unimplemented),
            ("key-bin", "!", Code::Internal),
            ("key", &"x".repeat(1000), Code::ResourceExhausted),
        ] {
            let mut request = request();
            request
                .headers_mut()
                .insert(key, value.parse().expect("legal"));
            let Err(Refusal::Grpc(status)) = read(request) else {
                panic!("it is taken");
            };
            assert_eq!(status.code, code);
        }
    }
}
