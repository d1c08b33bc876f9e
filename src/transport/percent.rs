//! Percent-encoding of `grpc-message`:
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>, "Percent-Encoded".

use bytes::Bytes;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Encodes `text` in `limit` bytes at most; what does not fit is left out, whole characters at a time.
#[must_use]
pub fn encode(text: &str, limit: usize) -> Bytes {
    let mut out = Vec::with_capacity(text.len().min(limit));
    for char in text.chars() {
        let former = out.len();
        for &byte in char.encode_utf8(&mut [0; 4]).as_bytes() {
            encode_byte(byte, &mut out);
        }
        if out.len() > limit {
            out.truncate(former);
            break;
        }
    }
    out.into()
}

fn encode_byte(byte: u8, out: &mut Vec<u8>) {
    if matches!(byte, b' '..=b'~') && byte != b'%' {
        out.push(byte);
    } else {
        let [high, low] = [byte >> 4, byte & 0xf].map(|digit| DIGITS[usize::from(digit)]);
        out.extend_from_slice(&[b'%', high, low]);
    }
}

/// Decodes what a peer has sent. An escape that is none stays as it is, and what is no UTF-8 is replaced.
#[must_use]
pub fn decode(encoded: &[u8]) -> String {
    String::from_utf8(decode_bytes(encoded))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// As `decode`, for what need not be text.
#[must_use]
pub fn decode_bytes(encoded: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((&first, tail)) = rest.split_first() {
        if let [b'%', high, low, after @ ..] = rest
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            out.push(high << 4 | low);
            rest = after;
        } else {
            out.push(first);
            rest = tail;
        }
    }
    out
}

fn digit(char: u8) -> Option<u8> {
    let digit = char::from(char).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded() {
        assert_eq!(encode("plain ~!", 99), "plain ~!");
        assert_eq!(encode("50%\n\u{7f}é", 99), "50%25%0A%7F%C3%A9");
    }

    #[test]
    fn every_text_comes_back() {
        let all: String = ('\0'..'\u{2000}').chain('\u{1f600}'..'\u{1f700}').collect();
        let encoded = encode(&all, usize::MAX);
        assert!(encoded.iter().all(|byte| matches!(byte, b' '..=b'~')));
        assert_eq!(decode(&encoded), all);
    }

    #[test]
    fn escapes_that_are_none_pass_through() {
        for text in ["%", "%4", "%zz", "100%", "%%", "%-1", "%+1", "% 1"] {
            assert_eq!(decode(text.as_bytes()), text);
        }
        assert_eq!(decode(b"%%41%4"), "%A%4");
        assert_eq!(decode(b"%c3%A9"), "é");
        assert_eq!(decode(b"a%ffb\xfe"), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = "aé値%";
        let whole = encode(text, usize::MAX);
        for limit in 0..whole.len() + 2 {
            let encoded = encode(text, limit);
            assert!(encoded.len() <= limit.max(1));
            assert!(text.starts_with(&decode(&encoded)));
        }
        assert_eq!(encode(text, whole.len()), whole);
        assert_eq!(encode(text, 6), "a");
    }
}
