//! `VariableMetaData` and `PartialsMetaData`: what a discipline declares.
//!
//! `VariableMetaData { VariableType type = 1; string name = 3; repeated int64 shape = 4; string units = 5;
//! bool dynamic_shape = 6; }`
//!
//! `PartialsMetaData { string name = 1; string subname = 2; }`

use super::array::{write_number, write_tag_len, write_text};
use super::error::Error;
use super::reader::{Reader, delimited_tag, varint_tag};
use super::varint;

const KIND: u8 = 1;
const NAME: u8 = 3;
const SHAPE: u8 = 4;
const UNITS: u8 = 5;
const DYNAMIC_SHAPE: u8 = 6;

/// The fields of one `VariableMetaData`.
#[derive(Clone, Copy, Debug, Default)]
pub struct VariableMetaData<'a> {
    /// The `VariableType`.
    pub kind: i32,
    /// The variable's name.
    pub name: &'a str,
    /// The extent along each dimension.
    pub shape: &'a [i64],
    /// The units, empty where there are none.
    pub units: &'a str,
    /// Whether the client may set the shape.
    pub dynamic_shape: bool,
}

impl VariableMetaData<'_> {
    /// Appends the message to `out`, byte for byte as the protobuf runtime writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_number(KIND, i64::from(self.kind), out);
        write_text(NAME, self.name, out);
        if !self.shape.is_empty() {
            let extents = self.shape.iter().map(|&extent| varint::signed(extent));
            write_tag_len(SHAPE, extents.clone().map(varint::len).sum(), out);
            extents.for_each(|extent| varint::write(extent, out));
        }
        write_text(UNITS, self.units, out);
        write_number(DYNAMIC_SHAPE, i64::from(self.dynamic_shape), out);
    }
}

/// A `VariableMetaData` that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableMeta {
    /// The `VariableType`.
    pub kind: i32,
    /// The variable's name.
    pub name: String,
    /// The declared shape; empty for a scalar and for a dynamic shape that is not yet set.
    pub shape: Vec<i64>,
    /// Whether the client may set the shape.
    pub dynamic_shape: bool,
}

/// Reads a `VariableMetaData`; its units are only checked.
///
/// # Errors
/// When the protobuf runtime would not parse the buffer.
pub fn decode_variable(buffer: &[u8]) -> Result<VariableMeta, Error> {
    const KIND_TAG: u32 = varint_tag(KIND as u32);
    const NAME_TAG: u32 = delimited_tag(NAME as u32);
    const EXTENT: u32 = varint_tag(SHAPE as u32);
    const EXTENTS: u32 = delimited_tag(SHAPE as u32);
    const UNITS_TAG: u32 = delimited_tag(UNITS as u32);
    const DYNAMIC: u32 = varint_tag(DYNAMIC_SHAPE as u32);
    let (mut meta, mut reader) = (VariableMeta::default(), Reader::new(buffer));
    while let Some(tag) = reader.tag()? {
        match tag {
            KIND_TAG => meta.kind = reader.int32("type")?,
            NAME_TAG => reader.string("name")?.clone_into(&mut meta.name),
            EXTENT => meta.shape.push(reader.varint("extent")?.cast_signed()),
            EXTENTS => {
                let mut extents = reader.message()?;
                while !extents.is_at_end() {
                    meta.shape.push(extents.varint("extent")?.cast_signed());
                }
            }
            UNITS_TAG => drop(reader.string("units")?),
            DYNAMIC => meta.dynamic_shape = reader.varint("dynamic_shape")? != 0,
            _ => reader.skip(tag)?,
        }
    }
    Ok(meta)
}

/// A `PartialsMetaData`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialsMeta {
    /// The function that is differentiated.
    pub name: String,
    /// The variable that it is differentiated by.
    pub subname: String,
}

impl PartialsMeta {
    /// Appends the message to `out`, byte for byte as the protobuf runtime writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_text(1, &self.name, out);
        write_text(2, &self.subname, out);
    }
}

/// Reads a `PartialsMetaData`.
///
/// # Errors
/// When the protobuf runtime would not parse the buffer.
pub fn decode_partials(buffer: &[u8]) -> Result<PartialsMeta, Error> {
    const FUNCTION: u32 = delimited_tag(1);
    const VARIABLE: u32 = delimited_tag(2);
    let (mut meta, mut reader) = (PartialsMeta::default(), Reader::new(buffer));
    while let Some(tag) = reader.tag()? {
        match tag {
            FUNCTION => reader.string("name")?.clone_into(&mut meta.name),
            VARIABLE => reader.string("subname")?.clone_into(&mut meta.subname),
            _ => reader.skip(tag)?,
        }
    }
    Ok(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(metadata: VariableMetaData<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        metadata.write(&mut out);
        out
    }

    #[test]
    fn defaults_are_left_out() {
        assert!(written(VariableMetaData::default()).is_empty());
    }

    #[test]
    fn every_field_in_order() {
        let metadata = VariableMetaData {
            kind: 3,
            name: "y",
            shape: &[1, 300],
            units: "m",
            dynamic_shape: true,
        };
        assert_eq!(
            written(metadata),
            b"\x08\x03\x1a\x01y\x22\x03\x01\xac\x02\x2a\x01m\x30\x01"
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = b"\x08\x03\x1a\x01y\x22\x03\x01\xac\x02\x2a\x01m\x30\x01\x20\x07";
        let meta = decode_variable(bytes).expect("valid");
        assert_eq!((meta.kind, &*meta.name), (3, "y"));
        assert_eq!((&*meta.shape, meta.dynamic_shape), (&[1, 300, 7][..], true));
        let partials = PartialsMeta {
            name: "f".to_owned(),
            subname: "x".to_owned(),
        };
        let mut out = Vec::new();
        partials.write(&mut out);
        assert_eq!(decode_partials(&out), Ok(partials));
    }

    #[test]
    fn another_wire_type_is_an_unknown_field() {
        let meta = decode_variable(b"\x0b\x0c\x1d\0\0\0\0\x28\x01").expect("as the runtime");
        assert_eq!(meta, VariableMeta::default());
        assert!(decode_variable(b"\x22\x01\x80").is_err());
        assert!(decode_variable(b"\x2a\x01\xff").is_err());
    }
}
