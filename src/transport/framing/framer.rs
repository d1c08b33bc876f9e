//! Messages into segments.

use std::collections::VecDeque;
use std::mem;

use bytes::Bytes;

use super::super::compression::Encoding;
use super::super::pool::Buffer;
use super::{FramingError, PREFIX};

/// The most that small messages share: one DATA frame of the size that the native peer announces.
pub const SEGMENT: usize = 1 << 20;

/// A message of this size begins a segment, so that it travels in one DATA frame and is read where it lies.
pub const LARGE: usize = 64 << 10;

/// What the first segment has room for at first: most calls need no more.
const FIRST: usize = 4 << 10;

/// Collects messages, each with its prefix, into segments to be sent as one DATA frame each.
///
/// A message never begins in one segment and ends in another.
#[derive(Debug)]
pub struct Framer {
    limit: usize,
    encoding: Encoding,
    /// Filled, in order.
    full: VecDeque<Bytes>,
    full_bytes: usize,
    /// Being filled.
    open: Buffer,
}

impl Framer {
    /// A framer for messages of `limit` bytes at most, compressed by `encoding`.
    #[must_use]
    pub fn new(limit: usize, encoding: Encoding) -> Self {
        Self {
            // A length has four bytes.
            limit: limit.min(u32::MAX as usize),
            encoding,
            full: VecDeque::new(),
            full_bytes: 0,
            open: Buffer::default(),
        }
    }

    /// Adds the message that is made of `parts`.
    ///
    /// # Errors
    /// `TooLargeToSend`, and nothing is added.
    pub fn message(&mut self, parts: &[&[u8]]) -> Result<(), FramingError> {
        let size = parts.iter().map(|part| part.len()).sum();
        if size > self.limit {
            return Err(FramingError::TooLargeToSend {
                size,
                limit: self.limit,
            });
        }
        match self.encoding.compress(parts) {
            Some(compressed) => self.add(1, compressed.len(), &[&compressed]),
            None => self.add(0, size, parts),
        }
        Ok(())
    }

    /// How many bytes have been framed and not taken.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.full_bytes + self.open.len()
    }

    /// Whether all has been taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.full.is_empty() && self.open.is_empty()
    }

    /// Ends the segment being filled, so that `segment` gives it too.
    pub fn flush(&mut self) {
        if !self.open.is_empty() {
            self.full_bytes += self.open.len();
            self.full.push_back(mem::take(&mut self.open).freeze());
        }
    }

    /// The next segment that is filled, or that `flush` ended.
    pub fn segment(&mut self) -> Option<Bytes> {
        let segment = self.full.pop_front()?;
        self.full_bytes -= segment.len();
        Some(segment)
    }

    fn add(&mut self, flag: u8, size: usize, parts: &[&[u8]]) {
        self.make_room(size);
        // `new` has limited it, and compressing makes it smaller.
        let length = u32::try_from(size).unwrap_or(u32::MAX);
        self.open.write(&[flag]);
        self.open.write(&length.to_be_bytes());
        for part in parts {
            self.open.write(part);
        }
    }

    /// Room for a message of `size` bytes in the open segment, or in a new one.
    #[inline]
    fn make_room(&mut self, size: usize) {
        let framed = size + PREFIX;
        let filled = self.open.len();
        if size < LARGE && filled + framed <= SEGMENT {
            if framed <= self.open.room() {
                return;
            }
            // What is filled further is not moved for more room.
            if filled < LARGE {
                return self.grow(filled + framed);
            }
        }
        self.begin(framed);
    }

    fn grow(&mut self, needed: usize) {
        let room = [FIRST, LARGE].into_iter().find(|&room| room >= needed);
        let larger = Buffer::with_room(room.unwrap_or(SEGMENT));
        let former = mem::replace(&mut self.open, larger);
        self.open.write(former.as_ref());
    }

    fn begin(&mut self, framed: usize) {
        // After a segment that small messages have filled there are probably more of them.
        let room = if self.open.len() > SEGMENT / 2 {
            SEGMENT
        } else {
            LARGE
        };
        self.flush();
        self.open = Buffer::with_room(if framed > LARGE { framed } else { room });
    }
}

#[cfg(test)]
mod tests {
    use super::super::MessageReader;
    use super::*;

