//! How much of a variable has come.

use std::ops::Range;

/// The values of one variable that a stream has brought so far.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// All values before this one have come. Chunks nearly always come in order, and then this is all.
    prefix: usize,
    /// What else has come: in order and apart up to the last tidying, then as it came.
    rest: Vec<Range<usize>>,
    /// How many ranges there were after the last tidying.
    tidy: usize,
}

/// `rest` grows by this many ranges, and then by as many as it has, before it is tidied: a peer that sends the same
/// chunks again and again takes no memory.
const UNTIDY: usize = 64;

impl Progress {
    /// Notes that `count` values from `start` on have come.
    pub fn add(&mut self, start: usize, count: usize) {
        let end = start.saturating_add(count);
        if start > self.prefix {
            self.rest.push(start..end);
            if self.rest.len() > 2 * self.tidy + UNTIDY {
                self.tidy();
            }
        } else {
            self.prefix = self.prefix.max(end);
        }
    }

    /// Joins ranges that touch, those at the prefix with the prefix.
    fn tidy(&mut self) {
        self.rest.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for range in self.rest.drain(..) {
            if range.start <= self.prefix {
                self.prefix = self.prefix.max(range.end);
            } else if let Some(last) = apart.last_mut()
                && range.start <= last.end
            {
                last.end = last.end.max(range.end);
            } else {
                apart.push(range);
            }
        }
        self.tidy = apart.len();
        self.rest = apart;
    }

    /// Whether no value has come.
    #[must_use]
    pub fn has_nothing(&self) -> bool {
        self.prefix == 0 && self.rest.is_empty()
    }

    /// The first values that are missing of a variable of `size` of which others have come. A variable that was
    /// not sent at all lacks nothing: it is zero.
    #[must_use]
    pub fn missing(mut self, size: usize) -> Option<Range<usize>> {
        if self.has_nothing() || self.prefix >= size {
            return None;
        }
        self.tidy();
        let end = self.rest.first().map_or(size, |range| range.start);
        (self.prefix < end).then_some(self.prefix..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(chunks: &[(usize, usize)], size: usize) -> Option<Range<usize>> {
        let mut progress = Progress::default();
        for (start, count) in chunks {
            progress.add(*start, *count);
        }
        progress.missing(size)
    }

    #[test]
    fn what_is_missing() {
        assert_eq!(missing(&[], 5), None);
        assert_eq!(missing(&[(0, 5)], 5), None);
        assert_eq!(missing(&[(0, 2), (2, 3)], 5), None);
        assert_eq!(missing(&[(2, 3), (0, 2)], 5), None);
        assert_eq!(missing(&[(4, 1), (2, 2), (0, 3)], 5), None);
        assert_eq!(missing(&[(0, 3)], 5), Some(3..5));
        assert_eq!(missing(&[(0, 2), (0, 2), (0, 2)], 5), Some(2..5));
        assert_eq!(missing(&[(2, 3)], 5), Some(0..2));
        assert_eq!(missing(&[(4, 1), (0, 2)], 5), Some(2..4));
        assert_eq!(missing(&[(3, 1), (0, 3)], 5), Some(4..5));
    }

    #[test]
    fn chunks_that_come_again_and_again_take_no_memory() {
        let mut progress = Progress::default();
        for count in 0..10_000 {
            progress.add(1 + count % 3, 1);
            progress.add(9, 1);
        }
        assert!(progress.rest.len() <= 2 * UNTIDY);
        assert_eq!(progress.missing(10), Some(0..1));
    }

    #[test]
    fn chunks_in_reverse_are_whole() {
        let chunks: Vec<_> = (0..1000).rev().map(|start| (start, 1)).collect();
        assert_eq!(missing(&chunks, 1000), None);
        assert_eq!(missing(&chunks[..999], 1000), Some(0..1));
    }
}
