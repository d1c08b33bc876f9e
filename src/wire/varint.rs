//! Varints and tags, written as the runtime writes them: in the fewest bytes.

/// The bytes that `value` takes as a varint.
pub(super) const fn len(value: u64) -> usize {
    // 7 bits to a byte: (bits * 9 + 64) / 64 is ceil(bits / 7) for every 1 <= bits <= 64.
    let bits = 64 - (value | 1).leading_zeros() as usize;
    (bits * 9 + 64) / 64
}

/// Appends `value` as a varint.
pub(super) fn write(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// A signed number as protobuf's `int64`, `int32` and enums spell it: sign-extended to 64 bits.
pub(super) const fn signed(value: i64) -> u64 {
    value.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_what_is_written() {
        let mut values = vec![0, u64::MAX];
        for bit in 0..64 {
            values.extend([1 << bit, (1 << bit) - 1, (1 << bit) + 1]);
        }
        for value in values {
            let mut out = Vec::new();
            write(value, &mut out);
            assert_eq!(out.len(), len(value), "{value}");
            assert!(out.len() == 1 || *out.last().expect("one byte at least") != 0);
        }
    }

    #[test]
    fn a_negative_number_takes_ten_bytes() {
        assert_eq!(len(signed(-1)), 10);
        assert_eq!(signed(i64::from(-1_i32)), u64::MAX);
    }
}
