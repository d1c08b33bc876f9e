"""One call of the native server, from its handler's request to its status."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc

from philote_fast._core import NativeServerCall
from philote_fast.transport.context import LOGGER, Context

#: grpcio's logger for what goes wrong in serialisers.
_COMMON_LOGGER = logging.getLogger("grpc._common")

_INTERNAL = grpc.StatusCode.INTERNAL
_UNKNOWN = grpc.StatusCode.UNKNOWN

_ABORTED = "RPC Aborted"
_DESERIALIZING = "Exception deserializing request!"
_SERIALIZING = "Failed to serialize response!"
_UNPRINTABLE = "Calling application raised unprintable Exception!"

# How grpcio's own text begins for an error that nobody caught.
_CALLING = "Exception calling application"
_ITERATING = "Exception iterating responses"


class Method(NamedTuple):
    """A method that can be called, made ready once for all its calls."""

    behavior: Callable[..., Any]
    deserialize: Callable[[bytes], Any] | None
    serialize: Callable[[Any], bytes] | None
    request_streaming: bool
    response_streaming: bool
    #: The behaviour takes a function to respond with and goes on after it has returned.
    responds_by_callback: bool
    #: A pool that the behaviour runs in rather than in the server's.
    pool: Any
    #: The behaviour's ``whole``, if it has one: it takes the call and the context, reads the
    #: requests and sends the responses itself. None: it has not done so; anything else is kept
    #: until the caller has been answered, since it may take long to be freed.
    whole: Callable[[NativeServerCall, Context], Any] | None


def method_of(handler: grpc.RpcMethodHandler) -> Method:
    """Make a method ready.

    Parameters
    ----------
    handler : grpc.RpcMethodHandler
        What was registered, or found by a generic handler.
    """
    request = "stream" if handler.request_streaming else "unary"
    response = "stream" if handler.response_streaming else "unary"
    behavior = getattr(handler, f"{request}_{response}")
    by_callback = handler.response_streaming and getattr(
        behavior, "experimental_non_blocking", False
    )
    return Method(
        behavior,
        handler.request_deserializer,
        handler.response_serializer,
        bool(handler.request_streaming),
        bool(handler.response_streaming),
        bool(by_callback),
        getattr(behavior, "experimental_thread_pool", None),
        getattr(behavior, "whole", None),
    )


class Requests:
    """The requests of a call, for a handler that takes a stream.

    Parameters
    ----------
    call : NativeServerCall
        The call.
    context : Context
        Its context.
    deserialize : callable or None
        Makes a request of bytes.
    """

    __slots__ = ("_context", "_deserialize", "native")

    def __init__(
        self, call: NativeServerCall, context: Context, deserialize: Callable[[bytes], Any] | None
    ) -> None:
        #: The call itself, for those who read its messages without making objects of them.
        self.native = call
        self._context = context
        self._deserialize = deserialize

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        message = self.native.receive()
        if message is None:
            if self.native.is_cancelled():
                raise self._context.rpc_error()
            raise StopIteration
        if self._deserialize is None:
            return message
        request = _deserialized(message, self._deserialize, self._context)
        if request is None:
            raise StopIteration
        return request

    next = __next__


def run(method: Method, call: NativeServerCall) -> None:
    """Run the handler of a call, and answer the caller whatever comes of it.

    Parameters
    ----------
    method : Method
        The method.
    call : NativeServerCall
        The call.
    """
    context = Context(call)
    try:
        _answer(method, call, context)
    except Exception:
        # Not the handler's: what it raises has been dealt with.
        LOGGER.exception("Exception answering a call")
        context.fail(_INTERNAL, "Exception answering the call")
    except BaseException as error:
        # grpcio lets the caller wait for ever. The pool's thread goes on.
        cause = f"{type(error).__name__}: {_text(error)}"
        LOGGER.error("%s: %s", call.method, cause, exc_info=error)
        context.fail(_INTERNAL, f"{_CALLING}: {cause}")


def _answer(method: Method, call: NativeServerCall, context: Context) -> None:
    if method.whole is not None:
        try:
            kept = method.whole(call, context)
        except Exception as error:
            _fail(error, context, _CALLING)
            return
        if kept is not None:
            context.finish()
            return
    argument: Any
    if method.request_streaming:
        argument = Requests(call, context, method.deserialize)
    else:
        argument = _single_request(method, call, context)
        if argument is None:
            return
    try:
        if method.responds_by_callback:
            method.behavior(argument, context, _responder(method, call, context))
            return
        response = method.behavior(argument, context)
    except Exception as error:
        _fail(error, context, _CALLING)
        return
    if method.response_streaming:
        _respond_with_all(method, call, context, response)
    else:
        message = _serialized(response, method.serialize, context)
        if message is not None:
            call.send_last(message, context.takes_compression())
            context.finish()


def _single_request(method: Method, call: NativeServerCall, context: Context) -> Any:
    message = call.receive()
    if message is None:
        # The bytes within the text are grpcio's.
        text = f'"{call.method.encode()!r}" requires exactly one request message.'
        context.fail(grpc.StatusCode.UNIMPLEMENTED, text)
        return None
    if method.deserialize is None:
        return message
    return _deserialized(message, method.deserialize, context)


def _respond_with_all(
    method: Method, call: NativeServerCall, context: Context, responses: Any
) -> None:
    """Send responses as they come, until they end or the caller is gone."""
    try:
        while True:
            try:
                response = next(responses)
            except StopIteration:
                context.finish()
                return
            except Exception as error:
                _fail(error, context, _ITERATING)
                return
            # As in grpcio, None ends the stream.
            if response is None:
                context.finish()
                return
            message = _serialized(response, method.serialize, context)
            if message is None or not call.send(message, context.takes_compression()):
                return
    finally:
        _close(responses)


def _close(responses: Any) -> None:
    close = getattr(responses, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception:
        LOGGER.exception("Exception closing responses")


def _responder(method: Method, call: NativeServerCall, context: Context) -> Callable[[Any], None]:
    def send_response(response: Any) -> None:
        if response is None:
            context.finish()
            return
        message = _serialized(response, method.serialize, context)
        if message is not None:
            call.send(message, context.takes_compression())

    return send_response


def _fail(error: Exception, context: Context, doing: str) -> None:
    if context.was_aborted:
        context.fail(_UNKNOWN, _ABORTED)
    elif context.has_raised(error):
        # The caller is gone, and the handler has let the news through.
        return
    else:
        try:
            details = f"{doing}: {error}"
        except Exception:
            details = _UNPRINTABLE
            traceback.print_exc()
        LOGGER.exception(details)
        context.fail(_UNKNOWN, details)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(an error that cannot be printed)"


def _deserialized(message: bytes, deserialize: Callable[[bytes], Any], context: Context) -> Any:
    request = None
    try:
        request = deserialize(message)
    except Exception:
        _COMMON_LOGGER.exception("Exception deserializing message!")
    if request is None:
        context.fail(_INTERNAL, _DESERIALIZING)
    return request


def _serialized(
    response: Any, serialize: Callable[[Any], bytes] | None, context: Context
) -> bytes | None:
    message = response
    if serialize is not None:
        try:
            message = serialize(response)
        except Exception:
            _COMMON_LOGGER.exception("Exception serializing message!")
            message = None
    if isinstance(message, bytes):
        return message
    if message is not None:
        # grpcio lets the caller wait for ever.
        LOGGER.error("a response must be bytes, got %s", type(message).__qualname__)
    context.fail(_INTERNAL, _SERIALIZING)
    return None
