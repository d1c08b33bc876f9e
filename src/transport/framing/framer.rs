//! Messages into segments.

use std::collections::VecDeque;
use std::mem;

use bytes::Bytes;

use super::super::compression::Encoding;
use super::super::pool::Buffer;
use super::super::windows::FRAME;
use super::{FramingError, PREFIX};

/// What small messages share: one DATA frame to a native peer, and still in the processor's caches when it is sent. A
/// message of more than this, its prefix included, begins a segment.
pub const SEGMENT: usize = FRAME as usize;

/// What the first segment has room for at first: most calls need no more.
const FIRST: usize = 4 << 10;

/// What is told that a segment of a message is full.
type Filled<'a> = Option<&'a mut dyn FnMut(&mut Framer)>;

/// Collects messages, each with its prefix, into segments.
///
/// Only a message that is cut begins in one segment and ends in another.
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

    /// Adds the message that is made of `parts`. A large one has a segment of its own.
    ///
    /// # Errors
    /// `TooLargeToSend`, and nothing is added.
    pub fn message(&mut self, parts: &[&[u8]]) -> Result<(), FramingError> {
        self.compressed(parts, None)
    }

    /// Adds the message that is made of `parts`. A large one is cut into segments, and `filled` looks at the framer
    /// whenever one is full.
    ///
    /// # Errors
    /// As `message`.
    pub fn cut_message(
        &mut self,
        parts: &[&[u8]],
        filled: &mut dyn FnMut(&mut Self),
    ) -> Result<(), FramingError> {
        self.compressed(parts, Some(filled))
    }

    /// Whether a message of `size` bytes may be sent.
    #[must_use]
    pub fn takes(&self, size: usize) -> bool {
        size <= self.limit
    }

    fn compressed(&mut self, parts: &[&[u8]], filled: Filled<'_>) -> Result<(), FramingError> {
        let size = parts.iter().map(|part| part.len()).sum();
        if !self.takes(size) {
            return Err(FramingError::TooLargeToSend {
                size,
                limit: self.limit,
            });
        }
        match self.encoding.compress(parts) {
            Some(compressed) => self.add(1, compressed.len(), &[&compressed], filled),
            None => self.add(0, size, parts, filled),
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

    /// How many segments are filled.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.full.len()
    }

    /// The next segment that is filled, or that `flush` ended.
    pub fn segment(&mut self) -> Option<Bytes> {
        let segment = self.full.pop_front()?;
        self.full_bytes -= segment.len();
        Some(segment)
    }

    fn add(&mut self, flag: u8, size: usize, parts: &[&[u8]], filled: Filled<'_>) {
        let framed = size + PREFIX;
        let cut = filled.filter(|_| framed > SEGMENT);
        self.make_room(framed, cut.is_some());
        // `new` has limited it, and compressing makes it smaller.
        let length = u32::try_from(size).unwrap_or(u32::MAX);
        self.open.write(&[flag]);
        self.open.write(&length.to_be_bytes());
        match cut {
            None => parts.iter().for_each(|part| self.open.write(part)),
            Some(filled) => self.write_cut(parts, filled),
        }
    }

    fn write_cut(&mut self, parts: &[&[u8]], filled: &mut dyn FnMut(&mut Self)) {
        for mut part in parts.iter().copied() {
            while part.len() > SEGMENT - self.open.len() {
                let (now, later) = part.split_at(SEGMENT - self.open.len());
                self.open.write(now);
                self.flush();
                filled(self);
                self.open = Buffer::with_room(SEGMENT);
                part = later;
            }
            self.open.write(part);
        }
    }

    /// Room for a message of `framed` bytes, its prefix included, in the open segment, or in a new one; for its
    /// beginning where it is `cut`.
    #[inline]
    fn make_room(&mut self, framed: usize, cut: bool) {
        let needed = self.open.len() + framed;
        if needed > SEGMENT {
            self.flush();
            let room = if cut { SEGMENT } else { framed.max(SEGMENT) };
            self.open = Buffer::with_room(room);
        } else if framed > self.open.room() {
            self.grow(needed);
        }
    }

    fn grow(&mut self, needed: usize) {
        let larger = Buffer::with_room(if needed > FIRST { SEGMENT } else { FIRST });
        let former = mem::replace(&mut self.open, larger);
        self.open.write(former.as_ref());
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
        assert_eq!(
            segments.len(),
            5000_usize.div_ceil(SEGMENT / (1000 + PREFIX))
        );
        assert!(segments.iter().all(|segment| segment.len() <= SEGMENT));
        assert!(framed(&[]).is_empty());
        assert_eq!(framed(&[0]), [Bytes::from_static(&[0; 5])]);
    }

    #[test]
    fn a_large_message_begins_a_segment() {
        let lengths = |sizes: &[usize]| -> Vec<usize> {
            let segments = framed(sizes);
            segments.iter().map(Bytes::len).collect()
        };
        let small = 10 + PREFIX;
        assert_eq!(lengths(&[10, SEGMENT - small - PREFIX]), [SEGMENT]);
        assert_eq!(lengths(&[10, SEGMENT - PREFIX]), [small, SEGMENT]);
        assert_eq!(
            lengths(&[10, 9 * SEGMENT, 10]),
            [small, 9 * SEGMENT + PREFIX, small]
        );
    }

    #[test]
    fn a_message_that_is_cut_is_seen_segment_by_segment() {
        for size in [
            0,
            SEGMENT - PREFIX,
            SEGMENT,
            3 * SEGMENT - PREFIX,
            3 * SEGMENT,
        ] {
            let mut framer = Framer::new(usize::MAX, Encoding::Identity);
            framer.message(&[b"former"]).expect("there is no limit");
            let mut segments = Vec::new();
            let mut take = |framer: &mut Framer| segments.extend(framer.segment());
            framer
                .cut_message(&[&[1; 10], &vec![2; size]], &mut |framer| {
                    take(framer);
                    take(framer);
                })
                .expect("there is no limit");
            framer.flush();
            segments.extend(std::iter::from_fn(|| framer.segment()));
            assert!(segments.iter().all(|segment| segment.len() <= SEGMENT));
            let mut reader = MessageReader::new(usize::MAX, Encoding::Identity);
            for segment in segments {
                reader.push(segment);
            }
            assert_eq!(reader.read(), Ok(Some(&b"former"[..])));
            let message = [&[1; 10][..], &vec![2; size]].concat();
            assert_eq!(reader.read(), Ok(Some(&message[..])));
            assert!(reader.is_clean_end());
        }
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
