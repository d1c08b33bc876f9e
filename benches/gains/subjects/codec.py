"""One array as a VariableMessage and back: the codec alone, no gRPC."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data

from gains.peer import codec as peer
from gains.problems import destination
from philote_fast import wire
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles, same_bits

NAME = "x"


def stock_message(values: Any) -> Any:
    """Build the message as stock does."""
    return data.VariableMessage(
        continuous=data.Array(
            name=NAME,
            start=0,
            end=values.size - 1,
            type=data.VariableType.kInput,
            data=values.ravel()[0 : values.size],
        )
    )


def peer_message(values: Any) -> Any:
    """Build the message as the peer does."""
    return next(peer.messages(values, NAME, 0, values.size))


def encode_stock(values: Any) -> bytes:
    return stock_message(values).SerializeToString()


def encode_peer(values: Any) -> bytes:
    return peer_message(values).SerializeToString()


def encode_wire(values: Any) -> bytes:
    return wire.encode_array(values, name=NAME)


def encoding(encode: Callable[[Any], bytes]) -> Callable[[int], Subject]:
    """Make subjects that give the serialised message of some doubles."""

    def subject(size: int) -> Subject:
        values = doubles(size)
        expected = peer_message(values).SerializeToString()

        def check(got: Any) -> None:
            if got != expected:
                raise AssertionError("not the bytes that the protobuf runtime writes")

        return Subject(lambda: encode(values), check)

    return subject


def to_bytes(size: int) -> Subject:
    """Copy doubles to a bytes object: the least that an encoder can do."""
    values = doubles(size)
    expected = bytes(memoryview(values).cast("B"))

    def check(got: Any) -> None:
        if got != expected:
            raise AssertionError("not the bytes of the array")

    return Subject(values.tobytes, check)


def decode_stock(buffer: bytes, flat: Any) -> None:
    array = data.VariableMessage.FromString(buffer).continuous
    flat[array.start : array.end + 1] = array.data


def decode_peer(buffer: bytes, flat: Any) -> None:
    peer.copy_out(data.VariableMessage.FromString(buffer).continuous, flat)


def decode_wire(buffer: bytes, flat: Any) -> None:
    array = wire.decode(buffer)
    flat[array.start : array.end + 1] = array.data


def into_place(
    run: Callable[[Any, Any], None], source: Callable[[Any], Any]
) -> Callable[[int], Subject]:
    """Make subjects that bring doubles from some source to their place in an array."""

    def subject(size: int) -> Subject:
        values = doubles(size)
        origin = source(values)
        flat = destination(size)

        def check(_: Any) -> None:
            same_bits(flat, values)
            # The next answer must not be right because this one was.
            flat.fill(1.0)

        return Subject(lambda: run(origin, flat), check)

    return subject


def copy_to(source: Any, flat: Any) -> None:
    np.copyto(flat, source)


@cache
def encoded_size(size: int) -> bytes:
    """Give the message of some doubles, one for all subjects of a size."""
    return encode_peer(doubles(size))


def encoded(values: Any) -> bytes:
    return encoded_size(values.size)


def received(values: Any) -> Any:
    return data.VariableMessage.FromString(encode_peer(values)).continuous


def filling(fill: Callable[[Any, Any], None]) -> Callable[[int], Subject]:
    """Make subjects that set the data of a protobuf Array message."""

    def subject(size: int) -> Subject:
        values = doubles(size)
        expected = peer_message(values).continuous.data

        def run() -> Any:
            message = data.Array()
            fill(message, values)
            return message

        def check(got: Any) -> None:
            same_bits(np.array(got.data), np.array(expected))

        return Subject(run, check)

    return subject


def fill_peer(message: Any, values: Any) -> None:
    # Merged data would be appended to what the message has; the core's function replaces it.
    message.ClearField("data")
    message.MergeFromString(b"".join((peer.payload_prefix(values.size), values)))


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "encode.tobytes": to_bytes,
    "encode.wire": encoding(encode_wire),
    "encode.stock": encoding(encode_stock),
    "encode.peer": encoding(encode_peer),
    "decode.copyto": into_place(copy_to, lambda values: values),
    "decode.wire": into_place(decode_wire, encoded),
    "decode.stock": into_place(decode_stock, encoded),
    "decode.peer": into_place(decode_peer, encoded),
    "message.read.wire": into_place(lambda m, flat: wire.read_array_into(m, flat), received),
    "message.read.peer": into_place(peer.copy_out, received),
    "message.fill.wire": filling(lambda m, values: wire.set_array_data(m, values)),
    "message.fill.peer": filling(fill_peer),
}
