//! `Array { name = 1, subname = 2, start = 3, end = 4, type = 5, packed double data = 6 }`.

use std::borrow::Cow;

use super::error::Error;
use super::reader::{Reader, delimited_tag, fixed64_tag, varint_tag};
use super::{MAX_MESSAGE, varint};

const NAME: u32 = delimited_tag(1);
const SUBNAME: u32 = delimited_tag(2);
const START: u32 = varint_tag(3);
const END: u32 = varint_tag(4);
const KIND: u32 = varint_tag(5);
const PACKED: u32 = delimited_tag(6);
const UNPACKED: u32 = fixed64_tag(6);

/// Bytes of one double.
const DOUBLE: usize = size_of::<f64>();

/// All that an `Array` says apart from its values. `start` and `end` are both inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header<'a> {
    /// The variable, or the function of a partial.
    pub name: &'a str,
    /// The variable that a partial differentiates by, else empty.
    pub subname: &'a str,
    /// Index of the first value in the flattened variable.
    pub start: i64,
    /// Index of the last value in the flattened variable.
    pub end: i64,
    /// The `VariableType`, an open enum.
    pub kind: i32,
}

impl Header<'_> {
    /// Appends every byte of the `VariableMessage` that precedes the payload of `count` doubles.
    ///
    /// # Errors
    /// When the message would be larger than protobuf allows.
    pub fn write(&self, count: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let payload = count.saturating_mul(DOUBLE);
        let data = if count == 0 { 0 } else { field_len(payload) };
        let body = self.fields_len().saturating_add(data);
        let size = field_len(body);
        if size > MAX_MESSAGE {
            return Err(Error::TooLarge {
                name: self.name.to_owned(),
                size,
            });
        }
        out.reserve(size - payload);
        write_tag_len(1, body, out);
        self.write_fields(out);
        if count != 0 {
            write_tag_len(6, payload, out);
        }
        Ok(())
    }

    fn fields_len(&self) -> usize {
        let text = |s: &str| if s.is_empty() { 0 } else { field_len(s.len()) };
        let number = |n: i64| {
            if n == 0 {
                0
            } else {
                1 + varint::len(varint::signed(n))
            }
        };
        text(self.name)
            .saturating_add(text(self.subname))
            .saturating_add(number(self.start) + number(self.end) + number(i64::from(self.kind)))
    }

    fn write_fields(&self, out: &mut Vec<u8>) {
        write_text(1, self.name, out);
        write_text(2, self.subname, out);
        write_number(3, self.start, out);
        write_number(4, self.end, out);
        write_number(5, i64::from(self.kind), out);
    }
}

/// The length of a delimited field with a tag of one byte (saturating).
pub(super) fn field_len(content: usize) -> usize {
    content.saturating_add(1 + varint::len(content as u64))
}

/// Appends the tag of a delimited field (number below 16) and its length.
pub(super) fn write_tag_len(number: u8, content: usize, out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    varint::write(content as u64, out);
}

/// Appends a string field, or nothing when it is empty.
pub(super) fn write_text(number: u8, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        write_tag_len(number, text.len(), out);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Appends an integer field, or nothing when it is zero.
pub(super) fn write_number(number: u8, value: i64, out: &mut Vec<u8>) {
    if value != 0 {
        out.push(number << 3);
        varint::write(varint::signed(value), out);
    }
}

/// The bytes of an `Array`'s packed field 6 that precede the payload of `count` doubles (none when there are none).
///
/// # Errors
/// When the field would be larger than protobuf allows.
pub fn packed_prefix(name: &str, count: usize) -> Result<Vec<u8>, Error> {
    let payload = count.saturating_mul(DOUBLE);
    let size = field_len(payload);
    if size > MAX_MESSAGE {
        return Err(Error::TooLarge {
            name: name.to_owned(),
            size,
        });
    }
    let mut out = Vec::new();
    if count != 0 {
        write_tag_len(6, payload, &mut out);
    }
    Ok(out)
}

/// The values of an `Array`: a part of the buffer, or a copy when they were not in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubles<'a>(Cow<'a, [u8]>);

impl Default for Doubles<'_> {
    fn default() -> Self {
        Self(Cow::Borrowed(&[]))
    }
}

impl<'a> Doubles<'a> {
    /// How many doubles there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len() / DOUBLE
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The doubles, little-endian, eight bytes each.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The part of the buffer in which the doubles lie, unless they had to be gathered.
    #[must_use]
    pub fn borrowed(&self) -> Option<&'a [u8]> {
        match self.0 {
            Cow::Borrowed(bytes) => Some(bytes),
            Cow::Owned(_) => None,
        }
    }

    #[inline]
    fn append(&mut self, bytes: &'a [u8]) {
        if self.0.is_empty() {
            self.0 = Cow::Borrowed(bytes);
        } else if !bytes.is_empty() {
            self.0.to_mut().extend_from_slice(bytes);
        }
    }
}

