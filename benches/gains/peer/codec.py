"""Doubles into protobuf messages and out of them, without boxing one Python float for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data
from numpy.typing import NDArray
from philote_mdo.general.discipline_server import _value_to_python

Doubles = NDArray[np.float64]

# Field 6 of Array, packed: (6 << 3) | 2.
DATA_TAG = b"\x32"
# Up to here the runtime's own container beats serialising the message again.
FEW = 12


def varint(number: int) -> bytes:
    """Encode a number of zero or more as protobuf does."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


@lru_cache(maxsize=1024)
def payload_prefix(count: int) -> bytes:
    """Give the tag and length that stand before `count` packed doubles."""
    return DATA_TAG + varint(8 * count)


def chunks(size: int, limit: int) -> Iterator[tuple[int, int]]:
    """Give the half-open ranges that stock's get_chunk_indices gives."""
    return ((begin, min(begin + limit, size)) for begin in range(0, size, limit))


def flatten(value: Any) -> Doubles:
    """Give the C-ordered doubles of an array, without a copy where they are that already."""
    return np.ascontiguousarray(value, dtype="<f8").reshape(-1)


def message(values: Doubles, name: str, kind: int, start: int = 0, subname: str = "") -> Any:
    """Build a VariableMessage that carries contiguous doubles."""
    whole = data.VariableMessage()
    array = whole.continuous
    array.name = name
    # Setting an empty string or a zero is a needless call into the runtime.
    if subname:
        array.subname = subname
    if start:
        array.start = start
    array.end = start + values.size - 1
    if kind:
        array.type = kind
    array.MergeFromString(b"".join((payload_prefix(values.size), values)))
    return whole


def messages(value: Any, name: str, kind: int, limit: int, subname: str = "") -> Iterator[Any]:
    """Build the messages of one variable, in chunks of at most `limit` doubles."""
    flat = flatten(value)
    if flat.size <= limit:
        if flat.size:
            yield message(flat, name, kind, 0, subname)
        return
    for begin, end in chunks(flat.size, limit):
        yield message(flat[begin:end], name, kind, begin, subname)


def parts(message: Any) -> tuple[Any, Any]:
    """Give the array or the discrete variable of a message, and None for the other."""
    if message.HasField("continuous"):
        return message.continuous, None
    return None, message.discrete if message.HasField("discrete") else None


def value_of(variable: Any) -> Any:
    """Read a discrete value."""
    return _value_to_python(variable.value)


def copy_out(array: Any, flat: Doubles) -> None:
    """Copy the doubles of an Array message to their place in a flat destination."""
    values = array.data
    count = len(values)
    begin = array.start
    if count == 1:
        flat[begin] = values[0]
    elif count <= FEW:
        flat[begin : array.end + 1] = values
    else:
        flat[begin : array.end + 1] = payload_of(array, count)


def payload_of(array: Any, count: int) -> Doubles:
    """View the doubles of an Array message in its serialised form.

    The runtime writes known fields in order and unknown ones after them, so the payload stands at
    the end unless there are unknown fields; those have to go first.
    """
    raw = array.SerializeToString()
    offset = len(raw) - 8 * count
    if not raw.endswith(payload_prefix(count), 0, offset):
        array.DiscardUnknownFields()
        raw = array.SerializeToString()
        offset = len(raw) - 8 * count
    return np.frombuffer(raw, "<f8", count, offset)
