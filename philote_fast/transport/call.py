"""Calls as users see them: what grpcio's own objects are, on a native call."""

from __future__ import annotations

import functools
import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import grpc
from grpc import _channel
from grpc._cython import cygrpc

from philote_fast._core import NativeCall
from philote_fast.transport.connectivity import Events

Metadata = tuple[Any, ...]
Deserializer = Callable[[bytes], Any] | None

# Under grpcio's names: whoever listens for one hears the other.
LOGGER = logging.getLogger("grpc._channel")
COMMON_LOGGER = logging.getLogger("grpc._common")

CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

CANCELLED: int = grpc.StatusCode.CANCELLED.value[0]
INTERNAL: int = grpc.StatusCode.INTERNAL.value[0]
UNKNOWN: int = grpc.StatusCode.UNKNOWN.value[0]
OK = 0

_LOCALLY_CANCELLED = "Locally cancelled by application!"
_ABANDONED = "Cancelled upon garbage collection!"
_UNREADABLE = "Exception deserializing response!"

#: Where grpcio has its own class of pairs, users get those.
_Pair: Callable[[Any, Any], Any] | None = getattr(cygrpc, "_Metadatum", None)


class Outcome(NamedTuple):
    """How a call has ended."""

    code: grpc.StatusCode
    details: str
    trailing_metadata: Metadata
    #: Whether this side has ended the call.
    local: bool = False

    @property
    def debug_error_string(self) -> str | None:
        """What grpcio tells beside the details."""
        if self.local:
            return None
        if self.code is grpc.StatusCode.OK:
            return ""
        details = self.details.replace("\\", "\\\\").replace('"', '\\"')
        number = self.code.value[0]
        return (
            f'UNKNOWN:Error received from peer  {{grpc_message:"{details}", grpc_status:{number}}}'
        )


def pairs(metadata: Metadata) -> Metadata:
    """Return metadata as grpcio's pairs.

    Parameters
    ----------
    metadata : tuple
        Keys and values.
    """
    if _Pair is None or not metadata:
        return metadata
    return tuple(_Pair(key, value) for key, value in metadata)


def outcome_of(native: NativeCall) -> Outcome:
    """Wait for the end of a call.

    Parameters
    ----------
    native : NativeCall
        The call.
    """
    code, details, trailing = native.status()
    return Outcome(CODES[code], details, pairs(trailing))


def error_of(outcome: Outcome, initial_metadata: Metadata = ()) -> grpc.RpcError:
    """Make the exception that grpcio raises for a call that has failed.

    Parameters
    ----------
    outcome : Outcome
        How it ended.
    initial_metadata : tuple, optional
        What came before that.
    """
    state = _channel._RPCState(
        (), initial_metadata, outcome.trailing_metadata, outcome.code, outcome.details
    )
    state.debug_error_string = outcome.debug_error_string
    return _channel._InactiveRpcError(state)


def call_error(native: NativeCall) -> grpc.RpcError:
    """Make the exception for a native call that has failed.

    Parameters
    ----------
    native : NativeCall
        The call. It is waited for.
    """
    return error_of(outcome_of(native), pairs(native.initial_metadata()))


def deserialized(message: bytes, deserializer: Deserializer) -> Any:
    """Parse a response; None, and a line in the log, where that fails.

    Parameters
    ----------
    message : bytes
        The serialised response.
    deserializer : callable, optional
        What parses it.
    """
    if deserializer is None:
        return message
    try:
        return deserializer(message)
    except Exception:
        COMMON_LOGGER.exception("Exception deserializing message!")
        return None


def unreadable() -> Outcome:
    """Return how a call ends whose response cannot be parsed."""
    return Outcome(grpc.StatusCode.INTERNAL, _UNREADABLE, (), local=True)


