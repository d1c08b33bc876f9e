//! The `:authority` of grpcio's clients on Unix sockets: the percent-encoded path, in which the HTTP/2 library finds no
//! host and refuses the call.
//!
//! The percent signs are replaced as the bytes come in, each by a character of the same length that a host may have;
//! nothing else changes, and nothing else is looked at. Users are never shown the name.

/// What a client sends first.
const PREFACE: usize = 24;

const FRAME_HEAD: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// The bytes of a HEADERS frame that tell its priority.
const PRIORITY_BYTES: usize = 5;

/// `:authority` in HPACK's static table.
const AUTHORITY_INDEX: usize = 1;
const AUTHORITY: &[u8] = b":authority";

/// More continuation bytes has no number that HPACK needs here; the library refuses them.
const MOST_SHIFTS: u32 = 28;

/// Where in the bytes of a connection one is.
pub struct Filter {
    at: At,
    block: Block,
}

enum At {
    Preface(usize),
    Head {
        bytes: [u8; FRAME_HEAD],
        count: usize,
    },
    /// The length of the padding comes, and then so much more, of which `skip` bytes are not the block's.
    PadLength {
        left: usize,
        skip: usize,
    },
    /// Bytes that do not matter, then so many of a header block, then its padding.
    Payload {
        skip: usize,
        block: usize,
        padding: usize,
    },
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            at: At::Preface(PREFACE),
            block: Block::Instruction,
        }
    }
}

impl Filter {
    /// Takes the next bytes of the connection, and changes those that are to be changed.
    pub fn pass(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let taken = self.step(bytes).min(bytes.len());
            bytes = bytes.get_mut(taken..).unwrap_or_default();
        }
    }

    /// Deals with some bytes, at least one; returns how many.
    fn step(&mut self, bytes: &mut [u8]) -> usize {
        match &mut self.at {
            At::Preface(left) => {
                let taken = bytes.len().min(*left);
                *left -= taken;
                if *left == 0 {
                    self.at = At::next_head();
                }
                taken
            }
            At::Head { bytes: head, count } => {
                let taken = bytes.len().min(FRAME_HEAD - *count);
                head[*count..*count + taken].copy_from_slice(&bytes[..taken]);
                *count += taken;
                if *count == FRAME_HEAD {
                    let head = *head;
                    self.begin(head);
                }
                taken
            }
            At::PadLength { left, skip } => {
                let padding = usize::from(bytes[0]);
                let block = left.saturating_sub(*skip + padding);
                let skip = (*skip).min(*left);
                let padding = *left - skip - block;
                self.payload(skip, block, padding);
                1
            }
            At::Payload {
                skip,
                block,
                padding,
            } => {
                if *skip == 0 {
                    let part = bytes.len().min(*block);
                    self.block.pass(&mut bytes[..part]);
                }
                let part = if *skip > 0 {
                    &mut *skip
                } else if *block > 0 {
                    &mut *block
                } else {
                    &mut *padding
                };
                let taken = bytes.len().min(*part);
                *part -= taken;
                if *skip + *block + *padding == 0 {
                    self.at = At::next_head();
                }
                taken
            }
        }
    }

    fn begin(&mut self, [high, middle, low, kind, flags, ..]: [u8; FRAME_HEAD]) {
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        match kind {
            HEADERS => {
                self.block = Block::Instruction;
                let skip = if flags & PRIORITY == 0 {
                    0
                } else {
                    PRIORITY_BYTES
                };
                if flags & PADDED != 0 && length > 0 {
                    let left = length - 1;
                    self.at = At::PadLength { left, skip };
                } else {
                    let skip = skip.min(length);
                    self.payload(skip, length - skip, 0);
                }
            }
            CONTINUATION => self.payload(0, length, 0),
            _ => self.payload(length, 0, 0),
        }
    }

    fn payload(&mut self, skip: usize, block: usize, padding: usize) {
        self.at = if skip + block + padding == 0 {
            At::next_head()
        } else {
            At::Payload {
                skip,
                block,
                padding,
            }
        };
    }
}

impl At {
    fn next_head() -> Self {
        Self::Head {
            bytes: [0; FRAME_HEAD],
            count: 0,
        }
    }
}

/// Where in a header block one is (RFC 7541, section 6).
#[derive(Clone, Copy)]
enum Block {
    Instruction,
    /// The rest of a number.
    Number {
        value: usize,
        shift: u32,
        what: Number,
    },
    NameLength,
    ValueLength {
        authority: bool,
    },
    Name {
        left: usize,
        /// How much of `:authority` has come, unless it is another name.
        matched: Option<usize>,
    },
    Value {
        left: usize,
        authority: bool,
    },
    /// It cannot be followed any further.
    Lost,
}

/// What a number is.
#[derive(Clone, Copy)]
enum Number {
    Ignored,
    NameIndex,
    NameLength { huffman: bool },
    ValueLength { huffman: bool, authority: bool },
}

