//! The half of a call that receives.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::ResponseFuture;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use http::{Response, StatusCode};

use super::super::code::Code;
use super::super::compression::Encoding;
use super::super::framing::{FramingError, MessageReader, Side};
use super::super::metadata::{Metadata, total_size};
use super::super::status::Status;

const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// What the media types of gRPC begin with.
const MEDIA_TYPE: &[u8] = b"application/grpc";

/// What has come of the answer.
pub struct Receiving {
    stage: Stage,
    /// What has come and nobody has taken. The peer's window is not opened for it, and so bounds it.
    segments: VecDeque<Bytes>,
    initial: Option<Metadata>,
    encoding: Encoding,
    status: Option<Status>,
    /// Of those who take one message at a time.
    reader: MessageReader,
    single: Single,
    metadata_limit: usize,
}

enum Stage {
    /// Not on a connection.
    Unplaced,
    Headers(ResponseFuture),
    Body(RecvStream),
    Trailers(RecvStream),
    Over,
}

/// Whether the answer is one message. It is taken as it comes then, so that the end is seen whoever waits for it.
#[derive(PartialEq, Eq)]
enum Single {
    No,
    Expected,
    Here(Bytes),
}

/// What came of a look at the stream.
pub enum Progress {
    /// Nothing that ends the call.
    Some,
    /// The call has ended, by the peer's doing.
    Ended,
    /// The stream failed; the status is for the caller to find.
    Failed(h2::Error),
}

impl Receiving {
    pub fn new(message_limit: usize, metadata_limit: usize) -> Self {
        Self {
            stage: Stage::Unplaced,
            segments: VecDeque::new(),
            initial: None,
            encoding: Encoding::Identity,
            status: None,
            reader: MessageReader::new(message_limit, Encoding::Identity),
            single: Single::No,
            metadata_limit,
        }
    }

    /// Says that the answer is one message, or none.
    pub fn expect_one(&mut self) {
        self.single = Single::Expected;
    }

    /// Receives the answer to a request that was sent.
    pub fn open(&mut self, response: ResponseFuture) {
        self.stage = Stage::Headers(response);
    }

    /// Forgets the stream, so that the request can be sent on another.
    pub fn close(&mut self) {
        self.stage = Stage::Unplaced;
    }

    /// Whether anything of an answer has come.
    pub fn has_begun(&self) -> bool {
        self.initial.is_some()
    }

    pub fn status(&self) -> Option<&Status> {
        self.status.as_ref()
    }

    pub fn initial(&self) -> Option<&Metadata> {
        self.initial.as_ref()
    }

    /// Takes all that has come from the stream.
    pub fn advance(&mut self, context: &mut Context<'_>) -> Progress {
        loop {
            let polled = match &mut self.stage {
                Stage::Unplaced | Stage::Over => return Progress::Some,
                Stage::Headers(response) => Pin::new(response)
                    .poll(context)
                    .map_ok(|response| self.headers(response)),
                Stage::Body(stream) => match stream.poll_data(context) {
                    Poll::Ready(None) => {
                        self.end_of_body();
                        continue;
                    }
                    Poll::Ready(Some(data)) => {
                        Poll::Ready(data.map(|segment| self.segments.push_back(segment)))
                    }
                    Poll::Pending => Poll::Pending,
                },
                Stage::Trailers(stream) => stream
                    .poll_trailers(context)
                    .map_ok(|trailers| self.trailers(trailers.as_ref())),
            };
            match polled {
                Poll::Pending => return Progress::Some,
                Poll::Ready(Err(error)) => return Progress::Failed(error),
                Poll::Ready(Ok(())) => {}
            }
            if self.single != Single::No && !self.segments.is_empty() {
                self.gather();
            }
            if self.status.is_some() {
                return Progress::Ended;
            }
        }
    }

    /// Takes what has come of the one message.
    fn gather(&mut self) {
        self.read_on();
        loop {
            match self.reader.take() {
                Ok(None) => return,
                Ok(Some(message)) if self.single == Single::Expected => {
                    self.single = Single::Here(message);
                }
                Ok(Some(_)) => {
                    let text = "More than one message came for a call that takes one";
                    self.finish(Status::new(Code::Internal, text));
                    return;
                }
                Err(error) => {
                    self.finish(error.status(Side::Client));
                    return;
                }
            }
        }
    }

    fn headers(&mut self, response: Response<RecvStream>) {
        let (head, stream) = response.into_parts();
        if stream.is_end_stream() {
            self.stage = Stage::Over;
            self.initial = Some(Metadata::default());
            let status = match judge(head.status, &head.headers) {
                Some(status) => status,
                None => self.checked(&head.headers, Status::from_trailers),
            };
            self.status = Some(status);
            return;
        }
        if let Some(status) = judge(head.status, &head.headers) {
            self.finish(status);
            return;
        }
        let encoding = head.headers.get(ENCODING);
        self.encoding = encoding
            .and_then(|name| Encoding::from_name(name.as_bytes()))
            .unwrap_or(Encoding::Identity);
        self.reader.set_encoding(self.encoding);
        self.stage = Stage::Body(stream);
        let size = total_size(&head.headers);
        if size > self.metadata_limit {
            self.finish(too_much_metadata(size, self.metadata_limit));
            return;
        }
        match Metadata::from_headers(&head.headers) {
            Ok(initial) => self.initial = Some(initial),
            Err(error) => {
                self.finish(Status::new(Code::Internal, error.to_string()));
            }
        }
    }

