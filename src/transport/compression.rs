//! Compressed messages: <https://github.com/grpc/grpc/blob/master/doc/compression.md>.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

/// The value of `grpc-accept-encoding`: what `Encoding` knows.
pub const ACCEPTED: &str = "identity, deflate, gzip";

/// How much more is inflated at a time, while nothing is known of the size.
const STEP: usize = 32 << 10;

/// How messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Not at all.
    #[default]
    Identity,
    /// With zlib's header, as gRPC means it (RFC 1950).
    Deflate,
    /// RFC 1952.
    Gzip,
}

/// Why a message cannot be inflated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InflateError {
    /// It would be larger than the limit.
    #[error("larger than the limit")]
    TooLarge,
    /// It is no such stream, it is cut off, or something follows it.
    #[error("malformed")]
    Malformed,
}

impl Encoding {
    /// The encoding that `grpc-encoding` names.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Identity, Self::Deflate, Self::Gzip]
            .into_iter()
            .find(|encoding| encoding.name().as_bytes() == name)
    }

    /// The encoding of `grpc.Compression`'s number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Identity),
            1 => Some(Self::Deflate),
            2 => Some(Self::Gzip),
            _ => None,
        }
    }

    /// Its name in `grpc-encoding`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Deflate => "deflate",
            Self::Gzip => "gzip",
        }
    }

    /// Whether a peer that sent `accepted` as `grpc-accept-encoding` takes it.
    #[must_use]
    pub fn is_accepted(self, accepted: &[u8]) -> bool {
        self == Self::Identity
            || accepted
                .split(|&byte| byte == b',')
                .any(|name| name.trim_ascii() == self.name().as_bytes())
    }

    /// The message made of `parts`, compressed; `None` where that would not make it smaller.
    #[must_use]
    #[inline]
    pub fn compress(self, parts: &[&[u8]]) -> Option<Vec<u8>> {
        match self {
            Self::Identity => None,
            Self::Deflate | Self::Gzip => self.deflate(parts),
        }
    }

    /// Apart from `compress`: a compressor has 50 kB on the stack, which messages that are not compressed must not
    /// pay for.
    #[inline(never)]
    fn deflate(self, parts: &[&[u8]]) -> Option<Vec<u8>> {
        let size = parts.iter().map(|part| part.len()).sum::<usize>();
        let out = Vec::with_capacity(size / 2);
        let compressed = match self {
            Self::Identity => return None,
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(out, Compression::default());
                write_all(&mut encoder, parts).and_then(|()| encoder.finish())
            }
            Self::Gzip => {
                let mut encoder = GzEncoder::new(out, Compression::default());
                write_all(&mut encoder, parts).and_then(|()| encoder.finish())
            }
        };
        compressed.ok().filter(|out| out.len() < size)
    }

    /// Replaces what `out` holds by the inflated `data`, of `limit` bytes at most.
    ///
    /// # Errors
    /// `TooLarge` as soon as the limit is passed, so that a bomb takes no more memory than that; `Malformed`.
    #[inline(never)]
    pub fn inflate(self, data: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), InflateError> {
        out.clear();
        match self {
            Self::Identity => {
                if data.len() > limit {
                    return Err(InflateError::TooLarge);
                }
                out.extend_from_slice(data);
                Ok(())
            }
            Self::Deflate => read_bounded(ZlibDecoder::new(data), limit, out, |decoder| {
                decoder.into_inner().is_empty()
            }),
            Self::Gzip => read_bounded(GzDecoder::new(data), limit, out, |decoder| {
                decoder.into_inner().is_empty()
            }),
        }
    }
}

fn write_all(encoder: &mut impl Write, parts: &[&[u8]]) -> io::Result<()> {
    parts.iter().try_for_each(|part| encoder.write_all(part))
}

