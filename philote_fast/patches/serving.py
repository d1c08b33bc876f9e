"""The five compute RPCs of a server: one request in, one reply out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError
from philote_mdo.generated.data_pb2 import VariableMessage
from philote_mdo.utils import PairDict
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast._core import CallRecord, Table
from philote_fast.errors import MalformedMessageError
from philote_fast.patches import guard, meters
from philote_fast.patches.context import original
from philote_fast.patches.discipline import declared
from philote_fast.patches.grpcio_server import requests_of, send_all
from philote_fast.patches.hooks import hooks_untouched
from philote_fast.patches.native import native_call
from philote_fast.patches.registry import untouched
from philote_fast.patches.state import tables_of


class Request(NamedTuple):
    """What a compute RPC brings, in the arrays that the discipline gets."""

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    discrete_inputs: dict[str, Any]
    discrete_outputs: dict[str, Any]
    #: A ``PairDict`` of zeros where the RPC asks for partials, else None.
    partials: Any
    #: What the metadata said when the request came; the reply is judged by the same.
    table: Table
    #: The native call that the reply is sent by; where it is a list of messages, what records the
    #: call, or None.
    to: Any


class Rpc(NamedTuple):
    """How one compute RPC differs from the others."""

    name: str
    #: Calls the discipline and writes the reply: returns its messages, or the native call.
    compute: Callable[[Any, Request], Any]
    #: The method of stock's servicer.
    stock: Callable[[Any, Any, Any], Iterator[Any]]
    #: Whether the request carries outputs too, as for implicit disciplines.
    with_outputs: bool = False
    #: Whether stock collects discrete outputs from the request.
    takes_discrete_outputs: bool = False
    with_partials: bool = False


def serve(
    server: Any, rpc: Rpc, requests: Iterable[Any], context: Any, to: Any = None
) -> Iterator[bytes]:
    """Answer one call of a compute RPC.

    Parameters
    ----------
    server : DisciplineServer
        The server.
    rpc : Rpc
        The RPC.
    requests : iterable of bytes or VariableMessage
        The request.
    context : grpc.ServicerContext
        Aborted with INVALID_ARGUMENT or INTERNAL, and stock's text, where the call fails.
    to : NativeServerCall or CallRecord, optional
        The call, where it is a native one: the reply is sent by it. Or else what records it.

    Returns
    -------
    iterator of bytes
        What is left to be sent. The whole reply was computed before: a failing call has sent
        nothing of it.
    """
    if not hooks_untouched():
        return _serialized(_serve_by_stock(server, rpc, requests, context))
    served = _serve(server, rpc, _receive, (requests, to), context)
    # A native call has sent what it has written.
    return iter(served[1]) if served and isinstance(served[1], list) else iter(())


def _serve(
    server: Any, rpc: Rpc, receive: Callable[..., Request], source: tuple[Any, ...], context: Any
) -> tuple[Request, Any] | None:
    """Receive, compute and write the reply, or abort the call as stock does."""
    try:
        request = receive(server, rpc, *source)
        return request, rpc.compute(server, request)
    except Exception as error:
        _refuse(rpc, error, context)
    return None


def _refuse(rpc: Rpc, error: BaseException, context: Any) -> None:
    """Abort a call that has failed as stock does."""
    if isinstance(error, PhiloteValidationError):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    elif isinstance(error, Exception):
        context.abort(grpc.StatusCode.INTERNAL, f"{rpc.name} failed: {error}")
    else:
        raise error


def serve_messages(server: Any, rpc: Rpc, requests: Iterable[Any], context: Any) -> Iterator[Any]:
    """Answer a direct call of a servicer's method; as ``serve``, in ``VariableMessage`` objects."""
    if hooks_untouched():
        yield from map(VariableMessage.FromString, serve(server, rpc, requests, context))
    else:
        yield from _serve_by_stock(server, rpc, requests, context)


def _serve_by_stock(server: Any, rpc: Rpc, requests: Iterable[Any], context: Any) -> Iterator[Any]:
    """Answer by stock's own code: it calls the test doubles where it looks functions up."""
    for message in rpc.stock(server, as_messages(requests), context):
        if message.WhichOneof("payload") == "continuous":
            # Stock's implicit server sends an exclusive end.
            array = message.continuous
            array.end = array.start + len(array.data) - 1
        yield message


def _serialized(messages: Iterable[Any]) -> Iterator[bytes]:
    """Serialise a whole reply: nothing of it may fail once its sending has begun."""
    return iter([message.SerializeToString() for message in messages])


