"""A ``grpc.Channel`` on the native transport."""

from __future__ import annotations

from types import TracebackType
from typing import Literal

import grpc

from philote_fast._core import NativeChannel
from philote_fast.transport.call import Deserializer
from philote_fast.transport.connectivity import Listener
from philote_fast.transport.credentials import channel_security
from philote_fast.transport.multicallable import (
    Core,
    StreamStream,
    StreamUnary,
    UnaryStream,
    UnaryUnary,
)
from philote_fast.transport.options import Options, channel_options
from philote_fast.transport.requests import Serializer


class Channel(grpc.Channel):  # type: ignore[misc]
    """A channel; made by ``philote_fast.insecure_channel`` or ``secure_channel``.

    Parameters
    ----------
    target : str
        As for ``grpc.insecure_channel``.
    options : iterable of tuple, optional
        gRPC's options.
    credentials : grpc.ChannelCredentials, optional
        None for a channel without TLS.
    compression : grpc.Compression, optional
        How messages are compressed unless a call says otherwise.

    Raises
    ------
    ValueError
        If the target or the credentials are no good.
    """

    def __init__(
        self,
        target: str | bytes,
        options: Options,
        credentials: grpc.ChannelCredentials | None,
        compression: grpc.Compression | None,
    ) -> None:
        core_options, number = channel_options(options, compression)
        text = target.decode() if isinstance(target, bytes) else target
        security = None if credentials is None else channel_security(credentials)
        tls = None if security is None else security.tls
        self._core = Core(NativeChannel(text, core_options, tls), security, number)

    def subscribe(self, callback: Listener, try_to_connect: bool | None = False) -> None:
        """See ``grpc.Channel.subscribe``."""
        if not self._core.closed:
            self._core.events.subscribe(callback, bool(try_to_connect))

    def unsubscribe(self, callback: Listener) -> None:
        """See ``grpc.Channel.unsubscribe``."""
        self._core.events.unsubscribe(callback)

    def unary_unary(
        self,
        method: str,
        request_serializer: Serializer = None,
        response_deserializer: Deserializer = None,
        _registered_method: bool | None = False,
    ) -> UnaryUnary:
        """See ``grpc.Channel.unary_unary``."""
        return UnaryUnary(self._core, method, request_serializer, response_deserializer)

    def unary_stream(
        self,
        method: str,
        request_serializer: Serializer = None,
        response_deserializer: Deserializer = None,
        _registered_method: bool | None = False,
    ) -> UnaryStream:
        """See ``grpc.Channel.unary_stream``."""
        return UnaryStream(self._core, method, request_serializer, response_deserializer)

    def stream_unary(
        self,
        method: str,
        request_serializer: Serializer = None,
        response_deserializer: Deserializer = None,
        _registered_method: bool | None = False,
    ) -> StreamUnary:
        """See ``grpc.Channel.stream_unary``."""
        return StreamUnary(self._core, method, request_serializer, response_deserializer)

    def stream_stream(
        self,
        method: str,
        request_serializer: Serializer = None,
        response_deserializer: Deserializer = None,
        _registered_method: bool | None = False,
    ) -> StreamStream:
        """See ``grpc.Channel.stream_stream``."""
        return StreamStream(self._core, method, request_serializer, response_deserializer)

    def close(self) -> None:
        """See ``grpc.Channel.close``."""
        self._core.closed = True
        self._core.events.close()
        self._core.native.close()

    def __del__(self) -> None:
        # As grpcio: the listeners of a channel that is forgotten keep its thread no longer.
        core = getattr(self, "_core", None)
        if core is not None:
            core.events.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False


def insecure_channel(
    target: str, options: Options = None, compression: grpc.Compression | None = None
) -> grpc.Channel:
    """Make a channel as ``grpc.insecure_channel`` does, on the native transport.

    Parameters
    ----------
    target : str
        The server's address: ``HOST:PORT``, or with one of gRPC's schemes.
    options : iterable of tuple, optional
        gRPC's options. Those that are not honoured are named in a warning.
    compression : grpc.Compression, optional
        How messages are compressed unless a call says otherwise.

    Raises
    ------
    ValueError
        If the target is none.
    """
    return Channel(target, options, None, compression)


def secure_channel(
    target: str,
    credentials: grpc.ChannelCredentials,
    options: Options = None,
    compression: grpc.Compression | None = None,
) -> grpc.Channel:
    """Make a channel as ``grpc.secure_channel`` does, on the native transport.

    Parameters
    ----------
    target : str
        The server's address: ``HOST:PORT``, or with one of gRPC's schemes.
    credentials : grpc.ChannelCredentials
        Made by ``grpc.ssl_channel_credentials``, call credentials perhaps added.
    options : iterable of tuple, optional
        gRPC's options. Those that are not honoured are named in a warning.
    compression : grpc.Compression, optional
        How messages are compressed unless a call says otherwise.

    Raises
    ------
    ValueError
        If the target is none, or the credentials cannot be read.
    """
    if credentials is None:
        raise ValueError("secure_channel needs credentials, such as grpc.ssl_channel_credentials()")
    return Channel(target, options, credentials, compression)
