//! `VariableMetaData`: what a discipline declares about one variable.
//!
//! `VariableMetaData { VariableType type = 1; string name = 3; repeated int64 shape = 4; string units = 5;
//! bool dynamic_shape = 6; }`

use super::array::{write_number, write_tag_len, write_text};
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
}
