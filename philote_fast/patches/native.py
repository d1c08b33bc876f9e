"""The native transport, as the patches use it: whole calls, without an object for each message."""

from __future__ import annotations

from typing import Any

import grpc

from philote_fast import _core
from philote_fast._core import NativeCall, NativeServerCall
from philote_fast.transport.call import call_error
from philote_fast.transport.handlers import Requests
from philote_fast.transport.multicallable import StreamStream, StreamUnary
from philote_fast.transport.server import Server

__all__ = ["Server", "StreamStream", "StreamUnary", "native_call"]


def native_call(requests: Any) -> NativeServerCall | None:
    """Return the native call that a handler's requests belong to, or None where there is none.

    Parameters
    ----------
    requests : iterator
        What the handler was given, in bytes.
    """
    return requests.native if type(requests) is Requests else None


def _error(call: Any) -> BaseException:
    """Make what grpcio raises from a call's iterator where the call has failed."""
    error: BaseException = call_error(call) if type(call) is NativeCall else grpc.RpcError()
    return error


_core.use_call_error(_error)
