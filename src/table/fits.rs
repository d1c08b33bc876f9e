//! Whether a chunk of doubles fits what it is for.

use super::{Error, Side, error::Chunk, kind};
use crate::wire::Header;

/// Whether doubles of a type that the reader does not take may pass.
///
/// # Errors
/// On the server's side, for a chunk without doubles and for outputs where only inputs are taken.
pub fn overlook(side: Side, header: &Header<'_>, count: usize) -> Result<(), Error> {
    if side == Side::Client {
        return Ok(());
    }
    let chunk = Chunk::new(header, count);
    match header.kind {
        _ if count == 0 => Err(Error::Empty {
            side,
            chunk,
            size: None,
        }),
        kind::INPUT | kind::OUTPUT => Err(Error::Misplaced(chunk)),
        _ => Ok(()),
    }
}

/// The first of `count` values in a variable of `size`, where they fit.
///
/// The number of values is taken from the data: `end` is inclusive in the Philote standard, and exclusive from
/// implicit servers of philote-mdo up to 0.8.
///
/// # Errors
/// [`Error::Empty`], [`Error::Length`] or [`Error::Outside`].
pub fn first_value(
    side: Side,
    header: &Header<'_>,
    count: usize,
    size: usize,
    unresolved: bool,
) -> Result<usize, Error> {
    let chunk = || Chunk::new(header, count);
    if count == 0 {
        return Err(Error::Empty {
            side,
            chunk: chunk(),
            size: Some(size),
        });
    }
    let span = i128::from(header.end) - i128::from(header.start);
    let values = count as i128;
    if span + 1 != values && span != values {
        return Err(Error::Length {
            chunk: chunk(),
            size,
        });
    }
    usize::try_from(header.start)
        .ok()
        .filter(|start| start.checked_add(count).is_some_and(|end| end <= size))
        .ok_or_else(|| Error::Outside {
            chunk: chunk(),
            size,
            unresolved,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_do_not_fit_are_refused() {
        let range = |start, end, count| {
            let header = Header {
                name: "x",
                subname: "",
                start,
                end,
                kind: kind::INPUT,
            };
            first_value(Side::Server, &header, count, 6, false)
        };
        assert_eq!(range(0, 5, 6), Ok(0));
        assert_eq!(range(5, 6, 1), Ok(5));
        assert!(matches!(range(0, -1, 0), Err(Error::Empty { .. })));
        assert!(matches!(range(0, 4, 1), Err(Error::Length { .. })));
        assert!(matches!(range(3, 7, 5), Err(Error::Outside { .. })));
        assert!(matches!(range(-1, 0, 2), Err(Error::Outside { .. })));
        assert!(matches!(
            range(i64::MAX, i64::MAX, 1),
            Err(Error::Outside { .. })
        ));
        assert!(matches!(
            range(i64::MAX, i64::MIN, 1),
            Err(Error::Length { .. })
        ));
        assert!(matches!(
            range(i64::MIN, i64::MAX, 6),
            Err(Error::Length { .. })
        ));
    }
}
