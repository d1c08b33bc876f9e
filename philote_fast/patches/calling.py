"""A remote call in raw bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import grpc
from google.protobuf.empty_pb2 import Empty
from grpc import _channel
from philote_mdo.generated.data_pb2 import VariableMessage, VariableMetaData
from philote_mdo.utils.validation import PhiloteServerError

from philote_fast._core import Meter
from philote_fast.errors import MalformedMessageError
from philote_fast.patches import meters
from philote_fast.patches.grpcio_client import Call
from philote_fast.patches.hooks import hooks_untouched
from philote_fast.patches.native import StreamStream, StreamUnary
from philote_fast.patches.registry import note_fallback, untouched

T = TypeVar("T")
#: Begins a native call, of which the server knows nothing before something is sent by it; or gives
#: the record of one of grpcio's.
Begin = Callable[[], Any]
#: Writes a request to the native call that is begun, which it returns, or to a list.
Write = Callable[[Begin], Any]
#: Begins a call with the request that it is given.
Raw = Callable[[Write], Any]


class _Kind(NamedTuple):
    """How stock's stub makes the methods that can be called in bytes."""

    #: Their class on grpcio's own channel.
    multicallable: type
    #: Their class on a native channel.
    native: type
    #: What serialises requests and what parses responses.
    coders: tuple[Any, Any]


_COMPUTE = _Kind(
    _channel._StreamStreamMultiCallable,
    StreamStream,
    (VariableMessage.SerializeToString, VariableMessage.FromString),
)
_KINDS = {
    "SetVariableShapes": _Kind(
        _channel._StreamUnaryMultiCallable,
        StreamUnary,
        (VariableMetaData.SerializeToString, Empty.FromString),
    )
}


def raw_call(
    client: Any,
    stub: Any,
    rpc: str,
    *methods: str,
    note: Callable[[str, str], None] = note_fallback,
) -> Raw | None:
    """Return a callable that begins the RPC in bytes, or None where somebody would notice.

    Parameters
    ----------
    client : DisciplineClient
        The client; ``methods`` are those that stock would call on it for this RPC.
    stub : object
        The stub that stock would use.
    rpc : str
        The name of the RPC.
    *methods : str
        Methods of the client that must be our own replacements.
    note : callable, optional
        Is told what the channel or stub is, where that is the reason.

    Notes
    -----
    Stock's code runs instead, with message objects, where a method is overridden, a test double
    stands in, or the channel is neither grpcio's own nor a native one (an intercepted channel,
    say); the last is counted in ``status()``, and all of them in ``stats()``.
    """
    # Whoever has a note of its own comes again, by the client's method.
    count = note is note_fallback
    if not (untouched(client, *methods) and hooks_untouched()):
        _leave_to_stock(client, count)
        return None
    method = getattr(stub, rpc)
    kind = _KINDS.get(rpc, _COMPUTE)
    found = type(method)
    if found is not kind.native and found is not kind.multicallable:
        name = f"{found.__module__}.{found.__qualname__}"
        note(f"the client's {rpc}", f"its stub is a {name}")
        _leave_to_stock(client, count)
        return None
    if (method._request_serializer, method._response_deserializer) != kind.coders:
        note(f"the client's {rpc}", "its stub has coders of its own")
        _leave_to_stock(client, count)
        return None
    if found is kind.native:
        return partial(_by_native, method)
    return partial(_by_grpcio, method, meters.of_client(client, method))


def _leave_to_stock(client: Any, count: bool) -> None:
    if count:
        meters.skip(client)


def _by_native(method: Any, write: Write) -> Any:
    return write(method.begin)


def _by_grpcio(method: Any, meter: Meter, write: Write) -> Call:
    record = meter.call()
    return Call(method, write(lambda: record), record)


def exchange(title: str, raw: Raw, write: Write, read: Callable[[Any], T]) -> T:
    """Send a request and read its reply.

    Parameters
    ----------
    title : str
        The client's method, as stock's error texts name it.
    raw : callable
        What ``raw_call`` returned.
    write : callable
        Writes the request.
    read : callable
        Reads the reply: an iterator of serialised messages, or a native call.

    Raises
    ------
    PhiloteServerError
        If the server, or the way there, fails: with stock's text, and the ``grpc.RpcError`` as
        its cause.
    PhiloteValidationError
        If the reply does not fit the metadata.
    """
    try:
        with raw(write) as reply:
            return read(at_hand(reply))
    except MalformedMessageError as error:
        text = f"Server error during {title}: Exception deserializing response! ({error})"
        raise MalformedMessageError(text) from error
    except grpc.RpcError as error:
        raise PhiloteServerError(f"Server error during {title}: {error.details()}") from error


def at_hand(reply: Any) -> Any:
    """Return the reply as it is read: what grpcio brings is recorded.

    Parameters
    ----------
    reply : iterator of bytes
        What a raw call gives.

    Notes
    -----
    What comes by grpcio is waited for here where the thread may be ended meanwhile. The interpreter
    ends daemon threads when it exits, and a thread that has Rust on its stack cannot be ended: the
    process would abort.
    """
    if type(reply) is not Call:
        return reply
    is_daemon = threading.current_thread().daemon
    return reply.record.over(list(reply) if is_daemon else reply)
