"""Requests on their way into a call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from philote_fast._core import NativeCall
from philote_fast.transport.call import (
    COMMON_LOGGER,
    INTERNAL,
    LOGGER,
    UNKNOWN,
    Outcome,
    error_of,
)

Serializer = Callable[[Any], bytes] | None

_UNSERIALIZABLE = "Exception serializing request!"
_ITERATING = "Exception iterating requests!"

#: Iterators over what is there already: nothing is waited for in them, and no user's code runs.
_AT_HAND: tuple[type, ...] = (type(iter([])), type(iter(())))

#: More than this is sent by a thread, since the peer may have to take some of it first.
_AT_ONCE = 1 << 20


def the_request(request: Any, serializer: Serializer) -> bytes:
    """Serialise the only request of a call.

    Parameters
    ----------
    request : object
        The request.
    serializer : callable, optional
        What serialises it.

    Raises
    ------
    grpc.RpcError
        INTERNAL, if it cannot be serialised.
    TypeError
        If what comes of it is not bytes.
    """
    message = _serialized(request, serializer)
    if message is None:
        raise error_of(Outcome(grpc.StatusCode.INTERNAL, _UNSERIALIZABLE, (), local=True))
    return message


def send_all(native: NativeCall, requests: Iterator[Any], serializer: Serializer) -> None:
    """Send the requests of a call, by a thread unless they are at hand.

    Parameters
    ----------
    native : NativeCall
        The call.
    requests : iterator
        The requests.
    serializer : callable, optional
        What serialises each.
    """
    if type(requests) in _AT_HAND and _send_at_once(native, requests, serializer):
        return
    # The peer sees the call before the first request: it may be long in coming.
    native.flush()
    threading.Thread(
        target=_send_each,
        args=(native, requests, serializer),
        name="philote-fast requests",
        daemon=True,
    ).start()


def _send_at_once(native: NativeCall, requests: Iterator[Any], serializer: Serializer) -> bool:
    """Send requests that are at hand. False: there are more than can be sent without waiting."""
    messages = []
    size = 0
    for request in requests:
        message = _next_message(native, request, serializer)
        if message is None:
            return True
        messages.append(message)
        size += len(message)
        if size > _AT_ONCE:
            native.send_all(messages)
            return False
    native.send_all(messages, True)
    return True


def _send_each(native: NativeCall, requests: Iterator[Any], serializer: Serializer) -> None:
    while not native.ended():
        try:
            request = next(requests)
        except StopIteration:
            native.half_close()
            return
        except Exception:
            LOGGER.exception(_ITERATING)
            native.cancel(UNKNOWN, _ITERATING)
            return
        message = _next_message(native, request, serializer)
        if message is None or not native.send(message):
            return


def _next_message(native: NativeCall, request: Any, serializer: Serializer) -> bytes | None:
    """Serialise a request; where that fails the call ends."""
    try:
        message = _serialized(request, serializer)
    except TypeError:
        COMMON_LOGGER.exception("Exception serializing message!")
        message = None
    if message is None:
        native.cancel(INTERNAL, _UNSERIALIZABLE)
    return message


def _serialized(request: Any, serializer: Serializer) -> bytes | None:
    """Serialise a request; None, and a line in the log, where that fails.

    A TypeError says that what came of it is not bytes.
    """
    message = request
    if serializer is not None:
        try:
            message = serializer(request)
        except Exception:
            COMMON_LOGGER.exception("Exception serializing message!")
            return None
    if message is not None and not isinstance(message, bytes):
        name = type(message).__name__
        raise TypeError(f"Argument 'message' has incorrect type (expected bytes, got {name})")
    return message
