//! Streams cut in every way, and streams that are wrong.

use super::*;

const MESSAGES: [&[u8]; 5] = [b"first", b"", b"a third message", b"", b"x"];

fn stream(messages: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.push(0);
        bytes.extend_from_slice(&u32::try_from(message.len()).unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

fn reader() -> MessageReader {
    MessageReader::new(100, Encoding::Identity)
}

/// All messages of `segments`, by `read` or by `take`.
fn messages(segments: &[&[u8]], take: bool) -> Vec<Vec<u8>> {
    let mut reader = reader();
    let mut messages = Vec::new();
    for segment in segments {
        reader.push(Bytes::copy_from_slice(segment));
        loop {
            let message = if take {
                reader.take().map(|found| found.map(Vec::from))
            } else {
                reader.read().map(|found| found.map(<[u8]>::to_vec))
            };
            match message.expect("it is well formed") {
                Some(message) => messages.push(message),
                None => break,
            }
        }
    }
    assert!(reader.is_clean_end());
    assert_eq!(reader.held(), 0);
    messages
}

#[test]
fn messages_come_out_however_the_stream_is_cut() {
    let bytes = stream(&MESSAGES);
    for take in [false, true] {
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let segments = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(messages(&segments, take), MESSAGES, "{first} {second}");
            }
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(messages(&single, take), MESSAGES);
    }
}

#[test]
fn segments_that_came_before_the_first_read_are_all_read() {
    for size in 1..30 {
        let mut reader = reader();
        for segment in stream(&MESSAGES).chunks(size) {
            reader.push(Bytes::copy_from_slice(segment));
        }
        for message in MESSAGES {
            assert_eq!(reader.read(), Ok(Some(message)));
        }
        assert_eq!(reader.read(), Ok(None));
        assert!(reader.is_clean_end());
    }
}

#[test]
fn the_end_is_clean_only_between_messages() {
    let bytes = stream(&[b"message"]);
    for end in 0..=bytes.len() {
        let mut reader = reader();
        reader.push(Bytes::copy_from_slice(&bytes[..end]));
        let whole = end == bytes.len();
        assert_eq!(reader.read().map(|found| found.is_some()), Ok(whole));
        assert_eq!(reader.is_clean_end(), end == 0 || whole, "{end}");
    }
}

#[test]
fn a_claimed_length_allocates_nothing() {
    let mut reader = MessageReader::new(usize::MAX, Encoding::Identity);
    reader.push(Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff]));
    assert_eq!(reader.read(), Ok(None));
    assert_eq!(reader.gathered.capacity(), 0);
    for came in 1..100 {
        reader.push(Bytes::from_static(&[1; 1000]));
        assert_eq!(reader.read(), Ok(None));
        assert!(reader.gathered.capacity() <= 2000 * came);
        assert!(reader.segments.is_empty(), "what came is not held twice");
    }
}

#[test]
fn the_limit_is_exact_and_an_error_stays() {
    let mut reader = MessageReader::new(4, Encoding::Identity);
    reader.push(stream(&[b"1234", b"12345"]).into());
    assert_eq!(reader.read(), Ok(Some(&b"1234"[..])));
    let error = FramingError::TooLarge { size: 5, limit: 4 };
    for _ in 0..3 {
        assert_eq!(reader.read(), Err(error));
        assert_eq!(reader.take(), Err(error));
        reader.push(stream(&[b"1"]).into());
    }
    assert!(reader.segments.is_empty());
}

#[test]
fn flags() {
    let cases = [
        (2, Encoding::Gzip, FramingError::BadFlag(2)),
        (255, Encoding::Identity, FramingError::BadFlag(255)),
        (1, Encoding::Identity, FramingError::NoEncoding),
        (1, Encoding::Gzip, FramingError::Inflate(Encoding::Gzip)),
    ];
    for (flag, encoding, error) in cases {
        let mut reader = MessageReader::new(100, encoding);
        reader.push(vec![flag, 0, 0, 0, 1, 9].into());
        assert_eq!(reader.read(), Err(error));
    }
}

#[test]
fn a_compressed_message_is_measured_inflated() {
    let content = [3; 5000];
    let data = Encoding::Gzip.compress(&[&content]).expect("it shrinks");
    let mut bytes = stream(&[&data]);
    bytes[0] = 1;
    for (limit, fits) in [(5000, true), (4999, false)] {
        for segment in [1, 7, bytes.len()] {
            let mut reader = MessageReader::new(limit, Encoding::Gzip);
            for segment in bytes.chunks(segment) {
                reader.push(Bytes::copy_from_slice(segment));
            }
            let expected = FramingError::TooLarge { size: 5000, limit };
            match reader.read() {
                Ok(message) => assert_eq!((message, fits), (Some(&content[..]), true)),
                Err(error) => assert_eq!((error, fits), (expected, false)),
            }
        }
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut state = 7_u64;
    for _ in 0..2000 {
        let mut reader = MessageReader::new(50, Encoding::Deflate);
        for _ in 0..6 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let mut bytes = state.to_be_bytes().map(|byte| byte % 9);
            bytes[0] &= 1;
            reader.push(Bytes::copy_from_slice(&bytes));
            let _ = reader.read();
            let _ = reader.take();
        }
    }
}

#[test]
fn a_message_in_pieces_is_the_same() {
    let contents: [&[u8]; 4] = [b"first", &[7; 300], b"", b"last"];
    let bytes = stream(&contents);
    for size in 1..bytes.len() {
        let mut reader = MessageReader::new(300, Encoding::Identity);
        let (mut messages, mut open) = (Vec::<Vec<u8>>::new(), None::<Vec<u8>>);
        for segment in bytes.chunks(size) {
            reader.push(Bytes::copy_from_slice(segment));
            loop {
                while let Some(piece) = reader.piece() {
                    open.get_or_insert_default().extend_from_slice(&piece);
                }
                // Only what is long, and not before two bytes of it have come, which are dealt with.
                let begin = |beginning: &[u8], size| {
                    let wanted = size > 100 && beginning.len() > 1;
                    wanted.then(|| open.insert(beginning[..2].to_vec()).len())
                };
                let whole = reader
                    .read_or_begin(begin)
                    .expect("good")
                    .map(<[u8]>::to_vec);
                if whole.is_none() && !reader.has_piece() {
                    break;
                }
                messages.extend(open.take_if(|open| open.len() == 300));
                messages.extend(whole);
            }
            let is_open = open.as_ref().is_some_and(|open| open.len() < 300);
            assert!(!(is_open && reader.is_clean_end()));
        }
        assert_eq!(messages, contents, "in segments of {size}");
        assert!(reader.is_clean_end());
    }
}
