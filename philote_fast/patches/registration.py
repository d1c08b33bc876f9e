"""Patches of ``philote_mdo.generated.disciplines_pb2_grpc``: what is registered with a server.

The servicer's methods stay as they are, for those who call them directly. What the server calls is
repaired at this door: errors of every kind and length reach the client, GetInfo gives one response,
and where nobody can tell the difference messages travel as bytes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import grpc
from grpc import _server as grpc_server
from philote_mdo.general.discipline_server import DisciplineServer
from philote_mdo.generated import disciplines_pb2_grpc

from philote_fast.patches import guard
from philote_fast.patches.grpcio_server import send_all
from philote_fast.patches.native import Server
from philote_fast.patches.registry import Group, untouched

GROUP = Group("registration", "errors reach the client, GetInfo answers, messages as bytes")

#: Behaviours in bytes: the name of an RPC, and a function that takes the servicer and gives the
#: behaviour. A behaviour takes an iterator of request bytes and the context; it gives an iterator
#: of response bytes, all of them computed, or bytes where the RPC has a single response.
RAW: dict[str, Callable[[Any], guard.Behavior]] = {}

_SIGNATURE = "(servicer, server)"

# What answers from lists that are at hand, with a message for each entry.
_LISTED = tuple(
    GROUP.stock(DisciplineServer, name)
    for name in ("GetVariableDefinitions", "GetPartialDefinitions")
)


class _Recorder:
    """Takes the place of a server and keeps what stock registers with it."""

    def __init__(self) -> None:
        self.service = ""
        self.handlers: dict[str, Any] = {}

    def add_generic_rpc_handlers(self, handlers: Any) -> None:
        """Take the generic form of the handlers; it is made anew from the repaired ones."""

    def add_registered_method_handlers(self, service: str, handlers: dict[str, Any]) -> None:
        """Keep the handlers."""
        self.service = service
        self.handlers = handlers


def _patch(name: str) -> None:
    stock = GROUP.stock(disciplines_pb2_grpc, name)

    @GROUP.replaces(disciplines_pb2_grpc, name, _SIGNATURE)
    def add(servicer: Any, server: Any) -> None:
        # By type, since a test double may claim any class.
        if issubclass(type(servicer), DisciplineServer):
            _register(stock, servicer, server)
        else:
            stock(servicer, server)


_patch("add_DisciplineServiceServicer_to_server")
_patch("add_ExplicitServiceServicer_to_server")
_patch("add_ImplicitServiceServicer_to_server")


def _register(stock: Callable[[Any, Any], None], servicer: Any, server: Any) -> None:
    """Register what stock would, repaired, by the same calls of the server."""
    recorder = _Recorder()
    stock(servicer, recorder)
    raw = _takes_bytes(server)
    handlers = {
        name: _raw(name, handler, servicer)
        if raw and _is_ours(name, servicer)
        else _repaired(name, handler)
        for name, handler in recorder.handlers.items()
    }
    if raw and type(server) is grpc_server._Server:
        handlers = {name: _in_a_row(handler) for name, handler in handlers.items()}
    generic = grpc.method_handlers_generic_handler(recorder.service, handlers)
    server.add_generic_rpc_handlers((generic,))
    server.add_registered_method_handlers(recorder.service, handlers)


def _takes_bytes(server: Any) -> bool:
    """Say whether nothing between the server and the handler looks at the messages."""
    if type(server) is Server:
        return not server.has_interceptors
    if type(server) is not grpc_server._Server:
        return False
    state = getattr(server, "_state", None)
    return getattr(state, "interceptor_pipeline", state) is None


def _is_ours(name: str, servicer: Any) -> bool:
    return name in RAW and untouched(servicer, name)


def _raw(name: str, handler: Any, servicer: Any) -> Any:
    kind = _kind(handler)
    # A raw behaviour has computed its whole response when it returns: nothing is left to guard.
    behavior = guard.unary(RAW[name](servicer), name)
    return handler._replace(request_deserializer=None, response_serializer=None, **{kind: behavior})


def _repaired(name: str, handler: Any) -> Any:
    kind = _kind(handler)
    behavior = getattr(handler, kind)
    if name == "GetInfo":
        behavior = guard.first_of(behavior)
    return handler._replace(**{kind: _guarded(name, handler, behavior)})


def _guarded(name: str, handler: Any, behavior: guard.Behavior) -> guard.Behavior:
    guarded = guard.streaming if handler.response_streaming else guard.unary
    return guarded(behavior, name)


def _in_a_row(handler: Any) -> Any:
    """Have what is at hand sent without a hand-over between threads for each message."""
    guarded, serialize = handler.unary_stream, handler.response_serializer
    if getattr(inspect.unwrap(guarded), "__func__", None) not in _LISTED:
        return handler

    def serialized(response: Any) -> Any:
        return response if type(response) is bytes else serialize(response)

    def behavior(request: Any, context: Any) -> Any:
        try:
            messages = list(map(serialize, inspect.unwrap(guarded)(request, context)))
        except Exception:
            # Once more one by one, so that the error is told as ever.
            return guarded(request, context)
        return send_all(context, messages)

    return handler._replace(response_serializer=serialized, unary_stream=behavior)


def _kind(handler: Any) -> str:
    """Return the field of a handler that holds its behaviour, such as ``stream_unary``."""
    request = "stream" if handler.request_streaming else "unary"
    response = "stream" if handler.response_streaming else "unary"
    return f"{request}_{response}"
