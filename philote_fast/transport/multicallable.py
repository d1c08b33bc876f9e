"""Methods of a remote service, to be called."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc
from grpc._cython import cygrpc

from philote_fast._core import NativeCall, NativeChannel
from philote_fast.transport.call import (
    Deserializer,
    Rendezvous,
    call_error,
    deserialized,
    error_of,
    outcome_of,
    pairs,
    unreadable,
)
from philote_fast.transport.connectivity import Events
from philote_fast.transport.credentials import (
    CallCredentialsError,
    ChannelSecurity,
    call_plugins,
    plugin_metadata,
)
from philote_fast.transport.requests import Serializer, send_all, the_request

_CLOSED = "Cannot invoke RPC on closed channel!"
_CLOSED_FUTURE = "Cannot invoke RPC: Channel closed!"

#: What any two channels may compress by; an unknown one is a KeyError, as with grpcio.
_COMPRESSIONS = {int(compression): int(compression) for compression in grpc.Compression}


class Core:
    """What the methods of a channel share.

    Parameters
    ----------
    native : NativeChannel
        The channel.
    security : ChannelSecurity or None
        What its credentials come to; None without any.
    compression : int
        How messages are compressed unless a call says otherwise.
    """

    def __init__(
        self, native: NativeChannel, security: ChannelSecurity | None, compression: int
    ) -> None:
        self.native = native
        self.events = Events(native)
        self.compression = compression
        self.closed = False
        self._secure = security is not None and security.tls is not None
        self.plugins = () if security is None else security.plugins

    def credentials_metadata(
        self, credentials: grpc.CallCredentials | None, method: str, timeout: float | None
    ) -> tuple[Any, ...]:
        """Return the metadata that the channel's credentials, and a call's own, add to a call.

        Parameters
        ----------
        credentials : grpc.CallCredentials or None
            The call's own.
        method : str
            The call's method.
        timeout : float or None
            The call's time, in seconds.

        Raises
        ------
        CallCredentialsError
            If they cannot be had.
        """
        return plugin_metadata(
            (*self.plugins, *call_plugins(credentials)),
            secure=self._secure,
            authority=self.native.authority,
            path=method,
            timeout=timeout,
        )


class _Method:
    """One method. Its fields are named as those of grpcio's own."""

    def __init__(
        self, core: Core, method: str | bytes, serializer: Serializer, deserializer: Deserializer
    ) -> None:
        self._core = core
        self._method = method.decode() if isinstance(method, bytes) else method
        self._request_serializer = serializer
        self._response_deserializer = deserializer

    def begin(self) -> NativeCall:
        """Begin a call of which everything is left at its default."""
        core = self._core
        if core.closed or core.plugins or cygrpc.get_deadline_from_context() is not None:
            return self._start(None, None, None, None, None)
        return core.native.start(self._method, (), None, False, core.compression)

    def _start(
        self,
        timeout: float | None,
        metadata: Any,
        credentials: grpc.CallCredentials | None,
        wait_for_ready: bool | None,
        compression: grpc.Compression | None,
        closed: str = _CLOSED,
    ) -> NativeCall:
        core = self._core
        if core.closed:
            raise ValueError(closed)
        timeout = _least(timeout, _parent_deadline())
        pairs_to_send = () if metadata is None else metadata
        refused = None
        if core.plugins or credentials is not None:
            try:
                added = core.credentials_metadata(credentials, self._method, timeout)
                pairs_to_send = (*pairs_to_send, *added)
            except CallCredentialsError as error:
                refused = error
        native = core.native.start(
            self._method,
            pairs_to_send,
            timeout,
            bool(wait_for_ready),
            _COMPRESSIONS[int(compression)] if compression else core.compression,
        )
        if refused is not None:
            native.cancel(refused.code.value[0], refused.details)
        return native

    def _rendezvous(self, native: NativeCall, single: bool) -> Rendezvous:
        return Rendezvous(native, self._response_deserializer, self._core.events, single)

    def _finish(self, native: NativeCall, message: bytes | None) -> Any:
        """Return the one response of a call that has ended well."""
        if message is None:
            return None
        response = deserialized(message, self._response_deserializer)
        if response is None:
            raise error_of(unreadable(), pairs(native.initial_metadata()))
        return response


