"""Behaviours around the handlers of an RPC: no error of a discipline gets lost on its way.

grpcio answers a client only for an ``Exception``. Whatever else a discipline raises (``SystemExit``
from ``sys.exit``, ``KeyboardInterrupt``, ``GeneratorExit``) ends the handler with no answer, and
the client waits for ever.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import grpc

from philote_fast.patches.context import SafeContext

Behavior = Callable[[Any, Any], Any]

# How grpcio's own text begins for an error that nobody caught.
_CALLING = "Exception calling application"
_ITERATING = "Exception iterating responses"

_LOGGER = logging.getLogger("philote_fast")


def unary(behavior: Behavior, rpc: str) -> Behavior:
    """Guard a behaviour that gives one response.

    Parameters
    ----------
    behavior : callable
        Takes the request, or an iterator of requests, and the context.
    rpc : str
        The RPC's name, for messages.
    """

    @functools.wraps(behavior)
    def guarded(request: Any, context: Any) -> Any:
        safe = SafeContext(context)
        try:
            return behavior(request, safe)
        except BaseException as error:
            _fail(error, safe, rpc)

    whole = getattr(behavior, "whole", None)
    if whole is not None:
        # It guards itself.
        guarded.whole = whole  # type: ignore[attr-defined]
    return guarded


def streaming(behavior: Behavior, rpc: str) -> Behavior:
    """Guard a behaviour that gives an iterator of responses.

    Parameters
    ----------
    behavior : callable
        Takes the request, or an iterator of requests, and the context.
    rpc : str
        The RPC's name, for messages.
    """

    @functools.wraps(behavior)
    def guarded(request: Any, context: Any) -> Iterator[Any]:
        safe = SafeContext(context)
        try:
            responses = behavior(request, safe)
        except BaseException as error:
            _fail(error, safe, rpc)
        return _guarded_responses(responses, safe, rpc)

    return guarded


def first_of(behavior: Behavior) -> Behavior:
    """Make a behaviour that gives one response of one that may give an iterator.

    Parameters
    ----------
    behavior : callable
        Takes the request and the context.
    """

    @functools.wraps(behavior)
    def first(request: Any, context: Any) -> Any:
        result = behavior(request, context)
        if not isinstance(result, Iterator):
            return result
        try:
            return next(result)
        except StopIteration:
            raise RuntimeError(f"{behavior.__name__} gave no response") from None
        finally:
            _close(result)

    return first


def _guarded_responses(responses: Any, context: SafeContext, rpc: str) -> Iterator[Any]:
    # A cancelled call closes this generator at its yield, outside of the inner try: a GeneratorExit
    # from there is gRPC's, one from next() is the discipline's.
    try:
        while True:
            try:
                response = next(responses)
            except StopIteration:
                return
            except BaseException as error:
                _fail(error, context, rpc, _ITERATING)
            yield response
    finally:
        _close(responses)


def _close(iterator: Any) -> None:
    close = getattr(iterator, "close", None)
    if close is not None:
        close()


def _fail(error: BaseException, context: SafeContext, rpc: str, doing: str = _CALLING) -> NoReturn:
    """Let an error go on to gRPC in a form that reaches the client."""
    if isinstance(error, Exception):
        context.explain(f"{doing}: {_text(error)}")
        raise error
    _LOGGER.error("%s: %s in a discipline", rpc, type(error).__name__, exc_info=error)
    cause = f"{type(error).__name__}: {_text(error)}"
    context.abort(grpc.StatusCode.INTERNAL, f"{rpc} failed: {cause}")
    # Only a context that is not gRPC's comes here.
    raise error


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(an error that cannot be printed)"
