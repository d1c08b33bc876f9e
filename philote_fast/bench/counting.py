"""Counts the messages and the bytes of calls, by interceptors of grpc's own kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc

# gRPC puts a flag and a length of four bytes before each message.
PREFIX = 5


@dataclass
class Exchange:
    """One RPC: its messages and their bytes, each with gRPC's prefix."""

    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0


class Counter(
    grpc.UnaryUnaryClientInterceptor,  # type: ignore[misc] # grpc has no types
    grpc.UnaryStreamClientInterceptor,  # type: ignore[misc]
    grpc.StreamUnaryClientInterceptor,  # type: ignore[misc]
    grpc.StreamStreamClientInterceptor,  # type: ignore[misc]
):
    """Counts what goes through a channel.

    Attributes
    ----------
    exchanges : list of Exchange
        One for each RPC, in the order in which they began.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def channel(self, channel: Any) -> Any:
        """Give a channel that is counted."""
        return grpc.intercept_channel(channel, self)

    def intercept_unary_unary(self, proceed: Callable[..., Any], details: Any, request: Any) -> Any:
        """Count both messages."""
        exchange = self._begin()
        call = proceed(details, _sent(exchange, request))
        _received(exchange, call.result())
        return call

    def intercept_unary_stream(
        self, proceed: Callable[..., Any], details: Any, request: Any
    ) -> Iterator[Any]:
        """Count the request, and each response as it is read."""
        exchange = self._begin()
        call = proceed(details, _sent(exchange, request))
        return (_received(exchange, response) for response in call)

    def intercept_stream_unary(
        self, proceed: Callable[..., Any], details: Any, requests: Iterator[Any]
    ) -> Any:
        """Count each request as it is sent, and the response."""
        exchange = self._begin()
        call = proceed(details, (_sent(exchange, request) for request in requests))
        _received(exchange, call.result())
        return call

    def intercept_stream_stream(
        self, proceed: Callable[..., Any], details: Any, requests: Iterator[Any]
    ) -> Iterator[Any]:
        """Count each message as it goes by."""
        exchange = self._begin()
        call = proceed(details, (_sent(exchange, request) for request in requests))
        return (_received(exchange, response) for response in call)

    def _begin(self) -> Exchange:
        self.exchanges.append(Exchange())
        return self.exchanges[-1]


def _sent(exchange: Exchange, message: Any) -> Any:
    exchange.sent += 1
    exchange.sent_bytes += _size(message)
    return message


def _received(exchange: Exchange, message: Any) -> Any:
    exchange.received += 1
    exchange.received_bytes += _size(message)
    return message


def _size(message: Any) -> int:
    # A stub without a serializer has its messages in bytes.
    return PREFIX + (len(message) if isinstance(message, bytes) else int(message.ByteSize()))
