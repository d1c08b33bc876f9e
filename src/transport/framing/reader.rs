//! Segments into messages.

use std::collections::VecDeque;
use std::mem;

use bytes::Bytes;

use super::super::compression::{Encoding, InflateError};
use super::{FramingError, PREFIX};

/// Finds the messages in what comes.
///
/// A message that lies in one segment is read where it lies. One that is spread over several is read in pieces by who
/// can do so, else gathered; a claimed length allocates nothing: at most twice what has come.
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
    /// What has not come yet of a message that is read in pieces.
    pieces: usize,
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
    /// Nowhere as a whole: it is read in pieces.
    Pieces,
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
            pieces: 0,
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
        self.prefix.is_none() && self.unread == 0 && self.pieces == 0
    }

    /// Whether there is a piece of the message that is read in pieces.
    #[must_use]
    pub fn has_piece(&self) -> bool {
        self.pieces > 0 && self.unread > 0
    }

    /// The next piece of the message that is read in pieces, or `None` while nothing of it is there.
    pub fn piece(&mut self) -> Option<Bytes> {
        let count = self.pieces.min(self.front().len());
        if count == 0 {
            return None;
        }
        let at = self.at;
        let piece = self
            .segments
            .front()
            .map(|segment| segment.slice(at..at + count));
        self.pieces -= count;
        self.skip(count);
        piece
    }

    /// The next message, or `None` while it has not come whole.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&mut self) -> Result<Option<&[u8]>, FramingError> {
        self.read_or_begin(|_, _| None)
    }

    /// The same, but a message of which only the beginning has come may be read in pieces from now on: `begin` gets
    /// that beginning and the message's size, and says how much of it has been dealt with, if it wants the rest so.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read_or_begin(
        &mut self,
        begin: impl FnOnce(&[u8], usize) -> Option<usize>,
    ) -> Result<Option<&[u8]>, FramingError> {
        Ok(match self.find(begin)? {
            None | Some(Found::Pieces) => None,
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
        Ok(match self.find(|_, _| None)? {
            None | Some(Found::Pieces) => None,
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
    fn find(
        &mut self,
        begin: impl FnOnce(&[u8], usize) -> Option<usize>,
    ) -> Result<Option<Found>, FramingError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if self.pieces > 0 {
            return Ok(Some(Found::Pieces));
        }
        let found = self.advance(begin);
        if let Err(error) = found {
            self.failed = Some(error);
            // Nothing of the rest will be read.
            self.segments.clear();
            self.gathered = Vec::new();
        }
        found
    }

    fn advance(
        &mut self,
        begin: impl FnOnce(&[u8], usize) -> Option<usize>,
    ) -> Result<Option<Found>, FramingError> {
        self.forget_given();
        let Some(prefix) = self.read_prefix()? else {
            return Ok(None);
        };
        if !prefix.compressed && self.begin_pieces(prefix.size, begin) {
            self.prefix = None;
            return Ok(Some(Found::Pieces));
        }
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

    /// Whether the message of `size` bytes, of which only the beginning is there, is to be read in pieces.
    fn begin_pieces(
        &mut self,
        size: usize,
        begin: impl FnOnce(&[u8], usize) -> Option<usize>,
    ) -> bool {
        let come = self.front();
        if !self.gathered.is_empty() || come.is_empty() || come.len() >= size {
            return false;
        }
        let Some(dealt_with) = begin(come, size).filter(|&count| count <= come.len()) else {
            return false;
        };
        self.pieces = size - dealt_with;
        self.skip(dealt_with);
        true
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
mod tests;
