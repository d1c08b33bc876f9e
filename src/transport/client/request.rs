//! The headers of a request.

use std::time::Instant;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE, USER_AGENT};
use http::uri::{Authority, InvalidUri, Parts, PathAndQuery, Scheme};
use http::{Method, Request, Uri, Version};

use super::super::compression::{ACCEPTED, Encoding};
use super::super::metadata::Metadata;
use super::super::timeout;

const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// What all requests of a channel have in common.
pub struct Template {
    scheme: Scheme,
    authority: Authority,
    headers: HeaderMap,
}

/// What makes one request different.
pub struct Head {
    /// `/SERVICE/METHOD`
    pub path: String,
    /// The user's metadata.
    pub metadata: Metadata,
    /// How its messages are compressed.
    pub encoding: Encoding,
}

impl Template {
    /// Requests to `authority` by `user_agent`.
    ///
    /// # Errors
    /// The authority is none.
    pub fn new(authority: &str, tls: bool, user_agent: &HeaderValue) -> Result<Self, InvalidUri> {
        let mut headers = HeaderMap::new();
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
        headers.insert(USER_AGENT, user_agent.clone());
        Ok(Self {
            scheme: if tls { Scheme::HTTPS } else { Scheme::HTTP },
            authority: authority.parse()?,
            headers,
        })
    }

    /// The request of a call; `None` where no server can have a method of that name.
    pub fn request(&self, head: &Head, deadline: Option<Instant>) -> Option<Request<()>> {
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::try_from(head.path.as_str()).ok()?);
        let mut headers = self.headers.clone();
        if head.encoding != Encoding::Identity {
            headers.insert(ENCODING, HeaderValue::from_static(head.encoding.name()));
        }
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            headers.insert(timeout::TIMEOUT, timeout::format(left));
        }
        head.metadata.append_to(&mut headers);
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.version_mut() = Version::HTTP_2;
        *request.uri_mut() = Uri::from_parts(parts).ok()?;
        *request.headers_mut() = headers;
        Some(request)
    }
}
