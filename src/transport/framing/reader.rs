//! Segments into messages.

use std::collections::VecDeque;
use std::mem;

use bytes::Bytes;

use super::super::compression::{Encoding, InflateError};
use super::{FramingError, PREFIX};

/// Finds the messages in what comes.
///
/// A message that lies in one segment is read where it lies; only one that is spread over several is gathered, and a
/// claimed length allocates nothing: at most twice what has come.
///
/// After an error the stream is lost: every further read gives that error again.
#[derive(Debug)]
pub struct MessageReader {
    limit: usize,
    encoding: Encoding,
    /// What has come, none of it empty.
    segments: VecDeque<Bytes>,
    /// How much of the first segment has been read. It stays until the next read: a message may lie in it.
    at: usize,
    /// The bytes of the segments that have not been read.
    unread: usize,
    /// The prefix of the message that is being read.
    prefix: Option<Prefix>,
    /// The beginning of a message that is spread over segments, then all of it.
    gathered: Vec<u8>,
    /// Whether `gathered` is a message that was given out.
    given: bool,
    inflated: Vec<u8>,
    failed: Option<FramingError>,
}

#[derive(Debug, Clone, Copy)]
struct Prefix {
    compressed: bool,
    size: usize,
}

/// Where the message is that was found.
enum Found {
    /// At the end of what has been read of the first segment.
    Segment(usize),
    Gathered,
    Inflated,
}

impl MessageReader {
    /// A reader of messages of `limit` bytes at most, where `encoding` is what compressed ones are compressed by.
    #[must_use]
    pub fn new(limit: usize, encoding: Encoding) -> Self {
        Self {
            limit,
            encoding,
            segments: VecDeque::new(),
            at: 0,
            unread: 0,
            prefix: None,
            gathered: Vec::new(),
            given: false,
            inflated: Vec::new(),
            failed: None,
        }
    }

    /// Tells how messages are compressed, where the headers come after the reader was made.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Takes what has come, without looking into it.
    pub fn push(&mut self, segment: Bytes) {
        if !segment.is_empty() && self.failed.is_none() {
            self.unread += segment.len();
            self.segments.push_back(segment);
        }
    }

    /// How many bytes it holds that belong to no message given out yet.
    #[must_use]
    pub fn held(&self) -> usize {
        let gathered = if self.given { 0 } else { self.gathered.len() };
        self.unread + gathered
    }

    /// Whether the stream may end here: no message has begun.
    #[must_use]
    pub fn is_clean_end(&self) -> bool {
        self.prefix.is_none() && self.unread == 0
    }

