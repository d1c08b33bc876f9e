"""Streams of many messages on grpcio's own server, without a hand-over between threads for each.

grpcio wakes the handler's thread for each request and each response. Here the polling thread takes
requests in a row and sends responses in a row; the handler is woken when there is enough to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from grpc import _server
from grpc._cython import cygrpc

from philote_fast.patches.registry import note_fallback

#: The handler is woken for so many bytes: to copy them meanwhile is worth the hand-over.
WAKE_BYTES = 256 * 1024
#: So many bytes are taken at the most before the handler has read them, against a flood.
QUEUE_BYTES = 8 * 1024 * 1024
#: What a request counts for beside its bytes, about what Python needs for it: empty ones can be a
#: flood too.
REQUEST_BYTES = 64
#: A peer may send a request and wait for what becomes of it: after so many seconds the handler
#: reads what has come.
PATIENCE = 0.05

_NO_FLAGS = 0


def requests_of(iterator: Any) -> Iterator[bytes]:
    """Return an iterator over the same requests that wakes its reader more rarely.

    Parameters
    ----------
    iterator : iterator of bytes
        What grpcio gave the handler; another iterator is returned as it is.
    """
    if type(iterator) is _server._RequestIterator:
        return _Requests(iterator._state, iterator._call)
    note_fallback("the server's requests", f"they are a {type(iterator).__qualname__}")
    return iterator  # type: ignore[no-any-return]


class _Requests:
    """The requests of one call, taken by the polling thread."""

    def __init__(self, state: Any, call: Any) -> None:
        self._state = state
        self._call = call
        self._taken: deque[bytes] = deque()
        self._bytes = 0
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with self._state.condition:
            if not self._taken:
                self._wait()
            request = self._taken.popleft()
            self._bytes -= _size(request)
            return request

    def _wait(self) -> None:
        """Wait for requests, or raise as grpcio does where no more can come."""
        state = self._state
        while not self._taken or (self._bytes < WAKE_BYTES and self._is_reading):
            if state.client is _server._CANCELLED:
                _server._raise_rpc_error(state)
            if not self._is_reading:
                if self._ended or not _server._is_rpc_state_active(state):
                    raise StopIteration
                self._call.start_server_batch(_receiving(), self._receive)
                state.due.add(_server._RECEIVE_MESSAGE_TOKEN)
            if not state.condition.wait(PATIENCE) and self._taken:
                return

    @property
    def _is_reading(self) -> bool:
        return _server._RECEIVE_MESSAGE_TOKEN in self._state.due

    def _receive(self, event: Any) -> Any:
        """Take a request, in the polling thread, which nothing may raise in."""
        state = self._state
        with state.condition:
            request = _server._serialized_request(event)
            if request is None:
                self._ended = True
                if state.client is _server._OPEN:
                    state.client = _server._CLOSED
            else:
                self._taken.append(request)
                self._bytes += _size(request)
                if self._bytes >= WAKE_BYTES:
                    state.condition.notify_all()
                if self._bytes < QUEUE_BYTES and _again(
                    state, self._call, _receiving(), self._receive
                ):
                    return None, ()
            state.condition.notify_all()
            return _server._possibly_finish_call(state, _server._RECEIVE_MESSAGE_TOKEN)


def send_all(context: Any, responses: Iterable[bytes]) -> Iterator[bytes]:
    """Send the responses of a call.

    Parameters
    ----------
    context : grpc.ServicerContext
        The context that grpcio gave the handler.
    responses : iterable of bytes
        The serialised responses.

    Returns
    -------
    iterator of bytes
        The responses that are left for grpcio itself to send: none, where the context is its own.
    """
    if type(context) is not _server._Context:
        note_fallback("the server's responses", f"the context is a {type(context).__qualname__}")
        return iter(responses)
    _Responses(context, responses).send()
    return iter(())


class _Responses:
    """The responses of one call, sent by the polling thread."""

    def __init__(self, context: Any, responses: Iterable[bytes]) -> None:
        self._state = context._state
        self._call = context._rpc_event.call
        self._batches = map(_sending, responses)

    def send(self) -> None:
        """Send all of them, or those that still can be sent."""
        state = self._state
        with state.condition:
            batch = next(self._batches, None)
            if batch is None or not _server._is_rpc_state_active(state):
                return
            if state.initial_metadata_allowed:
                batch = (_server._get_initial_metadata_operation(state, None), *batch)
                state.initial_metadata_allowed = False
            self._call.start_server_batch(batch, self._sent)
            state.due.add(_server._SEND_MESSAGE_TOKEN)
            while _server._SEND_MESSAGE_TOKEN in state.due:
                state.condition.wait()

    def _sent(self, event: Any) -> Any:
        """Send the next one, in the polling thread, which nothing may raise in."""
        state = self._state
        with state.condition:
            batch = next(self._batches, None)
            if batch is not None and _again(state, self._call, batch, self._sent):
                return None, ()
            state.condition.notify_all()
            return _server._possibly_finish_call(state, _server._SEND_MESSAGE_TOKEN)


def _size(request: bytes) -> int:
    return len(request) + REQUEST_BYTES


def _receiving() -> tuple[Any, ...]:
    # A new operation each time: it holds what it has received.
    return (cygrpc.ReceiveMessageOperation(_NO_FLAGS),)


def _sending(response: bytes) -> tuple[Any, ...]:
    return (cygrpc.SendMessageOperation(response, _NO_FLAGS),)


def _again(state: Any, call: Any, batch: tuple[Any, ...], tag: Any) -> bool:
    """Start another batch under the token that is due, and say whether that could be done."""
    if not _server._is_rpc_state_active(state):
        return False
    try:
        call.start_server_batch(batch, tag)
    except Exception:
        # The call is gone; the handler finds out from its state.
        return False
    return True