/// Reads to the end; `consumed` tells whether nothing follows it.
fn read_bounded<R: Read>(
    mut reader: R,
    limit: usize,
    out: &mut Vec<u8>,
    consumed: impl FnOnce(R) -> bool,
) -> Result<(), InflateError> {
    loop {
        let len = out.len();
        // One byte past the limit tells that there is more.
        let most = limit.saturating_add(1) - len;
        let step = len.clamp(STEP, 16 * STEP).min(most);
        if out.capacity() - len < step {
            out.reserve_exact(len.max(step).min(most));
        }
        out.resize(len + step, 0);
        let read = reader
            .read(&mut out[len..])
            .map_err(|_| InflateError::Malformed)?;
        out.truncate(len + read);
        if out.len() > limit {
            return Err(InflateError::TooLarge);
        }
        if read == 0 {
            break;
        }
    }
    if consumed(reader) {
        Ok(())
    } else {
        Err(InflateError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Encoding; 2] = [Encoding::Deflate, Encoding::Gzip];

    fn inflated(encoding: Encoding, data: &[u8], limit: usize) -> Result<Vec<u8>, InflateError> {
        let mut out = b"former content".to_vec();
        encoding.inflate(data, limit, &mut out).map(|()| out)
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for encoding in BOTH {
            for size in [1_usize, 100, STEP, 1 << 20] {
                let message: Vec<u8> = (0..100 + size)
                    .map(|at| u8::try_from(at / 64 % 251).unwrap_or(0))
                    .collect();
                let (head, tail) = message.split_at(50);
                let data = encoding.compress(&[head, tail]).expect("it shrinks");
                assert_eq!(inflated(encoding, &data, message.len()), Ok(message));
            }
        }
    }

    #[test]
    fn what_would_not_shrink_is_left_alone() {
        for encoding in BOTH {
            assert_eq!(encoding.compress(&[b"ab"]), None);
            assert_eq!(encoding.compress(&[]), None);
        }
        assert_eq!(Encoding::Identity.compress(&[&[0; 1000]]), None);
    }

    #[test]
    fn the_limit_is_exact_and_a_bomb_takes_no_more_memory() {
        for encoding in BOTH {
            let bomb = encoding
                .compress(&[&vec![0; 10 << 20]])
                .expect("it shrinks");
            let mut out = Vec::new();
            let limit = 100_000;
            assert_eq!(
                encoding.inflate(&bomb, limit, &mut out),
                Err(InflateError::TooLarge)
            );
            assert!(out.capacity() <= limit + 1, "{}", out.capacity());
            assert!(inflated(encoding, &bomb, 10 << 20).is_ok());
            assert_eq!(
                inflated(encoding, &bomb, (10 << 20) - 1),
                Err(InflateError::TooLarge)
            );
            assert!(inflated(encoding, &bomb, usize::MAX).is_ok());
        }
    }

    #[test]
    fn what_is_cut_off_or_followed_by_something_is_malformed() {
        for encoding in BOTH {
            let data = encoding.compress(&[&[5; 4000]]).expect("it shrinks");
            for end in 0..data.len() {
                assert_eq!(
                    inflated(encoding, &data[..end], 1 << 20),
                    Err(InflateError::Malformed),
                    "{encoding:?} {end}"
                );
            }
            let longer = [&data[..], b"x"].concat();
            assert_eq!(
                inflated(encoding, &longer, 1 << 20),
                Err(InflateError::Malformed)
            );
        }
    }

    #[test]
    fn names_and_numbers() {
        let all = [Encoding::Identity, Encoding::Deflate, Encoding::Gzip];
        for (number, encoding) in (0..).zip(all) {
            assert_eq!(
                Encoding::from_name(encoding.name().as_bytes()),
                Some(encoding)
            );
            assert_eq!(Encoding::from_number(number), Some(encoding));
            assert!(encoding.is_accepted(ACCEPTED.as_bytes()));
        }
        assert_eq!(Encoding::from_name(b"br"), None);
        assert_eq!(Encoding::from_number(3), None);
        assert!(Encoding::Identity.is_accepted(b""));
        assert!(!Encoding::Gzip.is_accepted(b"identity,deflate"));
    }
}
