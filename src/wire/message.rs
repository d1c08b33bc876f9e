//! `VariableMessage { oneof { Array continuous = 1; DiscreteVariable discrete = 2; } }`.

use prost_types::Value;

use super::array::Array;
use super::error::Error;
use super::reader::{Reader, delimited_tag, varint_tag};
use super::value::merge_value;

const CONTINUOUS: u32 = delimited_tag(1);
const DISCRETE: u32 = delimited_tag(2);

const NAME: u32 = delimited_tag(1);
const KIND: u32 = varint_tag(2);
const VALUE: u32 = delimited_tag(3);

/// What a `VariableMessage` carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    /// Neither member of the oneof.
    Empty,
    /// Values of a continuous variable.
    Continuous(Array<'a>),
    /// The value of a discrete variable.
    Discrete(Discrete<'a>),
}

/// `DiscreteVariable { name = 1, type = 2, google.protobuf.Value value = 3 }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discrete<'a> {
    /// The variable.
    pub name: &'a str,
    /// The `VariableType`, an open enum.
    pub kind: i32,
    /// The value; one that was not sent has no kind.
    pub value: Value,
}

/// Reads a `VariableMessage`. A claimed length allocates nothing.
///
/// # Errors
/// When the protobuf runtime would not parse the buffer.
pub fn decode(buffer: &[u8]) -> Result<Message<'_>, Error> {
    let mut reader = Reader::new(buffer);
    let mut message = Message::Empty;
    while let Some(tag) = reader.tag()? {
        match tag {
            // The last member of a oneof wins; one that comes twice is merged.
            CONTINUOUS => {
                let inner = reader.message()?;
                if let Message::Continuous(array) = &mut message {
                    array.merge(inner)?;
                } else {
                    let mut array = Array::default();
                    array.merge(inner)?;
                    message = Message::Continuous(array);
                }
            }
            DISCRETE => {
                let inner = reader.message()?;
                if let Message::Discrete(discrete) = &mut message {
                    discrete.merge(inner)?;
                } else {
                    let mut discrete = Discrete::default();
                    discrete.merge(inner)?;
                    message = Message::Discrete(discrete);
                }
            }
            _ => reader.skip(tag)?,
        }
    }
    Ok(message)
}

impl<'a> Discrete<'a> {
    fn merge(&mut self, mut reader: Reader<'a>) -> Result<(), Error> {
        while let Some(tag) = reader.tag()? {
            match tag {
                NAME => self.name = reader.string("name")?,
                KIND => self.kind = reader.int32("type")?,
                VALUE => merge_value(&mut self.value, reader.message()?)?,
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Header;
    use super::*;

    fn name_of(buffer: &[u8]) -> (&str, &str) {
        match decode(buffer).expect("valid") {
            Message::Continuous(Array { header, .. }) => (header.name, header.subname),
            Message::Discrete(discrete) => (discrete.name, "discrete"),
            Message::Empty => ("", "empty"),
        }
    }

    const NAMED: [u8; 5] = [0x0a, 3, 0x0a, 1, b'a'];
    const SUBNAMED: [u8; 5] = [0x0a, 3, 0x12, 1, b'b'];
    const OTHER: [u8; 5] = [0x12, 3, 0x0a, 1, b'c'];

    #[test]
    fn the_last_member_wins_and_a_repeated_one_is_merged() {
        assert_eq!(name_of(&[]), ("", "empty"));
        assert_eq!(name_of(&[NAMED, SUBNAMED].concat()), ("a", "b"));
        assert_eq!(name_of(&[NAMED, OTHER].concat()), ("c", "discrete"));
        assert_eq!(name_of(&[NAMED, OTHER, SUBNAMED].concat()), ("", "b"));
    }

    #[test]
    fn a_wrong_wire_type_is_an_unknown_field() {
        assert_eq!(name_of(&[0x08, 5]), ("", "empty"));
        assert_eq!(name_of(&[0x0b, 0x0c]), ("", "empty"));
        let Message::Continuous(array) = decode(&[0x0a, 2, 0x30, 1]).expect("valid") else {
            panic!("a continuous message")
        };
        assert_eq!((array.header, array.data.len()), (Header::default(), 0));
    }

    #[test]
    fn an_enum_keeps_its_low_32_bits() {
        let buffer = [0x0a, 6, 0x28, 0x83, 0x80, 0x80, 0x80, 0x40];
        let Ok(Message::Continuous(array)) = decode(&buffer) else {
            panic!("valid")
        };
        assert_eq!(array.header.kind, 3);
    }

    #[test]
    fn text_that_loses_the_oneof_is_still_checked() {
        let buffer = [&[0x0a, 3, 0x0a, 1, 0xff][..], &OTHER].concat();
        assert_eq!(
            decode(&buffer),
            Err(Error::Utf8 {
                offset: 4,
                what: "name"
            })
        );
    }

    #[test]
    fn every_cut_inside_is_an_error() {
        for end in 1..NAMED.len() {
            assert!(decode(&NAMED[..end]).is_err(), "{end}");
        }
    }
}
