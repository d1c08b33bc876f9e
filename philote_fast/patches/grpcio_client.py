"""A call of many messages on grpcio's own channel, driven by the thread that waits for it.

grpcio hands each message of a stream from thread to thread: one polls, one sends, one waits. In a
call of many small messages these hand-overs are nearly all of its time. The channel can also give a
call an event queue of its own, as grpcio's blocking calls have it; then one thread does it all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

import grpc
from grpc import _channel, _common
from grpc._cython import cygrpc

from philote_fast._core import CallRecord

_NO_FLAGS = 0
_CANCELLED = "Locally cancelled by application!"
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
    record : CallRecord or Unrecorded
        What is recorded of the call, for ``stats()``.

    Raises
    ------
    grpc.RpcError
        From the iteration, if the call fails: with its code, details and metadata.
    """

    #: What makes a response of its bytes; None where they are wanted as they are.
    deserializer: Callable[[bytes], Any] | None = None

    def __init__(
        self, method: Any, requests: Iterable[bytes], record: CallRecord | Unrecorded
    ) -> None:
        self.record: Any = record
        self._requests = iter(requests)
        self._all_sent = False
        # Whether ``due`` is what grpcio's own call has due. Not so while either of them changes: a
        # signal handler may raise at any point of that, and nobody can say on which side of it.
        self._in_step = True
        due = (_Due.receive_initial_metadata, _Due.receive_status_on_client)
        self._state = _channel._RPCState(due, None, None, None, None)
        self._state.rpc_start_time = time.perf_counter()
        self._state.method = _common.decode(method._method)
        self._state.target = _common.decode(method._target)
        self._call = _create(method)
        try:
            self._send(_opening())
            self._receive()
        except BaseException:
            self.cancel()
            raise

    def __enter__(self) -> Call:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._state.due or not self._in_step:
            self.cancel()

    def __del__(self) -> None:
        # A signal handler that raises just before the ``with`` block leaves a call to this.
        if hasattr(self, "_call") and self._state.due:
            self.cancel()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        state = self._state
        while state.response is None:
            if not state.due:
                self._end()
            self._advance()
        response = state.response
        state.response = None
        self._receive()
        return response

    def cancel(self) -> None:
        """Cancel the call, so that the peer stops, and take its last events off the queue.

        Where a signal handler has raised in the middle of it all, an event may be due that has been
        taken already; then the rest is left on the queue, and costs some memory.
        """
        self._all_sent = True
        self.record.fail()
        if self._state.code is None or not self._in_step:
            code = _common.STATUS_CODE_TO_CYGRPC_STATUS_CODE[grpc.StatusCode.CANCELLED]
            self._call.cancel(code, _CANCELLED)
        while self._in_step and self._state.due:
            self._advance()
        # Not to be waited for: an event that never comes, or a queue that is no more.
        self._state.due.clear()
        _channel._abort(self._state, grpc.StatusCode.CANCELLED, _CANCELLED)

    def _end(self) -> None:
        if self._state.code is grpc.StatusCode.OK:
            raise StopIteration
        self.record.fail()
        raise self._error()

    def _error(self) -> BaseException:
        error: BaseException = _channel._InactiveRpcError(self._state)
        return error

    def _advance(self) -> None:
        """Wait for the next event of the call."""
        state = self._state
        self._in_step = False
        # Where a signal handler raises in here grpcio has often, but not always, ended the call.
        for callback in _channel._handle_event(self._call.next_event(), state, self.deserializer):
            callback()
        self._in_step = True
        if not self._all_sent and state.code is None and _Due.send_message not in state.due:
            self._send()

    def _send(self, *opening: Any) -> None:
        request = next(self._requests, None)
        if request is None:
            self._all_sent = True
            self._operate(*opening, cygrpc.SendCloseFromClientOperation(_NO_FLAGS))
        else:
            self._operate(*opening, cygrpc.SendMessageOperation(request, _NO_FLAGS))

    def _receive(self) -> None:
        if self._state.code is None:
            # A new one each time: an operation holds what it has received.
            self._operate(cygrpc.ReceiveMessageOperation(_NO_FLAGS))

    def _operate(self, *operations: Any) -> None:
        # In this order, as grpcio does: an event never comes for what is not due.
        due = self._state.due
        self._in_step = False
        for operation in operations:
            due.add(operation.type())
        if not self._call.operate(operations, None):
            due.difference_update(operation.type() for operation in operations)
        self._in_step = True


class Unrecorded:
    """Stands for the record of a call that ``stats()`` does not count."""

    def fail(self) -> None:
        """Do nothing."""


class Listing(Call):
    """A call whose responses are messages, and whose error is what grpcio's own iterator raises.

    Parameters
    ----------
    method : grpc.UnaryStreamMultiCallable
        Made by grpcio's own channel.
    requests : iterable of bytes
        The one serialised request.
    """

    def __init__(self, method: Any, requests: Iterable[bytes]) -> None:
        self.deserializer = method._response_deserializer
        super().__init__(method, requests, Unrecorded())

    def _error(self) -> BaseException:
        error: BaseException = _channel._MultiThreadedRendezvous(
            self._state, self._call, self.deserializer, None
        )
        return error


def _create(method: Any) -> Any:
    """Create a call with a queue of its own, of which the peer knows nothing before it is opened.

    A signal handler that raises in here leaves a call that nobody can cancel.
    """
    status = cygrpc.ReceiveStatusOnClientOperation(_NO_FLAGS)
    answer = cygrpc.ReceiveInitialMetadataOperation(_NO_FLAGS)
    return method._channel.segregated_call(
        cygrpc.PropagationConstants.GRPC_PROPAGATE_DEFAULTS,
        method._method,
        None,
        _channel._determine_deadline(None),
        None,
        None,
        (((status,), None), ((answer,), None)),
        method._context,
        method._registered_call_handle,
    )


def _opening() -> Any:
    """Return what opens a call as the method itself would without arguments."""
    metadata = _channel._compression.augment_metadata(None, None)
    flags = _channel._InitialMetadataFlags().with_wait_for_ready(None)
    return cygrpc.SendInitialMetadataOperation(metadata, flags)
