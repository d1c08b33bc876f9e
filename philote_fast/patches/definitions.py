"""What a server lists of itself: a stream of many small messages that answers an empty one."""

from __future__ import annotations

from typing import Any

from google.protobuf.empty_pb2 import Empty
from grpc import _channel

from philote_fast.patches.grpcio_client import Listing


def listed(method: Any, message: Any) -> Any:
    """Ask for a list, and return its messages as they come or when all have.

    Parameters
    ----------
    method : grpc.UnaryStreamMultiCallable
        The stub's method. One that is grpcio's own is called without a hand-over between threads
        for each message.
    message : type
        The class of the messages.

    Raises
    ------
    grpc.RpcError
        If the call fails, here or while the messages are iterated over.
    """
    coders = (Empty.SerializeToString, message.FromString)
    if (
        type(method) is not _channel._UnaryStreamMultiCallable
        or (method._request_serializer, method._response_deserializer) != coders
    ):
        return method(Empty())
    with Listing(method, (Empty().SerializeToString(),)) as reply:
        return list(reply)