    fn framed(sizes: &[usize]) -> Vec<Bytes> {
        let mut framer = Framer::new(usize::MAX, Encoding::Identity);
        let mut all = 0;
        for (mark, &size) in (0..=255).cycle().zip(sizes) {
            let content = vec![mark; size];
            let (head, tail) = content.split_at(size / 3);
            framer.message(&[head, tail]).expect("there is no limit");
            all += size + PREFIX;
            assert_eq!(framer.pending(), all);
        }
        framer.flush();
        let segments = std::iter::from_fn(|| framer.segment()).collect();
        assert!(framer.is_empty());
        assert_eq!(framer.pending(), 0);
        segments
    }

    fn read_back(segments: &[Bytes], sizes: &[usize]) {
        let mut reader = MessageReader::new(usize::MAX, Encoding::Identity);
        let mut sizes = (0..=255).cycle().zip(sizes);
        for segment in segments {
            reader.push(segment.clone());
            while let Some(message) = reader.read().expect("it is well formed") {
                let (mark, &size) = sizes.next().expect("no more come than were sent");
                assert_eq!(message.len(), size);
                assert!(message.iter().all(|&byte| byte == mark));
                let inside = segment.as_ptr_range().contains(&message.as_ptr());
                assert!(inside || size == 0, "a message of {size} bytes was copied");
            }
        }
        assert!(sizes.next().is_none());
        assert!(reader.is_clean_end());
    }

    #[test]
    fn every_mixture_of_sizes_comes_back_and_no_message_is_cut() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize
        };
        for round in 0..60 {
            let sizes: Vec<usize> = (0..random() % 200)
                .map(|_| match random() % 20 {
                    0 => random() % (200 << 10),
                    1 if round % 10 == 0 => random() % (3 << 20),
                    2..5 => 0,
                    5..10 => random() % 9000,
                    _ => random() % 100,
                })
                .collect();
            let segments = framed(&sizes);
            assert!(segments.iter().all(|segment| !segment.is_empty()));
            read_back(&segments, &sizes);
        }
    }

    #[test]
    fn small_messages_share_segments_of_the_size_of_a_frame() {
        let segments = framed(&vec![1000; 5000]);
        assert_eq!(segments.len(), 5);
        assert!(segments.iter().all(|segment| segment.len() <= SEGMENT));
        assert!(framed(&[]).is_empty());
        assert_eq!(framed(&[0]), [Bytes::from_static(&[0; 5])]);
    }

    #[test]
    fn a_large_message_begins_a_segment() {
        let lengths = |sizes: &[usize]| -> Vec<usize> {
            framed(sizes)
                .iter()
                .map(|segment| segment.len() - PREFIX)
                .collect()
        };
        assert_eq!(lengths(&[10, LARGE, LARGE]), [10, LARGE, LARGE]);
        assert_eq!(lengths(&[10, LARGE - 1]), [10 + PREFIX + LARGE - 1]);
        assert_eq!(lengths(&[3 << 20, 10]), [3 << 20, 10]);
    }

    #[test]
    fn a_message_over_the_limit_is_refused_and_leaves_nothing() {
        let mut framer = Framer::new(10, Encoding::Gzip);
        assert_eq!(
            framer.message(&[&[0; 6], &[0; 5]]),
            Err(FramingError::TooLargeToSend {
                size: 11,
                limit: 10
            })
        );
        assert!(framer.is_empty());
        assert_eq!(framer.message(&[&[0; 10]]), Ok(()));
    }

    #[test]
    fn only_what_shrinks_is_sent_compressed() {
        let mut framer = Framer::new(usize::MAX, Encoding::Gzip);
        framer.message(&[b"ab"]).expect("there is no limit");
        framer.message(&[&[0; 1000]]).expect("there is no limit");
        framer.flush();
        let segment = framer.segment().expect("both are in it");
        assert_eq!(segment[..PREFIX], [0, 0, 0, 0, 2]);
        assert_eq!(segment[PREFIX + 2], 1);
        assert!(segment.len() < 100);
        let mut reader = MessageReader::new(1000, Encoding::Gzip);
        reader.push(segment);
        assert_eq!(reader.read(), Ok(Some(&b"ab"[..])));
        assert_eq!(reader.read(), Ok(Some(&[0; 1000][..])));
        assert_eq!(reader.read(), Ok(None));
    }
}
