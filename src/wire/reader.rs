//! A cursor over the fields of one message.
//!
//! What it accepts is what upb accepts: varints need not be minimal, tags have at most five bytes and 32
//! bits, other varints at most ten bytes (bits above the 64th are dropped), groups are skipped.

use super::error::{Error, Expected};

/// Wire types, the low three bits of a tag.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const DELIMITED: u32 = 2;
const START_GROUP: u32 = 3;
const END_GROUP: u32 = 4;
const FIXED32: u32 = 5;

/// The tag of a varint field.
pub(super) const fn varint_tag(number: u32) -> u32 {
    number << 3 | VARINT
}

/// The tag of a field of eight bytes.
pub(super) const fn fixed64_tag(number: u32) -> u32 {
    number << 3 | FIXED64
}

/// The tag of a length-delimited field.
pub(super) const fn delimited_tag(number: u32) -> u32 {
    number << 3 | DELIMITED
}

/// A position in a message. The buffer is cut at the message's end, so that offsets are the outer buffer's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    buffer: &'a [u8],
    position: usize,
    /// How many more levels may be opened inside this message.
    depth: u32,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(buffer: &'a [u8]) -> Self {
        Self {
            buffer,
            position: 0,
            depth: super::MAX_DEPTH,
        }
    }

    pub(super) const fn offset(&self) -> usize {
        self.position
    }

    /// Whether all of the message has been read.
    pub(super) const fn is_at_end(&self) -> bool {
        self.position == self.buffer.len()
    }

    /// The tag of the next field, or nothing at the message's end.
    #[inline]
    pub(super) fn tag(&mut self) -> Result<Option<u32>, Error> {
        match self.buffer.get(self.position) {
            None => Ok(None),
            // A tag of one byte has field number 0 when it is below 8.
            Some(&byte) if (8..0x80).contains(&byte) => {
                self.position += 1;
                Ok(Some(u32::from(byte)))
            }
            Some(_) => self.long_tag().map(Some),
        }
    }

    #[cold]
    fn long_tag(&mut self) -> Result<u32, Error> {
        let offset = self.position;
        let value = self.long_varint(5, "field tag")?;
        let tag = u32::try_from(value).map_err(|_| Error::Varint {
            offset,
            what: "field tag",
            limit: 32,
        })?;
        if tag < 8 {
            Err(Error::Tag { offset, tag })
        } else {
            Ok(tag)
        }
    }

    #[inline]
    pub(super) fn varint(&mut self, what: &'static str) -> Result<u64, Error> {
        match self.buffer.get(self.position) {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(10, what),
        }
    }

    fn long_varint(&mut self, limit: u32, what: &'static str) -> Result<u64, Error> {
        let offset = self.position;
        let mut value = 0;
        for index in 0..limit {
            let Some(&byte) = self.buffer.get(self.position) else {
                return Err(Error::Truncated { offset, what });
            };
            self.position += 1;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Varint {
            offset,
            what,
            limit: if limit == 5 { 32 } else { 64 },
        })
    }

    /// An enum or int32: the low 32 bits, as the runtime reads them.
    #[inline]
    pub(super) fn int32(&mut self, what: &'static str) -> Result<i32, Error> {
        let [a, b, c, d, ..] = self.varint(what)?.to_le_bytes();
        Ok(i32::from_le_bytes([a, b, c, d]))
    }

    /// The content of a length-delimited field.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let start = self.length()?;
        Ok(&self.buffer[start..self.position])
    }

    /// The content of a string field.
    #[inline]
    pub(super) fn string(&mut self, what: &'static str) -> Result<&'a str, Error> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| Error::Utf8 {
            offset: self.position - bytes.len(),
            what,
        })
    }

    /// The content of a message field, one level deeper.
    #[inline]
    pub(super) fn message(&mut self) -> Result<Reader<'a>, Error> {
        let offset = self.position;
        let start = self.length()?;
        let depth = self.depth.checked_sub(1).ok_or(Error::Depth { offset })?;
        Ok(Reader {
            buffer: &self.buffer[..self.position],
            position: start,
            depth,
        })
    }

    /// Reads a length, moves past what it measures, and gives where that begins.
    #[inline]
    fn length(&mut self) -> Result<usize, Error> {
        let offset = self.position;
        let length = self.varint("a length")?;
        let available = self.buffer.len() - self.position;
        match usize::try_from(length) {
            Ok(size) if size <= available && size < super::MAX_MESSAGE => {
                let start = self.position;
                self.position += size;
                Ok(start)
            }
            _ => Err(Error::Length {
                offset,
                length,
                available,
            }),
        }
    }

    /// A field of eight bytes, as they stand.
    #[inline]
    pub(super) fn fixed64(&mut self) -> Result<&'a [u8; 8], Error> {
        self.fixed("eight bytes")
    }

    #[inline]
    fn fixed<const N: usize>(&mut self, what: &'static str) -> Result<&'a [u8; N], Error> {
        let rest = &self.buffer[self.position..];
        let Some((bytes, _)) = rest.split_first_chunk() else {
            return Err(Error::Truncated {
                offset: self.position,
                what,
            });
        };
        self.position += N;
        Ok(bytes)
    }

    /// Passes over the value of a field that is not known, or comes with another wire type than its own.
    pub(super) fn skip(&mut self, tag: u32) -> Result<(), Error> {
        let number = tag >> 3;
        match tag & 7 {
            VARINT => self.varint("a number").map(drop),
            FIXED64 => self.fixed::<8>("eight bytes").map(drop),
            DELIMITED => self.length().map(drop),
            START_GROUP => self.skip_group(number),
            FIXED32 => self.fixed::<4>("four bytes").map(drop),
            END_GROUP => Err(Error::Group {
                offset: self.position,
                expected: Expected::Message,
            }),
            _ => Err(Error::Tag {
                offset: self.position,
                tag,
            }),
        }
    }

    /// Recursion is bounded by `MAX_DEPTH`.
    fn skip_group(&mut self, number: u32) -> Result<(), Error> {
        let offset = self.position;
        let depth = self.depth.checked_sub(1).ok_or(Error::Depth { offset })?;
        let mut inner = Reader { depth, ..*self };
        let unmatched = |offset| Error::Group {
            offset,
            expected: Expected::Group(number),
        };
        while let Some(tag) = inner.tag()? {
            if tag & 7 != END_GROUP {
                inner.skip(tag)?;
            } else if tag >> 3 == number {
                self.position = inner.position;
                return Ok(());
            } else {
                return Err(unmatched(inner.position));
            }
        }
        Err(unmatched(inner.position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip_all(buffer: &[u8]) -> Result<(), Error> {
        let mut reader = Reader::new(buffer);
        while let Some(tag) = reader.tag()? {
            reader.skip(tag)?;
        }
        Ok(())
    }

    #[test]
    fn varints_need_not_be_minimal_but_end_within_ten_bytes() {
        let mut nine = vec![0x81; 9];
        nine.push(0x7e);
        assert!(Reader::new(&nine).varint("n").is_ok());
        assert!(matches!(
            Reader::new(&[0x80; 11]).varint("n"),
            Err(Error::Varint { .. })
        ));
        assert!(matches!(
            Reader::new(&[0x80; 3]).varint("n"),
            Err(Error::Truncated { .. })
        ));
        assert_eq!(Reader::new(&[0x82, 0x80, 0]).varint("n"), Ok(2));
    }

    #[test]
    fn tags_have_at_most_32_bits() {
        assert_eq!(
            Reader::new(&[0x8a, 0x80, 0x80, 0x80, 0]).tag(),
            Ok(Some(10))
        );
        assert!(
            Reader::new(&[0x8a, 0x80, 0x80, 0x80, 0x80, 0])
                .tag()
                .is_err()
        );
        assert!(Reader::new(&[0x8a, 0x80, 0x80, 0x80, 0x10]).tag().is_err());
        for byte in 0..8 {
            assert!(
                matches!(Reader::new(&[byte]).tag(), Err(Error::Tag { .. })),
                "{byte}"
            );
        }
    }

    #[test]
    fn groups_close_with_their_own_number() {
        assert_eq!(skip_all(&[0x4b, 0x50, 0x01, 0x53, 0x54, 0x4c]), Ok(()));
        assert!(matches!(skip_all(&[0x4b, 0x54]), Err(Error::Group { .. })));
        assert!(matches!(skip_all(&[0x4b]), Err(Error::Group { .. })));
        assert!(matches!(skip_all(&[0x4c]), Err(Error::Group { .. })));
    }

    #[test]
    fn a_hundred_groups_may_be_nested() {
        let nested = |n: usize| [vec![0x4b; n], vec![0x4c; n]].concat();
        assert_eq!(skip_all(&nested(100)), Ok(()));
        assert!(matches!(skip_all(&nested(101)), Err(Error::Depth { .. })));
    }

    #[test]
    fn a_length_claimed_allocates_nothing() {
        let claim = [0x4a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert!(matches!(
            skip_all(&claim),
            Err(Error::Length { available: 0, .. })
        ));
    }
}
