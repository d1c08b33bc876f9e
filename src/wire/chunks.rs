//! The indices of chunks, and the shape of partials.

use std::ops::Range;

/// The ranges in which `num_values` values are sent, `chunk_size` at a time (a size of 0 counts as 1).
pub fn chunks(num_values: usize, chunk_size: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let size = chunk_size.max(1);
    (0..num_values.div_ceil(size)).map(move |index| {
        let start = index * size;
        start..start.saturating_add(size).min(num_values)
    })
}

/// The shape of the partials of a function by a variable: only a shape of `(1,)` is dropped, `()` and `(1, 1)` are not.
#[must_use]
pub fn partials_shape(function: &[i64], variable: &[i64]) -> Vec<i64> {
    match (function, variable) {
        ([1], shape) | (shape, [1]) => shape.to_vec(),
        _ => [function, variable].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_value_once() {
        for num in 0..40 {
            for size in 1..45 {
                let mut next = 0;
                for range in chunks(num, size) {
                    assert_eq!(range.start, next);
                    assert!(!range.is_empty() && range.len() <= size);
                    next = range.end;
                }
                assert_eq!(next, num);
            }
        }
    }

    #[test]
    fn chunks_do_not_wrap_at_the_largest_sizes() {
        let half = usize::MAX / 2 + 1;
        let ranges: Vec<_> = chunks(usize::MAX, half).collect();
        assert_eq!(ranges, [0..half, half..usize::MAX]);
        assert_eq!(chunks(usize::MAX, 1).next(), Some(0..1));
        assert_eq!(chunks(5, 0).count(), 5);
    }

    #[test]
    fn only_one_element_vectors_are_dropped() {
        assert_eq!(partials_shape(&[1], &[1]), [1]);
        assert_eq!(partials_shape(&[1], &[2, 3]), [2, 3]);
        assert_eq!(partials_shape(&[2, 3], &[1]), [2, 3]);
        assert_eq!(partials_shape(&[2], &[3]), [2, 3]);
        assert_eq!(partials_shape(&[], &[1]), [0_i64; 0]);
        assert_eq!(partials_shape(&[1, 1], &[]), [1, 1]);
        assert_eq!(partials_shape(&[1, 1], &[1]), [1, 1]);
    }
}