    fn end_of_body(&mut self) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Body(stream) => Stage::Trailers(stream),
            other => other,
        };
    }

    fn trailers(&mut self, trailers: Option<&HeaderMap>) {
        let status = match trailers {
            Some(trailers) => self.checked(trailers, Status::from_trailers),
            None => Status::missing(),
        };
        self.stage = Stage::Over;
        self.status = Some(status);
    }

    fn checked(&self, headers: &HeaderMap, read: impl FnOnce(&HeaderMap) -> Status) -> Status {
        match total_size(headers) {
            size if size > self.metadata_limit => too_much_metadata(size, self.metadata_limit),
            _ => read(headers),
        }
    }

    /// Ends the call with `status` unless it has ended. What has come is dropped; the stream is dropped by `take_stream`.
    pub fn finish(&mut self, status: Status) -> bool {
        if self.status.is_some() {
            return false;
        }
        self.segments.clear();
        self.initial.get_or_insert_default();
        self.status = Some(status);
        true
    }

    /// Gives the stream up. To be dropped where no lock is held.
    pub fn take_stream(&mut self) -> impl Sized + use<> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Headers(response) => (Some(response), None),
            Stage::Body(stream) | Stage::Trailers(stream) => (None, Some(stream)),
            Stage::Unplaced | Stage::Over => (None, None),
        }
    }

    /// Moves what has come into `reader`. True where that was something.
    pub fn fill(&mut self, reader: &mut MessageReader) -> bool {
        if self.segments.is_empty() {
            return false;
        }
        reader.set_encoding(self.encoding);
        let mut moved = 0;
        for segment in self.segments.drain(..) {
            moved += segment.len();
            reader.push(segment);
        }
        if let Stage::Body(stream) = &mut self.stage {
            // More than came cannot be given back, and less is not.
            drop(stream.flow_control().release_capacity(moved));
        }
        true
    }

    /// Moves what has come into the call's own reader. True where that was something.
    fn read_on(&mut self) -> bool {
        let none = MessageReader::new(0, Encoding::Identity);
        let mut reader = std::mem::replace(&mut self.reader, none);
        let moved = self.fill(&mut reader);
        self.reader = reader;
        moved
    }

    /// The next whole message; `Ready(None)` at the end.
    ///
    /// # Errors
    /// The status that an unreadable message ends the call with.
    pub fn message(&mut self) -> Poll<Result<Option<Bytes>, Status>> {
        if self.single != Single::No {
            if self.status.is_none() {
                return Poll::Pending;
            }
            return match std::mem::replace(&mut self.single, Single::Expected) {
                Single::Here(message) => Poll::Ready(Ok(Some(message))),
                _ => self.at_the_end(),
            };
        }
        loop {
            match self.reader.take() {
                Ok(Some(message)) => return Poll::Ready(Ok(Some(message))),
                Err(error) => return Poll::Ready(Err(error.status(Side::Client))),
                Ok(None) => {}
            }
            if !self.read_on() {
                return self.at_the_end();
            }
        }
    }

    fn at_the_end(&self) -> Poll<Result<Option<Bytes>, Status>> {
        match &self.status {
            None => Poll::Pending,
            Some(status) if status.code == Code::Ok && !self.reader.is_clean_end() => {
                Poll::Ready(Err(FramingError::Truncated.status(Side::Client)))
            }
            Some(_) => Poll::Ready(Ok(None)),
        }
    }

    /// Replaces the success that the peer has told: what it sent was no good.
    pub fn overrule(&mut self, status: Status) {
        self.segments.clear();
        self.status = Some(status);
    }
}

/// What headers say that are not those of an answer of gRPC's.
fn judge(status: StatusCode, headers: &HeaderMap) -> Option<Status> {
    if Status::is_in(headers) {
        return None;
    }
    if status != StatusCode::OK {
        return Some(Status::from_http(status));
    }
    let media_type = headers.get(CONTENT_TYPE)?;
    (!media_type.as_bytes().starts_with(MEDIA_TYPE)).then(|| {
        let found = String::from_utf8_lossy(media_type.as_bytes()).into_owned();
        Status::new(Code::Unknown, format!("invalid content-type: {found}"))
    })
}

fn too_much_metadata(size: usize, limit: usize) -> Status {
    Status::new(
        Code::ResourceExhausted,
        format!("received metadata size exceeds hard limit ({size} vs. {limit})"),
    )
}