class Rendezvous(_channel._MultiThreadedRendezvous):  # type: ignore[misc]
    """A call in progress: ``grpc.Call``, ``grpc.Future``, and an iterator of its responses.

    Parameters
    ----------
    native : NativeCall
        The call.
    deserializer : callable, optional
        What parses responses.
    events : Events
        Who calls callbacks.
    single : bool
        Whether the call has one response; ``native.expect_one`` has been called then.
    """

    # A class of grpcio's by name only: users catch errors by it.
    def __init__(
        self,
        native: NativeCall,
        deserializer: Deserializer,
        events: Events,
        single: bool,
    ) -> None:
        self._native = native
        self._deserializer = deserializer
        self._events = events
        self._single = single
        # A signal handler that cancels may interrupt its holder.
        self._lock = threading.RLock()
        self._cancelled = False
        self._response: Any = None
        self._outcome: Outcome | None = None
        #: None once they have been called.
        self._callbacks: list[Callable[[], Any]] | None = []

    def is_active(self) -> bool:
        """See ``grpc.RpcContext.is_active``."""
        return not self.done()

    def time_remaining(self) -> float | None:
        """See ``grpc.RpcContext.time_remaining``."""
        return self._native.time_remaining()

    def cancel(self) -> bool:
        """See ``grpc.RpcContext.cancel``."""
        # A thread that waits for the call sees its end at once, and why it has ended after this.
        with self._lock:
            if self.done() or not self._native.cancel(CANCELLED, _LOCALLY_CANCELLED):
                return False
            self._cancelled = True
            self._end(Outcome(grpc.StatusCode.CANCELLED, _LOCALLY_CANCELLED, (), local=True))
        return True

    def add_callback(self, callback: Callable[[], Any]) -> bool:
        """See ``grpc.RpcContext.add_callback``."""
        if self.done():
            return False
        with self._lock:
            if self._callbacks is None:
                return False
            self._callbacks.append(callback)
            first = len(self._callbacks) == 1
        if first:
            self._events.when_ended(self._native, self._run_callbacks)
        return True

    def add_done_callback(self, fn: Callable[[Any], Any]) -> None:
        """See ``grpc.Future.add_done_callback``."""
        if not self.add_callback(functools.partial(fn, self)):
            fn(self)

    def _run_callbacks(self) -> None:
        with self._lock:
            callbacks, self._callbacks = self._callbacks or [], None
        for callback in callbacks:
            try:
                callback()
            except Exception as error:
                logging.error(
                    "Exception in callback %r: %r", getattr(callback, "func", callback), error
                )

    def cancelled(self) -> bool:
        """See ``grpc.Future.cancelled``."""
        with self._lock:
            return self._cancelled

    def running(self) -> bool:
        """See ``grpc.Future.running``."""
        return not self.done()

    def done(self) -> bool:
        """See ``grpc.Future.done``."""
        return self._outcome is not None or self._native.ended()

    def result(self, timeout: float | None = None) -> Any:
        """See ``grpc.Future.result``."""
        if self._wait(timeout).code is not grpc.StatusCode.OK:
            self._raise()
        return self._response

    def exception(self, timeout: float | None = None) -> Exception | None:
        """See ``grpc.Future.exception``."""
        if self._wait(timeout).code is grpc.StatusCode.OK:
            return None
        if self._cancelled:
            raise grpc.FutureCancelledError
        return self

    def traceback(self, timeout: float | None = None) -> TracebackType | None:
        """See ``grpc.Future.traceback``."""
        if self._wait(timeout).code is grpc.StatusCode.OK:
            return None
        try:
            self._raise()
        except grpc.RpcError:
            return sys.exc_info()[2]

    def _raise(self) -> NoReturn:
        if self._cancelled:
            raise grpc.FutureCancelledError
        raise self

    def _wait(self, timeout: float | None) -> Outcome:
        if self._outcome is None and not self._native.wait_ended(timeout):
            raise grpc.FutureTimeoutError
        return self._known()

    def _known(self) -> Outcome:
        """Return how the call has ended, which is waited for; parse the one response first."""
        if self._outcome is not None:
            return self._outcome
        outcome = outcome_of(self._native)
        with self._lock:
            if self._outcome is None and self._single:
                message = self._native.receive()
                if message is not None:
                    self._response = deserialized(message, self._deserializer)
                    outcome = unreadable() if self._response is None else outcome
        return self._end(outcome)

    def _end(self, outcome: Outcome) -> Outcome:
        with self._lock:
            if self._outcome is None:
                self._outcome = outcome
            return self._outcome

    def initial_metadata(self) -> Metadata:
        """See ``grpc.Call.initial_metadata``."""
        return pairs(self._native.initial_metadata())

    def trailing_metadata(self) -> Metadata:
        """See ``grpc.Call.trailing_metadata``."""
        return self._known().trailing_metadata

    def code(self) -> grpc.StatusCode:
        """See ``grpc.Call.code``."""
        return self._known().code

    def details(self) -> str:
        """See ``grpc.Call.details``."""
        return self._known().details

    def debug_error_string(self) -> str | None:
        """Return what grpcio tells beside the details."""
        return self._known().debug_error_string

    def _next(self) -> Any:
        message = self._native.receive() if self._outcome is None else None
        if message is not None:
            response = deserialized(message, self._deserializer)
            if response is not None:
                return response
            self._native.cancel(INTERNAL, _UNREADABLE)
            self._end(unreadable())
        if self._known().code is grpc.StatusCode.OK:
            raise StopIteration
        raise self

    def _repr(self) -> str:
        # As grpcio's, its name included.
        name = _channel._MultiThreadedRendezvous.__name__
        if not self.done():
            return f"<{name} object>"
        outcome = self._known()
        lines = [f"status = {outcome.code}", f'details = "{outcome.details}"']
        if outcome.code is not grpc.StatusCode.OK:
            lines.append(f'debug_error_string = "{outcome.debug_error_string}"')
        text = "\n\t".join(lines)
        return f"<{name} of RPC that terminated with:\n\t{text}\n>"

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        if native is not None:
            native.cancel(CANCELLED, _ABANDONED)