class UnaryUnary(_Method, grpc.UnaryUnaryMultiCallable):  # type: ignore[misc]
    """See ``grpc.UnaryUnaryMultiCallable``."""

    def __call__(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        """Call the method and wait for the response."""
        message = the_request(request, self._request_serializer)
        native = self._start(timeout, metadata, credentials, wait_for_ready, compression)
        return self._exchange(native, message)

    def with_call(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> tuple[Any, grpc.Call]:
        """Call the method, and return the response with the call."""
        message = the_request(request, self._request_serializer)
        native = self._start(timeout, metadata, credentials, wait_for_ready, compression)
        response = self._exchange(native, message)
        return response, _ended(self._rendezvous(native, False), response)

    def _exchange(self, native: NativeCall, message: bytes) -> Any:
        answer, code = native.exchange(message)
        if code:
            raise call_error(native)
        return self._finish(native, answer)

    def future(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Rendezvous:
        """Call the method without waiting."""
        message = the_request(request, self._request_serializer)
        native = self._start(
            timeout, metadata, credentials, wait_for_ready, compression, _CLOSED_FUTURE
        )
        native.expect_one()
        rendezvous = self._rendezvous(native, True)
        native.send(message, True)
        return rendezvous


class UnaryStream(_Method, grpc.UnaryStreamMultiCallable):  # type: ignore[misc]
    """See ``grpc.UnaryStreamMultiCallable``."""

    def __call__(
        self,
        request: Any,
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Rendezvous:
        """Call the method, and return the iterator of its responses."""
        message = the_request(request, self._request_serializer)
        native = self._start(
            timeout, metadata, credentials, wait_for_ready, compression, _CLOSED_FUTURE
        )
        rendezvous = self._rendezvous(native, False)
        native.send(message, True)
        return rendezvous


class StreamUnary(_Method, grpc.StreamUnaryMultiCallable):  # type: ignore[misc]
    """See ``grpc.StreamUnaryMultiCallable``."""

    def __call__(
        self,
        request_iterator: Iterator[Any],
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Any:
        """Call the method and wait for the response."""
        native = self._start(timeout, metadata, credentials, wait_for_ready, compression)
        return self._exchange(native, request_iterator)

    def with_call(
        self,
        request_iterator: Iterator[Any],
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> tuple[Any, grpc.Call]:
        """Call the method, and return the response with the call."""
        native = self._start(timeout, metadata, credentials, wait_for_ready, compression)
        response = self._exchange(native, request_iterator)
        return response, _ended(self._rendezvous(native, False), response)

    def _exchange(self, native: NativeCall, requests: Iterator[Any]) -> Any:
        native.expect_one()
        try:
            send_all(native, requests, self._request_serializer)
            answer = native.receive()
            outcome = outcome_of(native)
        except BaseException:
            # The thread that sends requests has the call too, and must not go on.
            native.cancel(*_INTERRUPTED)
            raise
        if outcome.code is not grpc.StatusCode.OK:
            raise error_of(outcome, pairs(native.initial_metadata()))
        return self._finish(native, answer)

    def future(
        self,
        request_iterator: Iterator[Any],
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Rendezvous:
        """Call the method without waiting."""
        native = self._start(
            timeout, metadata, credentials, wait_for_ready, compression, _CLOSED_FUTURE
        )
        native.expect_one()
        rendezvous = self._rendezvous(native, True)
        send_all(native, request_iterator, self._request_serializer)
        return rendezvous


class StreamStream(_Method, grpc.StreamStreamMultiCallable):  # type: ignore[misc]
    """See ``grpc.StreamStreamMultiCallable``."""

    def __call__(
        self,
        request_iterator: Iterator[Any],
        timeout: float | None = None,
        metadata: Any = None,
        credentials: grpc.CallCredentials | None = None,
        wait_for_ready: bool | None = None,
        compression: grpc.Compression | None = None,
    ) -> Rendezvous:
        """Call the method, and return the iterator of its responses."""
        native = self._start(
            timeout, metadata, credentials, wait_for_ready, compression, _CLOSED_FUTURE
        )
        rendezvous = self._rendezvous(native, False)
        send_all(native, request_iterator, self._request_serializer)
        return rendezvous


_INTERRUPTED = (grpc.StatusCode.CANCELLED.value[0], "Locally cancelled by application!")


def _ended(rendezvous: Rendezvous, response: Any) -> Rendezvous:
    """Give a call that has ended well, and was read already, its response."""
    rendezvous._response = response
    rendezvous._callbacks = None
    return rendezvous


def _parent_deadline() -> float | None:
    """Return the seconds that are left to the call in whose handler this one is made, if any."""
    deadline: float | None = cygrpc.get_deadline_from_context()
    if deadline is None:
        return None
    return deadline - time.time()


def _least(timeout: float | None, parent: float | None) -> float | None:
    if parent is None or timeout is None:
        return timeout if parent is None else parent
    return min(timeout, parent)
