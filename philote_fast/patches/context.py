"""A servicer context whose error texts always reach the client.

gRPC sends a status message as a header, percent-encoded, and a peer refuses headers of more than
8 KiB: the client then learns that headers were too large, but neither the error's code nor its
text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import grpc

#: The most bytes that a status message may take after percent-encoding. A grpcio client takes 8,192
#: bytes of headers, of which gRPC itself needs 190; the rest is for trailing metadata.
MESSAGE_LIMIT = 6144

# Trailing metadata up to this size fits beside the longest message. More makes the message shorter,
# though never shorter than can say something.
_METADATA_ROOM = 1536
_SHORTEST_LIMIT = 512

# What HTTP/2 counts for a header beside its name and value (RFC 7541, section 4.1).
_HEADER_OVERHEAD = 32

# Bytes that percent-encoding leaves as they are; each other byte becomes three.
_PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte != ord("%"))
_ESCAPE = 3


def cut(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Shorten a status message so that it fits into a header.

    Parameters
    ----------
    text : str
        The message.
    limit : int, optional
        The most bytes that it may take once it is percent-encoded.

    Returns
    -------
    str
        The message itself if it fits; else its head and its tail with a note of how much was cut.
    """
    if len(text) <= limit and _encoded_size(text) <= limit:
        return text
    # The cause stands in front or, in a traceback or a compiler's output, at the end.
    room = max(limit - _encoded_size(_note(len(text))), 0)
    head = _fitting(text[:room], room * 2 // 3)
    tail = _fitting(text[len(text) - room :][::-1], room - room * 2 // 3)
    return text[:head] + _note(len(text) - head - tail) + text[len(text) - tail :]


def _note(count: int) -> str:
    return f" ... [{count} characters cut] ... "


def _encoded_size(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    escaped = len(data.translate(None, _PLAIN))
    return len(data) + escaped * (_ESCAPE - 1)


def _fitting(text: str, room: int) -> int:
    """Count the leading characters that fit into so many bytes."""
    for count, character in enumerate(text):
        room -= _encoded_size(character)
        if room < 0:
            return count
    return len(text)


def _value_size(value: str | bytes) -> int:
    # Bytes travel in base64.
    return -(-len(value) // 3) * 4 if isinstance(value, bytes) else len(value)


class _Status(NamedTuple):
    """What ``abort_with_status`` reads of a ``grpc.Status``."""

    code: Any
    details: Any
    trailing_metadata: Any


def _as_real(name: str) -> Callable[..., Any]:
    """Make a method that is the real context's own."""

    def method(self: SafeContext, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._real, name)(*args, **kwargs)

    method.__name__ = name
    return method


class SafeContext(grpc.ServicerContext):  # type: ignore[misc]
    """A servicer context that cuts error texts to what gRPC can carry.

    All else is the real context's, attributes included that it alone has.

    Parameters
    ----------
    real : grpc.ServicerContext
        The context of the call.
    """

    _real: Any

    def __init__(self, real: Any) -> None:
        object.__setattr__(self, "_real", real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)

    is_active = _as_real("is_active")
    time_remaining = _as_real("time_remaining")
    cancel = _as_real("cancel")
    add_callback = _as_real("add_callback")
    invocation_metadata = _as_real("invocation_metadata")
    peer = _as_real("peer")
    peer_identities = _as_real("peer_identities")
    peer_identity_key = _as_real("peer_identity_key")
    auth_context = _as_real("auth_context")
    set_compression = _as_real("set_compression")
    disable_next_message_compression = _as_real("disable_next_message_compression")
    send_initial_metadata = _as_real("send_initial_metadata")
    set_trailing_metadata = _as_real("set_trailing_metadata")
    trailing_metadata = _as_real("trailing_metadata")
    set_code = _as_real("set_code")
    code = _as_real("code")
    details = _as_real("details")

    def set_details(self, details: Any) -> None:
        """Set the status message, cut to what fits."""
        self._real.set_details(self._cut(details))

    def abort(self, code: Any, details: Any) -> None:
        """End the call with an error, its text cut to what fits."""
        self._real.abort(code, self._cut(details))

    def abort_with_status(self, status: Any) -> None:
        """End the call with a status, its text cut to what fits."""
        metadata = status.trailing_metadata
        details = self._cut(status.details, metadata)
        if details != status.details:
            status = _Status(status.code, details, metadata)
        self._real.abort_with_status(status)

    def explain(self, details: str) -> None:
        """Give a status message to a call that has none yet, if gRPC's own would not fit.

        Parameters
        ----------
        details : str
            The message as gRPC would send it.
        """
        fitting = self._cut(details)
        if fitting != details and not self._has_details():
            self._real.set_details(fitting)

    def _has_details(self) -> bool:
        try:
            return self._real.details() is not None
        except NotImplementedError:
            return False

    def _cut(self, details: Any, metadata: Any = None) -> Any:
        if not isinstance(details, str):
            return details
        excess = self._metadata_size(metadata) - _METADATA_ROOM
        return cut(details, max(MESSAGE_LIMIT - max(excess, 0), _SHORTEST_LIMIT))

    def _metadata_size(self, metadata: Any) -> int:
        try:
            pairs = metadata or self._real.trailing_metadata() or ()
            return sum(len(name) + _value_size(value) + _HEADER_OVERHEAD for name, value in pairs)
        except (NotImplementedError, TypeError, ValueError):
            # No metadata that can be measured. gRPC will say what is wrong with it.
            return 0


def original(context: Any) -> Any:
    """Return the context that gRPC made.

    Parameters
    ----------
    context : grpc.ServicerContext
        A ``SafeContext``, or any other, which is returned as it is.
    """
    return context._real if type(context) is SafeContext else context
