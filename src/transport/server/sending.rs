//! The answer's half of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Context;

use bytes::Bytes;
use h2::SendStream;
use h2::server::SendResponse;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use super::super::Ended;
use super::super::compression::{ACCEPTED, Encoding};
use super::super::metadata::Metadata;
use super::super::status::Status;
use super::bell::Bell;

/// `grpc-encoding`
pub(super) const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// `grpc-accept-encoding`
pub(super) const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// How far an answer has come.
pub(super) enum Sending {
    /// No headers have been sent.
    New {
        respond: SendResponse<Bytes>,
        encoding: Encoding,
    },
    /// Messages may be sent.
    Open {
        stream: SendStream<Bytes>,
        encoding: Encoding,
    },
    /// The status was sent, or the stream is gone.
    Done,
}

impl Sending {
    pub fn is_new(&self) -> bool {
        matches!(self, Self::New { .. })
    }

    pub fn encoding(&self) -> Encoding {
        match self {
            Self::New { encoding, .. } | Self::Open { encoding, .. } => *encoding,
            Self::Done => Encoding::Identity,
        }
    }

    pub fn set_encoding(&mut self, to: Encoding) {
        if let Self::New { encoding, .. } = self {
            *encoding = to;
        }
    }

    /// Whether the peer has reset the stream, or the connection is gone.
    pub fn is_reset(&mut self, context: &mut Context<'_>) -> bool {
        match self {
            Self::New { respond, .. } => respond.poll_reset(context).is_ready(),
            Self::Open { stream, .. } => stream.poll_reset(context).is_ready(),
            Self::Done => true,
        }
    }

    /// Sends the headers.
    pub fn begin(&mut self, metadata: &Metadata) -> Result<(), Ended> {
        let Self::New { respond, encoding } = self else {
            return Err(Ended);
        };
        let encoding = *encoding;
        let mut response = Response::new(());
        let headers = response.headers_mut();
        base_headers(headers);
        if encoding != Encoding::Identity {
            headers.insert(ENCODING, HeaderValue::from_static(encoding.name()));
        }
        metadata.append_to(headers);
        let stream = respond.send_response(response, false);
        let stream = stream.map_err(|_| Ended)?;
        *self = Self::Open { stream, encoding };
        Ok(())
    }

    /// Sends framed messages, after the headers.
    pub fn message(&mut self, segment: Bytes) -> Result<(), Ended> {
        if self.is_new() {
            self.begin(&Metadata::default())?;
        }
        match self {
            Self::Open { stream, .. } => stream.send_data(segment, false).map_err(|_| Ended),
            _ => Err(Ended),
        }
    }

    /// Sends the status. Where the peer is gone there is nobody to tell.
    pub fn end(&mut self, status: &Status) {
        match std::mem::replace(self, Self::Done) {
            Self::New { mut respond, .. } => {
                let mut response = Response::new(());
                base_headers(response.headers_mut());
                trailers(status, response.headers_mut());
                drop(respond.send_response(response, true));
            }
            Self::Open { mut stream, .. } => {
                let mut headers = HeaderMap::new();
                trailers(status, &mut headers);
                drop(stream.send_trailers(headers));
            }
            Self::Done => {}
        }
    }
}

/// Refuses a request that is none of gRPC's.
pub(super) fn refuse(mut respond: SendResponse<Bytes>, code: StatusCode) {
    let mut response = Response::new(());
    *response.status_mut() = code;
    drop(respond.send_response(response, true));
}

fn base_headers(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, GRPC);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
}

fn trailers(status: &Status, headers: &mut HeaderMap) {
    status.write(headers);
    status.trailing.append_to(headers);
}

/// Bytes that are counted until the library has written or dropped them.
pub(super) struct Counted {
    bytes: Bytes,
    count: Arc<AtomicUsize>,
    bell: Arc<Bell>,
}

impl Counted {
    pub fn wrap(bytes: Bytes, count: &Arc<AtomicUsize>, bell: &Arc<Bell>) -> Bytes {
        count.fetch_add(bytes.len(), Ordering::SeqCst);
        Bytes::from_owner(Self {
            bytes,
            count: Arc::clone(count),
            bell: Arc::clone(bell),
        })
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.fetch_sub(self.bytes.len(), Ordering::SeqCst);
        self.bell.ring();
    }
}
