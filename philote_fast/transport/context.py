"""What a handler of the native server learns of its call, and what it may say of its outcome."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import grpc

from philote_fast._core import NativeServerCall

#: grpcio's own logger: whoever filters or formats its messages gets these too.
LOGGER = logging.getLogger("grpc._server")

#: What grpcio tells a handler whose caller has set no deadline.
_NO_DEADLINE = 9.223372035e18

_CODES: dict[Any, int] = {code: code.value[0] for code in grpc.StatusCode}
_UNKNOWN = _CODES[grpc.StatusCode.UNKNOWN]

_INITIAL_METADATA_SENT = "Initial metadata no longer allowed!"


class Metadatum(NamedTuple):
    """One pair of metadata, as grpcio gives it to handlers."""

    key: str
    value: str | bytes


def code_number(code: Any) -> int:
    """Return the number of a status code.

    Parameters
    ----------
    code : grpc.StatusCode or None
        The code; None is OK. Anything else is sent as UNKNOWN, as grpcio does.
    """
    return 0 if code is None else _CODES.get(code, _UNKNOWN)


def encoded(text: str | bytes) -> bytes:
    """Return the bytes of a status message."""
    return text if isinstance(text, bytes) else text.encode("utf8")


class Context(grpc.ServicerContext):  # type: ignore[misc]
    """A call as its handler sees it.

    Parameters
    ----------
    call : NativeServerCall
        The call.
    """

    # Defaults live in the class: most calls set none of them.
    _code: Any = None
    _details: bytes | None = None
    _trailing: Any = None
    _aborted = False
    _compression: Any = None
    _next_is_plain = False
    _callbacks: list[Callable[[], Any]] | None = None
    _raised: tuple[Exception, ...] = ()

    #: Held while callbacks are added or taken; calls that have none do without a lock of their own.
    _callbacks_lock = threading.Lock()

    def __init__(self, call: NativeServerCall) -> None:
        self._call = call

    def is_active(self) -> bool:
        """Say whether the call has neither been answered nor cancelled."""
        return self._call.is_active()

    def time_remaining(self) -> float:
        """Return the seconds that are left; about 9e18 where the caller has set no deadline."""
        remaining = self._call.time_remaining()
        return _NO_DEADLINE if remaining is None else remaining

    def cancel(self) -> None:
        """Cancel the call; its caller gets CANCELLED."""
        self._call.cancel()

    def add_callback(self, callback: Callable[[], Any]) -> bool:
        """Have a function called when the call ends, or return False if it has ended."""
        with self._callbacks_lock:
            if self._callbacks is None:
                if not self._call.watch(self):
                    return False
                self._callbacks = []
            elif self._callbacks is _RUN:
                return False
            self._callbacks.append(callback)
            return True

    def run_callbacks(self) -> None:
        """Call the callbacks, once the call has ended."""
        with self._callbacks_lock:
            callbacks, self._callbacks = self._callbacks, _RUN
        for callback in callbacks or ():
            try:
                callback()
            except Exception:
                LOGGER.exception("Exception calling callback!")

    def invocation_metadata(self) -> tuple[Metadatum, ...]:
        """Return the metadata that the caller has sent."""
        return tuple(map(Metadatum._make, self._call.metadata))

    def peer(self) -> str:
        """Return the address of the caller, such as ``ipv4:127.0.0.1:50051``."""
        return self._call.peer

    def peer_identities(self) -> Sequence[bytes] | None:
        """Return what the caller's certificate calls it, or None."""
        key = self.peer_identity_key()
        return None if key is None else self._call.auth_context[key]

    def peer_identity_key(self) -> str | None:
        """Return the entry of the ``auth_context`` that identifies the caller, or None."""
        properties = self._call.auth_context
        keys = ("x509_subject_alternative_name", "x509_common_name")
        return next((key for key in keys if properties.get(key)), None)

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Return what is known of the connection's security."""
        return self._call.auth_context

    def set_compression(self, compression: grpc.Compression) -> None:
        """Compress the responses, where the caller takes them so."""
        self._call.set_compression(int(compression))

    def disable_next_message_compression(self) -> None:
        """Send the next response as it is."""
        self._next_is_plain = True

    def send_initial_metadata(self, initial_metadata: Any) -> None:
        """Send initial metadata now, before the first response."""
        sent = self._call.send_initial_metadata(_pairs(initial_metadata))
        if sent is None:
            raise self.rpc_error()
        if not sent:
            raise ValueError(_INITIAL_METADATA_SENT)

    def set_trailing_metadata(self, trailing_metadata: Any) -> None:
        """Set the metadata that is sent with the status."""
        self._trailing = trailing_metadata

    def trailing_metadata(self) -> Any:
        """Return the metadata that will be sent with the status."""
        return self._trailing

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        """End the call with an error, by raising an exception."""
        if code == grpc.StatusCode.OK:
            LOGGER.error("abort() called with StatusCode.OK; returning UNKNOWN")
            code, details = grpc.StatusCode.UNKNOWN, ""
        self._code = code
        self._details = encoded(details)
        self._aborted = True
        raise Exception()

    def abort_with_status(self, status: grpc.Status) -> NoReturn:
        """End the call with a status, by raising an exception."""
        self._trailing = status.trailing_metadata
        self.abort(status.code, status.details)

    def set_code(self, code: grpc.StatusCode) -> None:
        """Set the code of the status."""
        self._code = code

    def code(self) -> Any:
        """Return the code of the status, or None where none was set."""
        return self._code

    def set_details(self, details: str) -> None:
        """Set the message of the status."""
        self._details = encoded(details)

    def details(self) -> bytes | None:
        """Return the message of the status, or None where none was set."""
        return self._details

    @property
    def was_aborted(self) -> bool:
        """Whether ``abort`` has been called."""
        return self._aborted

    def rpc_error(self) -> grpc.RpcError:
        """Return the exception that tells a handler that its caller is gone."""
        error = grpc.RpcError()
        self._raised = (*self._raised, error)
        return error

    def has_raised(self, error: BaseException) -> bool:
        """Say whether an exception is one that told a handler that its caller is gone."""
        return error in self._raised

    def takes_compression(self) -> bool:
        """Say whether the next response may be compressed; the one after it may."""
        if not self._next_is_plain:
            return True
        self._next_is_plain = False
        return False

    def finish(self) -> None:
        """End the call as its handler has set it, with OK where nothing was set."""
        if self._code is None and self._details is None and self._trailing is None:
            self._call.finish(0, b"", ())
        else:
            self._end(code_number(self._code), self._details or b"")

    def fail(self, code: grpc.StatusCode, details: str) -> None:
        """End the call with an error; what the handler has set goes before it."""
        number = code_number(code if self._code is None else self._code)
        self._end(number, encoded(details) if self._details is None else self._details)

    def _end(self, code: int, details: bytes) -> None:
        try:
            self._call.finish(code, details, _pairs(self._trailing))
        except (TypeError, ValueError) as error:
            # grpcio lets the caller wait for ever.
            LOGGER.exception("Trailing metadata cannot be sent")
            text = f"Trailing metadata cannot be sent: {error}"
            self._call.finish(_CODES[grpc.StatusCode.INTERNAL], text.encode(), ())


#: What stands for the callbacks once they have been called.
_RUN: list[Callable[[], Any]] = []


def _pairs(metadata: Any) -> tuple[Any, ...]:
    return () if metadata is None else tuple(metadata)
