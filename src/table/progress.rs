//! How much of a variable has come.

use std::ops::Range;

/// The values of one variable that a stream has brought so far.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// All values before this one have come. Chunks nearly always come in order, and then this is all.
    prefix: usize,
    /// What else has come, in the order in which it came.
    rest: Vec<Range<usize>>,
}

impl Progress {
    /// Notes that `count` values from `start` on have come.
    pub fn add(&mut self, start: usize, count: usize) {
        let end = start.saturating_add(count);
        if start > self.prefix {
            self.rest.push(start..end);
        } else {
            self.prefix = self.prefix.max(end);
        }
    }

    /// The first values that are missing of a variable of `size` of which others have come. A variable that was
    /// not sent at all lacks nothing: it stays zero.
    #[must_use]
    pub fn missing(mut self, size: usize) -> Option<Range<usize>> {
        let untouched = self.prefix == 0 && self.rest.is_empty();
        if untouched || self.prefix >= size {
            return None;
        }
        self.rest.sort_unstable_by_key(|range| range.start);
        for range in self.rest {
            if range.start > self.prefix {
                return Some(self.prefix..range.start);
            }
            self.prefix = self.prefix.max(range.end);
        }
        (self.prefix < size).then_some(self.prefix..size)
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
}
