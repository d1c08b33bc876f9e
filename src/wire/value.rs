//! `google.protobuf.Value`, read by the same rules as the rest into the type of `prost-types`.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};

use super::error::Error;
use super::reader::{Reader, delimited_tag, fixed64_tag, varint_tag};

const NULL: u32 = varint_tag(1);
const NUMBER: u32 = fixed64_tag(2);
const STRING: u32 = delimited_tag(3);
const BOOL: u32 = varint_tag(4);
const STRUCT: u32 = delimited_tag(5);
const LIST: u32 = delimited_tag(6);

/// `Struct.fields` and `ListValue.values`.
const ITEMS: u32 = delimited_tag(1);
const KEY: u32 = delimited_tag(1);
const ENTRY_VALUE: u32 = delimited_tag(2);

/// Reads a bare `Value`.
///
/// # Errors
/// When the protobuf runtime would not parse the buffer.
pub fn decode_value(buffer: &[u8]) -> Result<Value, Error> {
    let mut value = Value::default();
    merge_value(&mut value, Reader::new(buffer))?;
    Ok(value)
}

/// Reads fields into `value`: the last member of the oneof wins, a message that comes twice is merged.
/// Recursion is bounded by the reader's depth.
pub(super) fn merge_value(value: &mut Value, mut reader: Reader<'_>) -> Result<(), Error> {
    let kind = &mut value.kind;
    while let Some(tag) = reader.tag()? {
        match tag {
            NULL => *kind = Some(Kind::NullValue(reader.int32("null")?)),
            NUMBER => *kind = Some(Kind::NumberValue(f64::from_le_bytes(*reader.fixed64()?))),
            STRING => *kind = Some(Kind::StringValue(reader.string("string")?.to_owned())),
            BOOL => *kind = Some(Kind::BoolValue(reader.varint("bool")? != 0)),
            STRUCT => merge_struct(struct_of(kind), reader.message()?)?,
            LIST => merge_list(list_of(kind), reader.message()?)?,
            _ => reader.skip(tag)?,
        }
    }
    Ok(())
}

fn struct_of(kind: &mut Option<Kind>) -> &mut Struct {
    if !matches!(kind, Some(Kind::StructValue(_))) {
        *kind = Some(Kind::StructValue(Struct::default()));
    }
    match kind {
        Some(Kind::StructValue(fields)) => fields,
        _ => unreachable!("set above"),
    }
}

fn list_of(kind: &mut Option<Kind>) -> &mut ListValue {
    if !matches!(kind, Some(Kind::ListValue(_))) {
        *kind = Some(Kind::ListValue(ListValue::default()));
    }
    match kind {
        Some(Kind::ListValue(list)) => list,
        _ => unreachable!("set above"),
    }
}

fn merge_list(list: &mut ListValue, mut reader: Reader<'_>) -> Result<(), Error> {
    while let Some(tag) = reader.tag()? {
        if tag == ITEMS {
            let mut value = Value::default();
            merge_value(&mut value, reader.message()?)?;
            list.values.push(value);
        } else {
            reader.skip(tag)?;
        }
    }
    Ok(())
}

fn merge_struct(fields: &mut Struct, mut reader: Reader<'_>) -> Result<(), Error> {
    while let Some(tag) = reader.tag()? {
        if tag != ITEMS {
            reader.skip(tag)?;
        } else if let Some((key, value)) = read_entry(reader.message()?)? {
            fields.fields.insert(key.to_owned(), value);
        }
    }
    Ok(())
}

/// One entry of the map. The runtime sets an entry aside whole, as unknown, if any of its fields is unknown.
fn read_entry(mut reader: Reader<'_>) -> Result<Option<(&str, Value)>, Error> {
    let (mut key, mut value, mut known) = ("", Value::default(), true);
    while let Some(tag) = reader.tag()? {
        match tag {
            KEY => key = reader.string("key")?,
            ENTRY_VALUE => merge_value(&mut value, reader.message()?)?,
            _ => {
                reader.skip(tag)?;
                known = false;
            }
        }
    }
    Ok(known.then_some((key, value)))
}
