"""The messages of a call with many scalar variables, without gRPC; time is for each message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data

from gains.peer import codec as peer
from philote_fast import wire
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles, same_bits

INPUT = data.VariableType.kInput


def variables(size: int) -> dict[str, Any]:
    """Give `size` scalars under the names that they have in a call."""
    values = doubles(size)
    return {f"x{index}": values[index : index + 1] for index in range(size)}


def encode_stock(inputs: dict[str, Any]) -> list[bytes]:
    return [
        data.VariableMessage(
            continuous=data.Array(name=name, start=0, end=0, type=INPUT, data=value.ravel()[0:1])
        ).SerializeToString()
        for name, value in inputs.items()
    ]


def encode_peer(inputs: dict[str, Any]) -> list[bytes]:
    return [
        peer.message(peer.flatten(value), name, INPUT).SerializeToString()
        for name, value in inputs.items()
    ]


def encode_wire(inputs: dict[str, Any]) -> list[bytes]:
    encode = wire.encode_array
    return [encode(value, name=name) for name, value in inputs.items()]


def encoding(encode: Callable[[Any], list[bytes]]) -> Callable[[int], Subject]:
    """Make subjects that encode a call."""

    def subject(size: int) -> Subject:
        inputs = variables(size)
        expected = encode_peer(inputs)

        def check(got: Any) -> None:
            if got != expected:
                raise AssertionError("not the bytes that the protobuf runtime writes")

        return Subject(lambda: encode(inputs), check, items=size)

    return subject


def decode_stock(buffers: list[bytes], flat: dict[str, Any]) -> None:
    parse = data.VariableMessage.FromString
    for message in map(parse, buffers):
        if message.WhichOneof("payload") == "continuous":
            array = message.continuous
            begin, end = array.start, array.end
            if len(array.data) > 0 and array.type == INPUT:
                flat[array.name][begin : end + 1] = array.data


def decode_peer(buffers: list[bytes], flat: dict[str, Any]) -> None:
    for message in map(data.VariableMessage.FromString, buffers):
        if message.HasField("continuous"):
            array = message.continuous
            if array.type == INPUT:
                peer.copy_out(array, flat[array.name])


def decode_wire(buffers: list[bytes], flat: dict[str, Any]) -> None:
    for array in map(wire.decode, buffers):
        if array.type == INPUT:
            flat[array.name][array.start : array.end + 1] = array.data


def decoding(decode: Callable[[list[bytes], dict[str, Any]], None]) -> Callable[[int], Subject]:
    """Make subjects that decode a call into the variables allocated for it."""

    def subject(size: int) -> Subject:
        inputs = variables(size)
        buffers = encode_peer(inputs)
        flat = {name: np.zeros(1) for name in inputs}
        expected = np.concatenate(list(inputs.values()))

        def check(_: Any) -> None:
            same_bits(np.concatenate(list(flat.values())), expected)
            for value in flat.values():
                value.fill(1.0)

        return Subject(lambda: decode(buffers, flat), check, items=size)

    return subject


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "scalars.encode.stock": encoding(encode_stock),
    "scalars.encode.peer": encoding(encode_peer),
    "scalars.encode.wire": encoding(encode_wire),
    "scalars.decode.stock": decoding(decode_stock),
    "scalars.decode.peer": decoding(decode_peer),
    "scalars.decode.wire": decoding(decode_wire),
}