/// A message, or a chunk of one, for a continuous variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Array<'a> {
    /// Which variable, and which part of it.
    pub header: Header<'a>,
    /// The values.
    pub data: Doubles<'a>,
}

impl<'a> Array<'a> {
    /// Reads fields into this array: a scalar replaces the one before, values are appended.
    #[inline]
    pub(super) fn merge(&mut self, mut reader: Reader<'a>) -> Result<(), Error> {
        while let Some(tag) = reader.tag()? {
            match tag {
                NAME => self.header.name = reader.string("name")?,
                SUBNAME => self.header.subname = reader.string("subname")?,
                START => self.header.start = reader.varint("start")?.cast_signed(),
                END => self.header.end = reader.varint("end")?.cast_signed(),
                KIND => self.header.kind = reader.int32("type")?,
                PACKED => self.data.append(packed(&mut reader)?),
                UNPACKED => self.data.append(reader.fixed64()?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}

#[inline]
fn packed<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let bytes = reader.bytes()?;
    let length = bytes.len();
    if length.is_multiple_of(DOUBLE) {
        Ok(bytes)
    } else {
        Err(Error::Packed {
            offset: reader.offset() - length,
            length,
        })
    }
}

/// Reads a bare `Array`, one that no `VariableMessage` wraps.
///
/// # Errors
/// When the protobuf runtime would not parse the buffer.
pub fn decode_array(buffer: &[u8]) -> Result<Array<'_>, Error> {
    let mut array = Array::default();
    array.merge(Reader::new(buffer))?;
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::super::{Message, decode};
    use super::*;

    const HEADER: Header<'_> = Header {
        name: "x",
        subname: "",
        start: 0,
        end: 1,
        kind: 0,
    };

    #[test]
    fn the_header_precedes_the_payload() {
        let mut out = Vec::new();
        HEADER.write(2, &mut out).expect("small");
        assert_eq!(out, [0x0a, 23, 0x0a, 1, b'x', 0x20, 1, 0x32, 16]);
    }

    #[test]
    fn no_values_no_field() {
        let mut out = Vec::new();
        Header::default().write(0, &mut out).expect("small");
        assert_eq!(out, [0x0a, 0]);
    }

    #[test]
    fn what_is_written_is_read() {
        let header = Header {
            name: "é",
            subname: "b",
            start: i64::MIN,
            end: -1,
            kind: -7,
        };
        for count in [0, 1, 2, 15, 16, 17, 4096] {
            let payload = vec![7; count * DOUBLE];
            let mut out = Vec::new();
            header.write(count, &mut out).expect("small");
            out.extend_from_slice(&payload);
            let Ok(Message::Continuous(array)) = decode(&out) else {
                panic!("{count}")
            };
            assert_eq!(
                (array.header, array.data.as_bytes()),
                (header, &payload[..])
            );
            assert!(array.data.borrowed().is_some());
        }
    }

    #[test]
    fn a_message_past_two_gibibytes_is_refused() {
        // Eleven bytes of framing and name: the count that fits exactly, and one more.
        let most = (MAX_MESSAGE - 17) / DOUBLE;
        assert!(HEADER.write(most, &mut Vec::new()).is_ok());
        for count in [most + 1, usize::MAX / 8, usize::MAX] {
            let refused = HEADER.write(count, &mut Vec::new());
            assert!(matches!(refused, Err(Error::TooLarge { .. })), "{count}");
        }
    }

    #[test]
    fn values_in_pieces_are_gathered() {
        let mut one = vec![0x31];
        one.extend([1; 8]);
        let two = [&[0x32, 8][..], &[2; 8], &[0x32, 0]].concat();
        let array = [one, two].concat();
        let array = decode_array(&array).expect("both forms");
        assert_eq!(array.data.as_bytes(), [[1; 8], [2; 8]].concat());
        assert_eq!(array.data.borrowed(), None);
        assert_eq!(array.data.len(), 2);
    }

    #[test]
    fn a_packed_length_is_a_multiple_of_eight() {
        let mut buffer = vec![0x32, 7];
        buffer.extend([0; 7]);
        assert_eq!(
            decode_array(&buffer),
            Err(Error::Packed {
                offset: 2,
                length: 7
            })
        );
    }
}
