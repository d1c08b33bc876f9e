//! `VariableMetaData`: what a discipline declares about one variable.
//!
//! `VariableMetaData { VariableType type = 1; string name = 3; repeated int64 shape = 4; string units = 5;
//! bool dynamic_shape = 6; }`

const TYPE: u8 = 0x08;
const NAME: u8 = 0x1a;
const SHAPE: u8 = 0x22;
const UNITS: u8 = 0x2a;
const DYNAMIC_SHAPE: u8 = 0x30;

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
        if self.kind != 0 {
            out.push(TYPE);
            varint(signed(i64::from(self.kind)), out);
        }
        text(NAME, self.name, out);
        if !self.shape.is_empty() {
            let length: usize = self.shape.iter().map(|&d| varint_len(signed(d))).sum();
            out.push(SHAPE);
            varint(length as u64, out);
            for &extent in self.shape {
                varint(signed(extent), out);
            }
        }
        text(UNITS, self.units, out);
        if self.dynamic_shape {
            out.extend_from_slice(&[DYNAMIC_SHAPE, 1]);
        }
    }
}

fn text(tag: u8, value: &str, out: &mut Vec<u8>) {
    if !value.is_empty() {
        out.push(tag);
        varint(value.len() as u64, out);
        out.extend_from_slice(value.as_bytes());
    }
}

/// A negative number travels as its two's complement, in ten bytes.
fn signed(value: i64) -> u64 {
    u64::from_le_bytes(value.to_le_bytes())
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    out.push(low_byte(value));
}

fn low_byte(value: u64) -> u8 {
    let [byte, ..] = value.to_le_bytes();
    byte
}

fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
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
    fn varints_have_the_length_that_is_announced() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 1, u64::MAX] {
            let mut out = Vec::new();
            varint(value, &mut out);
            assert_eq!(out.len(), varint_len(value), "{value}");
        }
    }
}