impl Block {
    fn pass(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *self = self.next(byte);
        }
    }

    fn next(self, byte: &mut u8) -> Self {
        match self {
            Self::Instruction => match *byte {
                0x80.. => number(*byte, 7, Number::Ignored),
                0x40.. => number(*byte, 6, Number::NameIndex),
                0x20.. => number(*byte, 5, Number::Ignored),
                _ => number(*byte, 4, Number::NameIndex),
            },
            Self::Number { value, shift, what } => {
                let value = value + (usize::from(*byte & 0x7f) << shift);
                let shift = shift + 7;
                if *byte & 0x80 == 0 {
                    what.done(value)
                } else if shift > MOST_SHIFTS {
                    Self::Lost
                } else {
                    Self::Number { value, shift, what }
                }
            }
            Self::NameLength => {
                let huffman = *byte & 0x80 != 0;
                number(*byte, 7, Number::NameLength { huffman })
            }
            Self::ValueLength { authority } => {
                let huffman = *byte & 0x80 != 0;
                number(*byte, 7, Number::ValueLength { huffman, authority })
            }
            Self::Name { left, matched } => {
                let matched = matched.filter(|&at| AUTHORITY.get(at) == Some(byte));
                let matched = matched.map(|at| at + 1);
                match left - 1 {
                    0 => Self::ValueLength {
                        authority: matched == Some(AUTHORITY.len()),
                    },
                    left => Self::Name { left, matched },
                }
            }
            Self::Value { left, authority } => {
                if authority && *byte == b'%' {
                    *byte = b'-';
                }
                match left - 1 {
                    0 => Self::Instruction,
                    left => Self::Value { left, authority },
                }
            }
            Self::Lost => Self::Lost,
        }
    }
}

/// A number whose first bits are the last `bits` of `byte`.
fn number(byte: u8, bits: u32, what: Number) -> Block {
    let most = (1_usize << bits) - 1;
    match usize::from(byte) & most {
        value if value < most => what.done(value),
        value => Block::Number {
            value,
            shift: 0,
            what,
        },
    }
}

impl Number {
    fn done(self, value: usize) -> Block {
        match self {
            Self::Ignored => Block::Instruction,
            Self::NameIndex if value == 0 => Block::NameLength,
            Self::NameIndex => Block::ValueLength {
                authority: value == AUTHORITY_INDEX,
            },
            Self::NameLength { .. } if value == 0 => Block::ValueLength { authority: false },
            Self::NameLength { huffman } => Block::Name {
                left: value,
                matched: (!huffman).then_some(0),
            },
            Self::ValueLength { .. } if value == 0 => Block::Instruction,
            Self::ValueLength { huffman, authority } => Block::Value {
                left: value,
                authority: authority && !huffman,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend_from_slice(&[kind, flags, 0, 0, 0, 1]);
        frame.extend_from_slice(payload);
        frame
    }

    /// As grpcio writes it: names and values in plain.
    fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
        let mut out = vec![0x40, u8::try_from(name.len()).expect("short")];
        out.extend_from_slice(name);
        if value.len() < 127 {
            out.push(u8::try_from(value.len()).expect("short"));
        } else {
            let rest = u8::try_from(value.len() - 127).expect("not so long");
            out.extend_from_slice(&[127, rest | 128, rest / 128]);
        }
        out.extend_from_slice(value);
        out
    }

    fn passed(bytes: &[u8], step: usize) -> Vec<u8> {
        let mut filter = Filter::default();
        let mut out = bytes.to_vec();
        out.chunks_mut(step).for_each(|chunk| filter.pass(chunk));
        out
    }

    fn assert_passes_as(bytes: &[u8], expected: &[u8]) {
        for step in [1, 2, 7, bytes.len()] {
            assert_eq!(passed(bytes, step), expected, "in steps of {step}");
        }
    }

    #[test]
    fn the_percent_signs_of_an_authority_are_replaced_and_no_others() {
        let path = b"%2Ftmp%2Fx".repeat(20);
        let replaced = b"-2Ftmp-2Fx".repeat(20);
        let build = |authority: &[u8]| {
            let block = [
                literal(b":path", b"/a%2F/b"),
                literal(b":authority", authority),
                vec![0x83, 0x86, 0x3f, 0xe1, 0x1f],
                literal(b"key", b"%"),
                vec![0xff, 0x01],
            ]
            .concat();
            let (head, tail) = block.split_at(30);
            let padded = [&[4, 0, 0, 0, 0, 7], &block[..], b"%%%%"].concat();
            [
                START.to_vec(),
                frame(4, 0, b"%%%%%%"),
                frame(HEADERS, 0, head),
                frame(CONTINUATION, 4, tail),
                frame(0, 1, b"data%"),
                frame(0, 1, b""),
                frame(HEADERS, PADDED | PRIORITY | 4, &padded),
            ]
            .concat()
        };
        assert_passes_as(&build(&path), &build(&replaced));
    }

    #[test]
    fn the_name_may_be_an_index() {
        let build = |value: &[u8]| {
            let block = [
                &[0x41, 3],
                value,
                &[0x01, 0x83],
                b"%%%",
                &[0x10, 0, 0, 0x01, 0],
            ]
            .concat();
            [START, &frame(HEADERS, 4, &block)].concat()
        };
        assert_passes_as(&build(b"a%b"), &build(b"a-b"));
    }

    #[test]
    fn whatever_comes_passes() {
        let mut state = 7_u64;
        for length in 0..3000 {
            let mut bytes: Vec<u8> = (0..length % 300)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    state.to_be_bytes()[0]
                })
                .collect();
            if length % 3 == 0 && bytes.len() > 9 {
                bytes.splice(..9, [0, 0, 50, HEADERS, PADDED | PRIORITY, 0, 0, 0, 1]);
            }
            let mut all = [START, &bytes].concat();
            Filter::default().pass(&mut all);
            assert_eq!(all.len(), START.len() + bytes.len());
        }
    }
}
