"""From the name of a method to its handler, through the server's interceptors."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import grpc

from philote_fast._core import NativeServerCall
from philote_fast.transport.context import LOGGER, Metadatum, code_number
from philote_fast.transport.handlers import Method, method_of

_UNIMPLEMENTED = code_number(grpc.StatusCode.UNIMPLEMENTED)
_RESOURCE_EXHAUSTED = code_number(grpc.StatusCode.RESOURCE_EXHAUSTED)
_UNKNOWN = code_number(grpc.StatusCode.UNKNOWN)

Interceptor = Callable[..., Any]


class _Details(NamedTuple):
    method: str
    invocation_metadata: tuple[Metadatum, ...]


class HandlerCallDetails(_Details, grpc.HandlerCallDetails):  # type: ignore[misc]
    """What interceptors and generic handlers learn of a call."""


#: How a call is to be run: its method, and the context variables that interceptors and the handler
#: share. A plain tuple: one is made for each call.
Accepted = tuple[Method, contextvars.Context]


class Lookup:
    """The methods of a server.

    Parameters
    ----------
    generic_handlers : iterable of grpc.GenericRpcHandler
        Asked in turn for methods that are not registered by name.
    interceptors : sequence of grpc.ServerInterceptor
        Asked for every call, the first one first.
    maximum : int or None
        How many handlers may run or wait at once.
    """

    def __init__(
        self,
        generic_handlers: Iterable[grpc.GenericRpcHandler],
        interceptors: Sequence[grpc.ServerInterceptor],
        maximum: int | None,
    ) -> None:
        self._generic = list(generic_handlers)
        self._registered: dict[str, grpc.RpcMethodHandler] = {}
        self._methods: dict[str, Method] = {}
        self._interceptors = tuple(interceptors)
        self._maximum = maximum
        self._lock = threading.Lock()
        self._count = 0

    @property
    def has_interceptors(self) -> bool:
        """Whether something may look at the messages between the server and its handlers."""
        return bool(self._interceptors)

    def add_generic(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Add handlers that are asked for methods."""
        self._generic.extend(handlers)

    def register(self, handlers: dict[str, grpc.RpcMethodHandler]) -> None:
        """Add methods by their full names."""
        self._registered.update(handlers)
        self._methods.update({name: method_of(handler) for name, handler in handlers.items()})

    def accept(self, call: NativeServerCall) -> Accepted | None:
        """Find the method of a call; where it cannot be run, answer the caller.

        Parameters
        ----------
        call : NativeServerCall
            The call.

        Returns
        -------
        Accepted or None
            The method, counted among those at work until it is released.
        """
        variables = contextvars.Context()
        try:
            method = None if self._interceptors else self._methods.get(call.method)
            if method is None:
                method = self._find(call, variables)
        except Exception as error:
            LOGGER.exception("Exception servicing handler: %s", error)
            call.finish(_UNKNOWN, b"Error in service handler!", ())
            return None
        if method is None:
            call.finish(_UNIMPLEMENTED, b"Method not found!", ())
            return None
        if self._maximum is not None and not self._reserve(self._maximum):
            call.finish(_RESOURCE_EXHAUSTED, b"Concurrent RPC limit exceeded!", ())
            return None
        return method, variables

    def release(self, count: int) -> None:
        """Count so many calls less."""
        if self._maximum is not None:
            with self._lock:
                self._count -= count

    def _reserve(self, maximum: int) -> bool:
        with self._lock:
            free = self._count < maximum
            self._count += free
            return free

    def _find(self, call: NativeServerCall, variables: contextvars.Context) -> Method | None:
        details = HandlerCallDetails(call.method, tuple(map(Metadatum._make, call.metadata)))
        handler = variables.run(self._intercept, 0, details)
        return None if handler is None else method_of(handler)

    def _intercept(self, at: int, details: Any) -> Any:
        if at == len(self._interceptors):
            return self._handler(details)

        def continuation(changed: Any) -> Any:
            return self._intercept(at + 1, changed)

        return self._interceptors[at].intercept_service(continuation, details)

    def _handler(self, details: Any) -> Any:
        registered = self._registered.get(details.method)
        if registered is not None:
            return registered
        for generic in self._generic:
            handler = generic.service(details)
            if handler is not None:
                return handler
        return None
