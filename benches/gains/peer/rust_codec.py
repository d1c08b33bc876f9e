"""The peer's codec in Rust: `philote_fast.wire` on bytes, with no protobuf object for an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gains.peer.codec import Doubles, chunks, flatten
from philote_fast import wire


def messages(value: Any, name: str, kind: int, limit: int, subname: str = "") -> Iterator[bytes]:
    """Encode one variable, in chunks of at most `limit` doubles."""
    flat = flatten(value)
    for begin, end in chunks(flat.size, limit):
        yield wire.encode_array(flat[begin:end], name=name, subname=subname, type=kind, start=begin)


def parts(message: bytes) -> tuple[Any, Any]:
    """Decode a message to its array or its discrete variable, and None for the other."""
    decoded = wire.decode(message)
    return (decoded, None) if isinstance(decoded, wire.Continuous) else (None, decoded)


def value_of(variable: wire.Discrete) -> Any:
    """Give a discrete value."""
    return variable.value


def copy_out(array: wire.Continuous, flat: Doubles) -> None:
    """Copy the doubles of a message, which are viewed in its bytes, to their place."""
    flat[array.start : array.end + 1] = array.data


class Bytes:
    """What the generated stubs take for the class VariableMessage: messages that are bytes."""

    # None: grpc hands over the bytes themselves.
    FromString = None

    @staticmethod
    def SerializeToString(message: Any) -> bytes:  # noqa: N802 - protobuf's name
        """Give the bytes of a message, which a discrete one still has to become."""
        return message if isinstance(message, bytes) else message.SerializeToString()


class Module:
    """A stand-in for the generated module of messages, all else as it is."""

    VariableMessage = Bytes

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)