    /// The next message, or `None` while it has not come whole.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&mut self) -> Result<Option<&[u8]>, FramingError> {
        Ok(match self.find()? {
            None => None,
            // An empty message may lie past the end of all segments.
            Some(Found::Segment(size)) => {
                let segment = self.segments.front();
                let message = segment.and_then(|segment| segment.get(self.at - size..self.at));
                Some(message.unwrap_or_default())
            }
            Some(Found::Gathered) => Some(&self.gathered),
            Some(Found::Inflated) => Some(&self.inflated),
        })
    }

    /// The next message as bytes of its own, or `None` while it has not come whole.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn take(&mut self) -> Result<Option<Bytes>, FramingError> {
        Ok(match self.find()? {
            None => None,
            Some(Found::Segment(size)) => {
                let segment = self.segments.front();
                let message = segment.map(|segment| segment.slice(self.at - size..self.at));
                Some(message.unwrap_or_default())
            }
            Some(Found::Gathered) => Some(mem::take(&mut self.gathered).into()),
            Some(Found::Inflated) => Some(mem::take(&mut self.inflated).into()),
        })
    }

    #[inline]
    fn find(&mut self) -> Result<Option<Found>, FramingError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let found = self.advance();
        if let Err(error) = found {
            self.failed = Some(error);
            // Nothing of the rest will be read.
            self.segments.clear();
            self.gathered = Vec::new();
        }
        found
    }

    fn advance(&mut self) -> Result<Option<Found>, FramingError> {
        self.forget_given();
        let Some(prefix) = self.read_prefix()? else {
            return Ok(None);
        };
        let Some(found) = self.whole(prefix.size) else {
            return Ok(None);
        };
        self.prefix = None;
        if prefix.compressed {
            self.inflate(&found)?;
            return Ok(Some(Found::Inflated));
        }
        Ok(Some(found))
    }

    fn forget_given(&mut self) {
        if self.given {
            self.given = false;
            self.gathered.clear();
        }
        if self.front().is_empty() {
            self.segments.pop_front();
            self.at = 0;
        }
    }

    /// What is unread of the first segment.
    fn front(&self) -> &[u8] {
        let segment = self.segments.front();
        segment
            .and_then(|segment| segment.get(self.at..))
            .unwrap_or_default()
    }

    fn read_prefix(&mut self) -> Result<Option<Prefix>, FramingError> {
        if self.prefix.is_some() {
            return Ok(self.prefix);
        }
        if self.unread < PREFIX {
            return Ok(None);
        }
        let bytes = match self.front().first_chunk::<PREFIX>() {
            Some(&bytes) => {
                self.skip(PREFIX);
                bytes
            }
            None => self.gather_prefix(),
        };
        let prefix = self.check(bytes)?;
        self.prefix = Some(prefix);
        Ok(self.prefix)
    }

    #[cold]
    fn gather_prefix(&mut self) -> [u8; PREFIX] {
        let mut bytes = [0; PREFIX];
        for byte in &mut bytes {
            *byte = self.front().first().copied().unwrap_or_default();
            self.skip(1);
        }
        bytes
    }

    fn check(&self, [flag, length @ ..]: [u8; PREFIX]) -> Result<Prefix, FramingError> {
        let compressed = match flag {
            0 => false,
            1 if self.encoding == Encoding::Identity => return Err(FramingError::NoEncoding),
            1 => true,
            other => return Err(FramingError::BadFlag(other)),
        };
        let size = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if size > self.limit {
            return Err(self.too_large(size));
        }
        Ok(Prefix { compressed, size })
    }

    fn too_large(&self, size: usize) -> FramingError {
        FramingError::TooLarge {
            size,
            limit: self.limit,
        }
    }

    /// Marks `count` bytes of the first segment as read, and drops it if others follow in its place.
    fn skip(&mut self, count: usize) {
        self.at += count;
        self.unread -= count;
        if self.front().is_empty() {
            self.segments.pop_front();
            self.at = 0;
        }
    }

    /// Finds all of the message's `size` bytes, or gathers what has come of them.
    fn whole(&mut self, size: usize) -> Option<Found> {
        if self.gathered.is_empty() && self.front().len() >= size {
            // The segment stays: `forget_given` drops it.
            self.at += size;
            self.unread -= size;
            return Some(Found::Segment(size));
        }
        while self.gathered.len() < size && self.unread > 0 {
            self.gather(size);
        }
        self.given = self.gathered.len() == size;
        self.given.then_some(Found::Gathered)
    }

    /// Moves what the first segment has of the message to the rest of it.
    fn gather(&mut self, size: usize) {
        let missing = size - self.gathered.len();
        let count = missing.min(self.front().len());
        if self.gathered.capacity() - self.gathered.len() < count {
            let more = self.gathered.len().max(count).min(missing);
            self.gathered.reserve_exact(more);
        }
        if let Some(segment) = self.segments.front() {
            self.gathered
                .extend_from_slice(&segment[self.at..][..count]);
        }
        self.skip(count);
    }

    fn inflate(&mut self, found: &Found) -> Result<(), FramingError> {
        let data = match (found, self.segments.front()) {
            (Found::Segment(size), Some(segment)) => &segment[self.at - size..self.at],
            _ => &self.gathered,
        };
        self.encoding
            .inflate(data, self.limit, &mut self.inflated)
            .map_err(|error| match error {
                InflateError::TooLarge => self.too_large(self.limit.saturating_add(1)),
                InflateError::Malformed => FramingError::Inflate(self.encoding),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: [&[u8]; 5] = [b"first", b"", b"a third message", b"", b"x"];

    fn stream(messages: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages {
            bytes.push(0);
            bytes.extend_from_slice(&u32::try_from(message.len()).unwrap_or(0).to_be_bytes());
            bytes.extend_from_slice(message);
        }
        bytes
    }

    fn reader() -> MessageReader {
        MessageReader::new(100, Encoding::Identity)
    }

    /// All messages of `segments`, by `read` or by `take`.
    fn messages(segments: &[&[u8]], take: bool) -> Vec<Vec<u8>> {
        let mut reader = reader();
        let mut messages = Vec::new();
        for segment in segments {
            reader.push(Bytes::copy_from_slice(segment));
            loop {
                let message = if take {
                    reader.take().map(|found| found.map(Vec::from))
                } else {
                    reader.read().map(|found| found.map(<[u8]>::to_vec))
                };
                match message.expect("it is well formed") {
                    Some(message) => messages.push(message),
                    None => break,
                }
            }
        }
        assert!(reader.is_clean_end());
        assert_eq!(reader.held(), 0);
        messages
    }

    #[test]
    fn messages_come_out_however_the_stream_is_cut() {
        let bytes = stream(&MESSAGES);
        for take in [false, true] {
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let segments = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    assert_eq!(messages(&segments, take), MESSAGES, "{first} {second}");
                }
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(messages(&single, take), MESSAGES);
        }
    }

    #[test]
    fn segments_that_came_before_the_first_read_are_all_read() {
        for size in 1..30 {
            let mut reader = reader();
            for segment in stream(&MESSAGES).chunks(size) {
                reader.push(Bytes::copy_from_slice(segment));
            }
            for message in MESSAGES {
                assert_eq!(reader.read(), Ok(Some(message)));
            }
            assert_eq!(reader.read(), Ok(None));
            assert!(reader.is_clean_end());
        }
    }

    #[test]
    fn the_end_is_clean_only_between_messages() {
        let bytes = stream(&[b"message"]);
        for end in 0..=bytes.len() {
            let mut reader = reader();
            reader.push(Bytes::copy_from_slice(&bytes[..end]));
            let whole = end == bytes.len();
            assert_eq!(reader.read().map(|found| found.is_some()), Ok(whole));
            assert_eq!(reader.is_clean_end(), end == 0 || whole, "{end}");
        }
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let mut reader = MessageReader::new(usize::MAX, Encoding::Identity);
        reader.push(Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff]));
        assert_eq!(reader.read(), Ok(None));
        assert_eq!(reader.gathered.capacity(), 0);
        for came in 1..100 {
            reader.push(Bytes::from_static(&[1; 1000]));
            assert_eq!(reader.read(), Ok(None));
            assert!(reader.gathered.capacity() <= 2000 * came);
            assert!(reader.segments.is_empty(), "what came is not held twice");
        }
    }

    #[test]
    fn the_limit_is_exact_and_an_error_stays() {
        let mut reader = MessageReader::new(4, Encoding::Identity);
        reader.push(stream(&[b"1234", b"12345"]).into());
        assert_eq!(reader.read(), Ok(Some(&b"1234"[..])));
        let error = FramingError::TooLarge { size: 5, limit: 4 };
        for _ in 0..3 {
            assert_eq!(reader.read(), Err(error));
            assert_eq!(reader.take(), Err(error));
            reader.push(stream(&[b"1"]).into());
        }
        assert!(reader.segments.is_empty());
    }

    #[test]
    fn flags() {
        let cases = [
            (2, Encoding::Gzip, FramingError::BadFlag(2)),
            (255, Encoding::Identity, FramingError::BadFlag(255)),
            (1, Encoding::Identity, FramingError::NoEncoding),
            (1, Encoding::Gzip, FramingError::Inflate(Encoding::Gzip)),
        ];
        for (flag, encoding, error) in cases {
            let mut reader = MessageReader::new(100, encoding);
            reader.push(vec![flag, 0, 0, 0, 1, 9].into());
            assert_eq!(reader.read(), Err(error));
        }
    }

    #[test]
    fn a_compressed_message_is_measured_inflated() {
        let content = [3; 5000];
        let data = Encoding::Gzip.compress(&[&content]).expect("it shrinks");
        let mut bytes = stream(&[&data]);
        bytes[0] = 1;
        for (limit, fits) in [(5000, true), (4999, false)] {
            for segment in [1, 7, bytes.len()] {
                let mut reader = MessageReader::new(limit, Encoding::Gzip);
                for segment in bytes.chunks(segment) {
                    reader.push(Bytes::copy_from_slice(segment));
                }
                let expected = FramingError::TooLarge { size: 5000, limit };
                match reader.read() {
                    Ok(message) => assert_eq!((message, fits), (Some(&content[..]), true)),
                    Err(error) => assert_eq!((error, fits), (expected, false)),
                }
            }
        }
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut state = 7_u64;
        for _ in 0..2000 {
            let mut reader = MessageReader::new(50, Encoding::Deflate);
            for _ in 0..6 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let mut bytes = state.to_be_bytes().map(|byte| byte % 9);
                bytes[0] &= 1;
                reader.push(Bytes::copy_from_slice(&bytes));
                let _ = reader.read();
                let _ = reader.take();
            }
        }
    }
}
