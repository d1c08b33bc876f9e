//! `DiscreteVariable` and `google.protobuf.Value`, written as the runtime writes them.
//!
//! Map entries always carry both key and value, as upb writes them and prost does not.

use prost_types::Value;
use prost_types::value::Kind;

use super::array::{field_len, write_number, write_tag_len, write_text};
use super::error::Error;
use super::{MAX_DEPTH, MAX_MESSAGE, varint};

/// The levels above the value: `VariableMessage.discrete` and `DiscreteVariable.value`.
const ABOVE: u32 = 2;

/// A whole `VariableMessage` that carries `value` for the discrete variable `name`.
///
/// # Errors
/// When the value is nested more deeply than the receiver's runtime accepts, or the message is too large.
pub fn encode_discrete(name: &str, kind: i32, value: &Value) -> Result<Vec<u8>, Error> {
    let mut lengths = Lengths::new(name);
    let value_len = lengths.value(value, MAX_DEPTH - ABOVE)?;
    let text = if name.is_empty() {
        0
    } else {
        field_len(name.len())
    };
    let number = if kind == 0 {
        0
    } else {
        1 + varint::len(varint::signed(i64::from(kind)))
    };
    let body = text
        .saturating_add(number)
        .saturating_add(field_len(value_len));
    let mut out = lengths.allocate(field_len(body))?;
    write_tag_len(2, body, &mut out);
    write_text(1, name, &mut out);
    write_number(2, i64::from(kind), &mut out);
    write_tag_len(3, value_len, &mut out);
    lengths.writer().value(value, &mut out);
    Ok(out)
}

/// A bare `Value`. `name` is the variable that an error speaks of.
///
/// # Errors
/// When the value is nested more deeply than the runtime accepts, or too large.
pub fn encode_value(name: &str, value: &Value) -> Result<Vec<u8>, Error> {
    let mut lengths = Lengths::new(name);
    let size = lengths.value(value, MAX_DEPTH)?;
    let mut out = lengths.allocate(size)?;
    lengths.writer().value(value, &mut out);
    Ok(out)
}

/// First pass: the length of every message inside the value, in the order in which the second pass meets them.
struct Lengths<'a> {
    name: &'a str,
    found: Vec<usize>,
}

impl<'a> Lengths<'a> {
    fn new(name: &'a str) -> Self {
        Self {
            name,
            found: Vec::new(),
        }
    }

    fn allocate(&self, size: usize) -> Result<Vec<u8>, Error> {
        if size > MAX_MESSAGE {
            return Err(Error::TooLarge {
                name: self.name.to_owned(),
                size,
            });
        }
        Ok(Vec::with_capacity(size))
    }

    fn writer(self) -> Writer {
        Writer {
            lengths: self.found.into_iter(),
        }
    }

    fn value(&mut self, value: &Value, depth: u32) -> Result<usize, Error> {
        Ok(match &value.kind {
            None => 0,
            Some(Kind::NullValue(n)) => 1 + varint::len(varint::signed(i64::from(*n))),
            Some(Kind::NumberValue(_)) => 9,
            Some(Kind::StringValue(text)) => field_len(text.len()),
            Some(Kind::BoolValue(_)) => 2,
            Some(Kind::StructValue(fields)) => {
                let entries = self.deeper(depth)?;
                self.nested(|this| {
                    let mut total = 0_usize;
                    for (key, item) in &fields.fields {
                        let inner = this.deeper(entries)?;
                        let entry = this.nested(|this| {
                            let depth = this.deeper(inner)?;
                            let item = this.nested(|this| this.value(item, depth))?;
                            Ok(field_len(key.len()).saturating_add(field_len(item)))
                        })?;
                        total = total.saturating_add(field_len(entry));
                    }
                    Ok(total)
                })
                .map(field_len)?
            }
            Some(Kind::ListValue(list)) => {
                let items = self.deeper(depth)?;
                self.nested(|this| {
                    let mut total = 0_usize;
                    for item in &list.values {
                        let depth = this.deeper(items)?;
                        let item = this.nested(|this| this.value(item, depth))?;
                        total = total.saturating_add(field_len(item));
                    }
                    Ok(total)
                })
                .map(field_len)?
            }
        })
    }

    /// Keeps the place of a message's length before those of its content.
    fn nested(
        &mut self,
        content: impl FnOnce(&mut Self) -> Result<usize, Error>,
    ) -> Result<usize, Error> {
        let place = self.found.len();
        self.found.push(0);
        let length = content(self)?;
        self.found[place] = length;
        Ok(length)
    }

    fn deeper(&self, depth: u32) -> Result<u32, Error> {
        depth.checked_sub(1).ok_or_else(|| Error::ValueDepth {
            name: self.name.to_owned(),
        })
    }
}

