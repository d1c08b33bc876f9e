"""A call of many messages on grpcio's own channel, driven by the thread that waits for it.

grpcio hands each message of a stream from thread to thread: one polls, one sends, one waits. In a
call of many small messages these hand-overs are nearly all of its time. The channel can also give a
call an event queue of its own, as grpcio's blocking calls have it; then one thread does it all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

import grpc
from grpc import _channel, _common
from grpc._cython import cygrpc

_NO_FLAGS = 0
_Due = cygrpc.OperationType


class Call:
    """One call: its requests are sent while its responses are iterated over.

    Leaving its ``with`` block by an exception cancels what is left of it.

    Parameters
    ----------
    method : grpc.StreamStreamMultiCallable or grpc.StreamUnaryMultiCallable
        Made by grpcio's own channel.
    requests : iterable of bytes
        The serialised requests.

    Raises
    ------
    grpc.RpcError
        From the iteration, if the call fails: with its code, details and metadata.
    """

    def __init__(self, method: Any, requests: Iterable[bytes]) -> None:
        self._requests = iter(requests)
        self._all_sent = False
        # Whether what is due is what grpcio will report: not while a signal could come between.
        self._settled = False
        due = _channel._STREAM_STREAM_INITIAL_DUE
        self._state = _channel._RPCState(due, None, None, None, None)
        self._state.rpc_start_time = time.perf_counter()
        self._state.method = _common.decode(method._method)
        self._state.target = _common.decode(method._target)
        self._call = _start(method)
        self._send()
        self._receive()

    def __enter__(self) -> Call:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._state.due:
            self.cancel()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        state = self._state
        while state.response is None:
            if not state.due:
                self._end()
            self._advance()
        response: bytes = state.response
        state.response = None
        self._receive()
        return response

    def cancel(self) -> None:
        """Cancel the call, so that the peer stops, and take its last events off the queue.

        Where a signal handler has raised in the middle of an event's handling, an event may be due
        that has been taken already; then the channel takes care of the queue when it closes.
        """
        self._all_sent = True
        if self._state.code is None:
            code = _common.STATUS_CODE_TO_CYGRPC_STATUS_CODE[grpc.StatusCode.CANCELLED]
            self._call.cancel(code, "Locally cancelled by application!")
        while self._settled and self._state.due:
            self._advance()

    def _end(self) -> None:
        if self._state.code is grpc.StatusCode.OK:
            raise StopIteration
        raise _channel._InactiveRpcError(self._state)

    def _advance(self) -> None:
        """Wait for the next event of the call."""
        state = self._state
        self._settled = False
        try:
            event = self._call.next_event()
        except BaseException:
            # A signal handler has raised, and grpcio has ended the call.
            state.due.clear()
            raise
        for callback in _channel._handle_event(event, state, None):
            callback()
        self._settled = True
        if not self._all_sent and state.code is None and _Due.send_message not in state.due:
            self._send()

    def _send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._all_sent = True
            operation = cygrpc.SendCloseFromClientOperation(_NO_FLAGS)
            self._operate(_Due.send_close_from_client, operation)
        else:
            operation = cygrpc.SendMessageOperation(request, _NO_FLAGS)
            self._operate(_Due.send_message, operation)

    def _receive(self) -> None:
        if self._state.code is None:
            # A new one each time: an operation holds what it has received.
            operation = cygrpc.ReceiveMessageOperation(_NO_FLAGS)
            self._operate(_Due.receive_message, operation)

    def _operate(self, due: Any, operation: Any) -> None:
        self._settled = False
        # In this order, as grpcio does: an event never comes for what is not due.
        self._state.due.add(due)
        if not self._call.operate((operation,), None):
            self._state.due.remove(due)
        self._settled = True


def _start(method: Any) -> Any:
    """Begin a call as the method itself would without arguments, but with a queue of its own."""
    metadata = _channel._compression.augment_metadata(None, None)
    flags = _channel._InitialMetadataFlags().with_wait_for_ready(None)
    opening = cygrpc.SendInitialMetadataOperation(metadata, flags)
    status = cygrpc.ReceiveStatusOnClientOperation(_NO_FLAGS)
    answer = cygrpc.ReceiveInitialMetadataOperation(_NO_FLAGS)
    return method._channel.segregated_call(
        cygrpc.PropagationConstants.GRPC_PROPAGATE_DEFAULTS,
        method._method,
        None,
        None,
        metadata,
        None,
        (((opening, status), None), ((answer,), None)),
        method._context,
        method._registered_call_handle,
    )
