//! As much of DER (ITU-T X.690) as certificates need. It reads what a peer has sent: nothing here panics or copies.

pub const BOOLEAN: u8 = 0x01;
pub const INTEGER: u8 = 0x02;
pub const BIT_STRING: u8 = 0x03;
pub const OCTET_STRING: u8 = 0x04;
pub const OID: u8 = 0x06;
pub const UTC_TIME: u8 = 0x17;
pub const GENERALIZED_TIME: u8 = 0x18;
pub const SEQUENCE: u8 = 0x30;
pub const SET: u8 = 0x31;

/// The tag of a field that is marked by its number and has others in it.
pub const fn numbered(number: u8) -> u8 {
    0xa0 | number
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    pub tag: u8,
    pub content: &'a [u8],
    /// Tag and length too.
    pub whole: &'a [u8],
}

/// Reads one value after the other. `None` is the end, or what is no DER.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn value(&mut self) -> Option<Value<'a>> {
        let (&tag, after) = self.rest.split_first()?;
        let (&first, mut after) = after.split_first()?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            // Four bytes are more than any certificate; none at all is a length that DER does not have.
            let count = usize::from(first & 0x7f);
            if !(1..=4).contains(&count) {
                return None;
            }
            let (length, rest) = after.split_at_checked(count)?;
            after = rest;
            length.iter().try_fold(0_usize, |sum, &byte| {
                Some(sum.checked_mul(256)? + usize::from(byte))
            })?
        };
        let (content, rest) = after.split_at_checked(length)?;
        let whole = self.rest.get(..self.rest.len() - rest.len())?;
        self.rest = rest;
        Some(Value {
            tag,
            content,
            whole,
        })
    }

    /// The next value, which must have `tag`.
    pub fn expect(&mut self, tag: u8) -> Option<Value<'a>> {
        self.value().filter(|value| value.tag == tag)
    }

    /// The next value if it has `tag`; else it stays to be read.
    pub fn optional(&mut self, tag: u8) -> Option<Value<'a>> {
        if self.rest.first() == Some(&tag) {
            self.value()
        } else {
            None
        }
    }

    /// The values in the next one, which must have `tag`.
    pub fn enter(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(|value| value.reader())
    }
}

impl<'a> Value<'a> {
    pub const fn reader(&self) -> Reader<'a> {
        Reader::new(self.content)
    }

    /// The bytes of a bit string of whole bytes.
    pub fn bits(&self) -> Option<&'a [u8]> {
        match self.content {
            [0, bytes @ ..] => Some(bytes),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_one_after_the_other() {
        let mut reader = Reader::new(&[INTEGER, 1, 5, SEQUENCE, 0x81, 2, 0x05, 0x00]);
        let first = reader.expect(INTEGER).expect("it is there");
        assert_eq!(
            (first.content, first.whole),
            (&[5][..], &[INTEGER, 1, 5][..])
        );
        assert!(reader.optional(INTEGER).is_none());
        let mut inner = reader.enter(SEQUENCE).expect("it is there");
        assert_eq!(inner.value().map(|value| value.tag), Some(5));
        assert!(inner.is_empty() && reader.is_empty());
        assert!(reader.value().is_none());
    }

    #[test]
    fn what_is_cut_off_or_too_long_is_none() {
        for bytes in [
            &[][..],
            &[INTEGER],
            &[INTEGER, 1],
            &[INTEGER, 0x80, 0, 0],
            &[INTEGER, 0x82, 1],
            &[INTEGER, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[INTEGER, 0x85, 0, 0, 0, 0, 1, 5],
        ] {
            assert!(Reader::new(bytes).value().is_none(), "{bytes:?}");
        }
    }
}
