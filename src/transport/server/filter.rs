//! What grpcio's clients send and the HTTP/2 library refuses, made acceptable as the bytes come in.
//!
//! A call that is cancelled before it has begun is reset by grpcio all the same. The library takes a reset of a stream
//! that was never opened for a broken connection, and ends all calls on it. Such a frame becomes one of a type that
//! nobody knows, which is ignored. For the server's name see `authority`.

use super::authority::Block;

/// What a client sends first.
const PREFACE: usize = 24;

/// The head of a frame: three bytes of length, the type, the flags, four of the stream.
pub(super) const FRAME_HEAD: usize = 9;
const TYPE: usize = 3;

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// A type that HTTP/2 does not have: such frames are ignored (RFC 9113, section 4.1).
const UNKNOWN: u8 = 0xff;

const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// The bytes of a HEADERS frame that tell its priority.
const PRIORITY_BYTES: usize = 5;

/// Where in the bytes of a connection one is.
pub(super) struct Filter {
    at: At,
    /// The header block that is being read.
    block: Block,
    /// The newest stream that was opened.
    newest: u32,
    /// The beginning of a head of which the rest has not come: it is not passed on before it can be judged.
    head: Vec<u8>,
}

enum At {
    Preface(usize),
    Head,
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

impl Filter {
    /// At the first byte.
    pub fn new() -> Self {
        Self {
            at: At::Preface(PREFACE),
            block: Block::default(),
            newest: 0,
            head: Vec::new(),
        }
    }

    /// How many bytes are missing of a head that has begun; none where none has.
    pub fn missing(&self) -> usize {
        match self.head.len() {
            0 => 0,
            count => FRAME_HEAD - count,
        }
    }

    /// Takes bytes that were missing; gives the head, judged, once it is complete.
    pub fn complete(&mut self, bytes: &[u8]) -> Option<[u8; FRAME_HEAD]> {
        self.head.extend_from_slice(bytes);
        let mut head = *self.head.first_chunk()?;
        self.head.clear();
        self.begin(&mut head);
        Some(head)
    }

    /// Takes the next bytes of the connection, and changes those that are to be changed. Returns how many at the end
    /// are not to be passed on, since they are the beginning of a head.
    pub fn pass(&mut self, mut bytes: &mut [u8]) -> usize {
        while !bytes.is_empty() {
            if let At::Head = self.at {
                let Some(head) = bytes.first_chunk_mut() else {
                    self.head.extend_from_slice(bytes);
                    return bytes.len();
                };
                self.begin(head);
                bytes = bytes.get_mut(FRAME_HEAD..).unwrap_or_default();
            } else {
                let taken = self.step(bytes).min(bytes.len());
                bytes = bytes.get_mut(taken..).unwrap_or_default();
            }
        }
        0
    }

    /// Judges a head, and goes on to what follows it.
    fn begin(&mut self, head: &mut [u8; FRAME_HEAD]) {
        let [high, middle, low, kind, flags, stream @ ..] = *head;
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        match kind {
            HEADERS => {
                self.newest = self.newest.max(stream);
                return self.headers(length, flags);
            }
            CONTINUATION => return self.payload(0, length, 0),
            RST_STREAM | WINDOW_UPDATE if stream > self.newest => head[TYPE] = UNKNOWN,
            _ => {}
        }
        self.payload(length, 0, 0);
    }

    fn headers(&mut self, length: usize, flags: u8) {
        self.block = Block::default();
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

    /// Deals with some bytes, at least one, that are no head; returns how many.
    fn step(&mut self, bytes: &mut [u8]) -> usize {
        match &mut self.at {
            At::Preface(left) => {
                let taken = bytes.len().min(*left);
                *left -= taken;
                if *left == 0 {
                    self.at = At::Head;
                }
                taken
            }
            At::Head => 0,
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
                let part = [skip, block, padding].into_iter().find(|part| **part > 0);
                let taken = part.map_or(0, |part| {
                    let taken = bytes.len().min(*part);
                    *part -= taken;
                    taken
                });
                self.next_head();
                taken
            }
        }
    }

    fn payload(&mut self, skip: usize, block: usize, padding: usize) {
        self.at = At::Payload {
            skip,
            block,
            padding,
        };
        self.next_head();
    }

    /// Goes on to the next head where nothing is left of the payload.
    fn next_head(&mut self) {
        if let At::Payload {
            skip: 0,
            block: 0,
            padding: 0,
        } = self.at
        {
            self.at = At::Head;
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

    /// What comes through where so many bytes are read at a time.
    fn passed(bytes: &[u8], step: usize) -> Vec<u8> {
        let mut filter = Filter::new();
        let mut out = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let missing = filter.missing();
            let most = if missing > 0 { missing.min(step) } else { step };
            let (now, later) = rest.split_at(rest.len().min(most));
            rest = later;
            if missing > 0 {
                out.extend(filter.complete(now).into_iter().flatten());
            } else {
                let mut now = now.to_vec();
                let held = filter.pass(&mut now);
                out.extend_from_slice(&now[..now.len() - held]);
            }
        }
        out
    }

    fn assert_passes_as(bytes: &[u8], expected: &[u8]) {
        for step in [1, 2, 7, 10, bytes.len()] {
            assert_eq!(passed(bytes, step), expected, "in steps of {step}");
        }
    }

    #[test]
    fn what_is_said_of_a_stream_that_was_never_opened_is_ignored() {
        let build = |reset: u8, update: u8| {
            let mut frames = [
                frame(HEADERS, 5, b""),
                frame(RST_STREAM, 0, b"code"),
                frame(reset, 0, b"code"),
                frame(update, 0, b"size"),
                frame(WINDOW_UPDATE, 0, b"size"),
            ];
            for never in &mut frames[2..4] {
                never[8] = 3;
            }
            // The connection's own.
            frames[4][8] = 0;
            [START, &frames.concat()].concat()
        };
        let (given, expected) = (build(RST_STREAM, WINDOW_UPDATE), build(UNKNOWN, UNKNOWN));
        assert_passes_as(&given, &expected);
    }

    #[test]
    fn what_no_host_has_is_replaced_in_an_authority_and_nowhere_else() {
        let path = b"%2Ftmp_[:1".repeat(20);
        let replaced = b"-2Ftmp---1".repeat(20);
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
            let all = [START, &bytes].concat();
            let through = passed(&all, 11);
            assert!(through.len() > all.len() - FRAME_HEAD);
        }
    }
}
