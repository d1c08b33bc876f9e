//! The `:authority` of grpcio's clients, in which the HTTP/2 library may find no host and then refuses the call: on Unix
//! sockets it is the percent-encoded path, and with several addresses all of them.
//!
//! What a host's name does not have is replaced as the bytes come in, each by a character of the same length; nothing
//! else of a header block changes. Users are never shown the name.

/// `:authority` in HPACK's static table.
const AUTHORITY_INDEX: usize = 1;
const AUTHORITY: &[u8] = b":authority";

/// No number that HPACK needs here has more continuation bytes; the library refuses them.
const MOST_SHIFTS: u32 = 28;

/// Where in a header block one is (RFC 7541, section 6).
#[derive(Clone, Copy, Default)]
pub(super) enum Block {
    #[default]
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
pub(super) enum Number {
    Ignored,
    NameIndex,
    NameLength { huffman: bool },
    ValueLength { huffman: bool, authority: bool },
}

impl Block {
    /// Takes the next bytes of a block, and changes those that are to be changed.
    pub fn pass(&mut self, bytes: &mut [u8]) {
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
                if authority && !is_of_a_host(*byte) {
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

fn is_of_a_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'.'
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