/// Second pass: the bytes.
struct Writer {
    lengths: std::vec::IntoIter<usize>,
}

impl Writer {
    fn value(&mut self, value: &Value, out: &mut Vec<u8>) {
        match &value.kind {
            None => {}
            Some(Kind::NullValue(n)) => {
                out.push(1 << 3);
                varint::write(varint::signed(i64::from(*n)), out);
            }
            Some(Kind::NumberValue(number)) => {
                out.push(2 << 3 | 1);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Some(Kind::StringValue(text)) => {
                write_tag_len(3, text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
            Some(Kind::BoolValue(truth)) => out.extend_from_slice(&[4 << 3, u8::from(*truth)]),
            Some(Kind::StructValue(fields)) => {
                self.open(5, out);
                for (key, item) in &fields.fields {
                    self.open(1, out);
                    write_tag_len(1, key.len(), out);
                    out.extend_from_slice(key.as_bytes());
                    self.open(2, out);
                    self.value(item, out);
                }
            }
            Some(Kind::ListValue(list)) => {
                self.open(6, out);
                for item in &list.values {
                    self.open(1, out);
                    self.value(item, out);
                }
            }
        }
    }

    /// Both passes walk the same value, so that there is a length for each message.
    fn open(&mut self, number: u8, out: &mut Vec<u8>) {
        write_tag_len(number, self.lengths.next().unwrap_or_default(), out);
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::{ListValue, Struct};

    use super::super::{Message, decode, decode_value};
    use super::*;

    fn of(kind: Kind) -> Value {
        Value { kind: Some(kind) }
    }

    fn list(values: Vec<Value>) -> Value {
        of(Kind::ListValue(ListValue { values }))
    }

    fn one_field(key: &str, value: Value) -> Value {
        let fields = [(key.to_owned(), value)].into();
        of(Kind::StructValue(Struct { fields }))
    }

    fn samples() -> Vec<Value> {
        let leaves = vec![
            of(Kind::NullValue(0)),
            of(Kind::NullValue(-3)),
            of(Kind::NumberValue(-0.0)),
            of(Kind::StringValue("x".repeat(300))),
            of(Kind::StringValue(String::new())),
            of(Kind::BoolValue(false)),
            Value { kind: None },
            list(Vec::new()),
            of(Kind::StructValue(Struct::default())),
        ];
        let mut all = leaves.clone();
        all.push(list(leaves.clone()));
        all.extend(
            leaves
                .into_iter()
                .map(|leaf| one_field("key", list(vec![leaf]))),
        );
        all.push(one_field("a", one_field("b", list(vec![list(Vec::new())]))));
        all
    }

    #[test]
    fn prost_reads_what_is_written_and_the_other_way_round() {
        for value in samples() {
            let bytes = encode_value("", &value).expect("shallow");
            assert_eq!(Value::decode(&bytes[..]).as_ref(), Ok(&value));
            assert_eq!(decode_value(&value.encode_to_vec()), Ok(value));
        }
    }

    #[test]
    fn a_discrete_message_comes_back() {
        for value in samples() {
            let bytes = encode_discrete("mode", 4, &value).expect("shallow");
            let Ok(Message::Discrete(read)) = decode(&bytes) else {
                panic!("{value:?}")
            };
            assert_eq!((read.name, read.kind, read.value), ("mode", 4, value));
        }
    }

    #[test]
    fn an_empty_key_is_written_as_the_runtime_does() {
        let bytes = encode_value("", &one_field("", Value { kind: None })).expect("shallow");
        assert_eq!(bytes, [0x2a, 6, 0x0a, 4, 0x0a, 0, 0x12, 0]);
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value { kind: None }, |value, _| list(vec![value]))
    }

    #[test]
    fn what_is_too_deep_is_refused_on_both_sides() {
        for levels in 0..60 {
            let value = nested(levels);
            let bytes = encode_value("deep", &value);
            assert_eq!(bytes.is_ok(), levels <= 50, "{levels}");
            assert_eq!(
                encode_discrete("deep", 1, &value).is_ok(),
                levels <= 49,
                "{levels}"
            );
            // One past the limit by wrapping what is at it by hand.
            if let (50, Ok(bytes)) = (levels, bytes) {
                let inner = [
                    &[0x0a, u8::try_from(bytes.len()).unwrap_or(0x7f)],
                    &bytes[..],
                ];
                let inner = inner.concat();
                assert!(decode_value(&bytes).is_ok());
                let mut outer = Vec::new();
                write_tag_len(6, inner.len(), &mut outer);
                outer.extend(inner);
                assert!(decode_value(&outer).is_err());
            }
        }
    }
}