def raw_factory(rpc: Rpc) -> Callable[[Any], Callable[[Iterable[bytes], Any], Iterator[bytes]]]:
    """Return what makes the bytes-in, bytes-out behaviour of the RPC for a servicer.

    The behaviour has a shorter form, ``whole``, for native calls: see ``transport.handlers``.
    """

    def behaviour_of(server: Any) -> Callable[[Iterable[bytes], Any], Iterator[bytes]]:
        def behaviour(requests: Iterable[bytes], context: Any) -> Iterator[bytes]:
            call = native_call(requests)
            # A native call's own iterator, which says so when the caller is gone.
            taken = requests_of(requests) if call is None else requests
            if call is not None:
                return answer(taken, context, call)
            record = meters.of_server(server).call()
            try:
                left = send_all(original(context), answer(taken, context, record))
                record.finish()
                return left
            except BaseException:
                record.give_up()
                raise

        def answer(taken: Iterable[bytes], context: Any, to: Any) -> Iterator[bytes]:
            if untouched(server, rpc.name):
                return serve(server, rpc, taken, context, to)
            # The patches were taken out after the server was attached.
            return _serialized(_serve_by_stock(server, rpc, taken, context))

        # Only a call that fails needs what keeps its error from getting lost.
        refuse = guard.unary(partial(_refuse, rpc), rpc.name)

        def whole(call: Any, context: Any) -> Any:
            if not (untouched(server, rpc.name, *_METHODS) and hooks_untouched()):
                return None
            try:
                request = _receive_by_slot(server, rpc, call, call)
                return request, rpc.compute(server, request)
            except BaseException as error:
                return refuse(error, context)

        behaviour.whole = whole  # type: ignore[attr-defined]
        return behaviour

    return behaviour_of


def has_discrete(server: Any, request: Request) -> bool:
    """Say whether stock would hand the discipline its discrete variables."""
    return bool(request.discrete_inputs or server._discipline._discrete_var_meta)


#: What stock calls on the servicer while it receives a request.
_METHODS = ("preallocate_inputs", "process_inputs", "preallocate_partials")


def _receive(server: Any, rpc: Rpc, requests: Iterable[Any], to: Any) -> Request:
    if untouched(server, *_METHODS):
        return _receive_by_slot(server, rpc, requests, to)
    return _receive_by_methods(server, rpc, requests, to)


def _receive_by_slot(server: Any, rpc: Rpc, requests: Iterable[Any], to: Any) -> Request:
    table = _table(server, rpc)
    partials = None
    if rpc.with_partials:
        partials = PairDict()
        table.allocate_partials(partials)
    source: Any = to.over(requests) if type(to) is CallRecord else requests
    inputs, outputs, discrete_inputs, discrete_outputs = table.read_request(
        source, server._stream_opts.num_double, rpc.with_outputs
    )
    return Request(inputs, outputs or {}, discrete_inputs, discrete_outputs, partials, table, to)


def _receive_by_methods(server: Any, rpc: Rpc, requests: Iterable[Any], to: Any) -> Request:
    """Receive as stock does, by methods that a subclass or a test double has replaced."""
    # Values, then flat views of them: of the inputs and, for implicit disciplines, the outputs.
    arrays: list[dict[str, Any]] = [{} for _ in range(4 if rpc.with_outputs else 2)]
    server.preallocate_inputs(*arrays)
    partials = server.preallocate_partials() if rpc.with_partials else None
    discrete: dict[str, dict[str, Any]] = {"discrete_inputs": {}}
    if rpc.takes_discrete_outputs:
        discrete["discrete_outputs"] = {}
    found = server.process_inputs(as_messages(requests), *arrays[1::2], **discrete)
    inputs, outputs = arrays[0], arrays[2] if rpc.with_outputs else {}
    return Request(inputs, outputs, found[0], found[1], partials, _table(server, rpc), to)


def as_messages(requests: Iterable[Any]) -> Iterator[Any]:
    """Yield ``VariableMessage`` objects, parsing those that come as bytes."""
    for request in requests:
        if not isinstance(request, bytes):
            yield request
            continue
        try:
            yield VariableMessage.FromString(request)
        except DecodeError as error:
            raise MalformedMessageError(f"malformed VariableMessage: {error}") from error


def _table(server: Any, rpc: Rpc) -> Table:
    discipline = server._discipline
    declared(discipline)
    partials = discipline._partials_meta if rpc.with_partials else None
    return tables_of(server).get(discipline._var_meta, partials)
