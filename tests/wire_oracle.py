"""What the protobuf runtime says, and raw wire fields to ask it about."""

import importlib.util
import math
import struct

from google.protobuf.message import DecodeError
from philote_mdo.generated import data_pb2
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import wire


def stock_module(name):
    """A second copy of a philote_mdo module, which philote_fast has not patched."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def array_message(values, **fields):
    """The bytes that the runtime writes; `values` are Python floats."""
    array = data_pb2.Array(data=values, **fields)
    return data_pb2.VariableMessage(continuous=array).SerializeToString()


def varint(value, pad=0):
    """`value` as a varint, with `pad` bytes more than needed."""
    out = bytearray()
    value &= (1 << 70) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    if pad:
        out[-1] |= 0x80
        out += b"\x80" * (pad - 1) + b"\x00"
    return bytes(out)


def tag(number, wire_type, pad=0):
    return varint(number << 3 | wire_type, pad)


def sized(number, content, pad=0):
    """A length-delimited field."""
    return tag(number, 2) + varint(len(content), pad) + content


def number(field, value, pad=0):
    """A varint field."""
    return tag(field, 0) + varint(value, pad)


def group(field, content=b""):
    return tag(field, 3) + content + tag(field, 4)


def python_of(value):
    """What a protobuf value is in Python, by stock's rules with their repairs."""
    kind = value.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    content = getattr(value, kind)
    if kind == "number_value":
        return int(content) if math.isfinite(content) and content == int(content) else content
    if kind == "list_value":
        return [python_of(item) for item in content.values]
    if kind == "struct_value":
        return {key: python_of(item) for key, item in content.fields.items()}
    return content


def runtime_reads(buffer):
    """The runtime's reading of a VariableMessage as plain data, or "refused"."""
    try:
        message = data_pb2.VariableMessage.FromString(buffer)
    except DecodeError:
        return "refused"
    member = message.WhichOneof("payload")
    if member is None:
        return None
    body = getattr(message, member)
    if member == "discrete":
        return body.name, body.type, canonical(python_of(body.value))
    data = struct.pack(f"<{len(body.data)}d", *body.data)
    return body.name, body.subname, body.start, body.end, body.type, data


def ours_reads(buffer):
    """Our reading of it, in the same form."""
    try:
        message = wire.decode(buffer)
    except PhiloteValidationError:
        return "refused"
    if message is None:
        return None
    if isinstance(message, wire.Discrete):
        return message.name, message.type, canonical(message.value)
    head = (message.name, message.subname, message.start, message.end, message.type)
    return (*head, message.data.tobytes())


def canonical(value):
    """A form that equals itself when there are NaNs, and tells 1 from True and from 1.0."""
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in value.items()}
    return f"{type(value).__name__} {value!r}"
