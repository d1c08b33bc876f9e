"""gRPC's channel arguments, as far as the native server honours them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import grpc

#: What grpcio takes for "no limit".
_UNLIMITED = -1
_MOST_BYTES = (1 << 32) - 1
_MOST_STREAMS = (1 << 31) - 1


def _limit(value: Any) -> int:
    return _MOST_BYTES if int(value) == _UNLIMITED else max(int(value), 0)


def _count(value: Any) -> int:
    return min(max(int(value), 0), _MOST_STREAMS)


def _seconds(milliseconds: Any) -> float:
    return max(int(milliseconds), 0) / 1000


#: What is honoured: the native name, and how the value is read.
_HONOURED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "grpc.max_receive_message_length": ("receive_limit", _limit),
    "grpc.max_message_length": ("receive_limit", _limit),
    "grpc.max_send_message_length": ("send_limit", _limit),
    "grpc.max_metadata_size": ("metadata_limit", _limit),
    "grpc.absolute_max_metadata_size": ("metadata_limit", _limit),
    "grpc.max_concurrent_streams": ("streams", _count),
    "grpc.so_reuseport": ("reuse_port", bool),
    "grpc.default_compression_algorithm": ("compression", int),
    "grpc.server_handshake_timeout_ms": ("handshake", _seconds),
    "grpc.keepalive_time_ms": ("keepalive", _seconds),
    "grpc.keepalive_timeout_ms": ("keepalive_timeout", _seconds),
    "grpc.keepalive_permit_without_calls": ("keepalive_without_calls", bool),
}

#: What makes no difference here: pings are never refused, and the rest there is not.
_WITHOUT_EFFECT = frozenset(
    {
        "grpc.http2.max_pings_without_data",
        "grpc.http2.max_ping_strikes",
        "grpc.http2.min_ping_interval_without_data_ms",
        "grpc.http2.min_recv_ping_interval_without_data_ms",
        "grpc.http2.min_time_between_pings_ms",
        "grpc.http2.bdp_probe",
        "grpc.optimization_target",
        "grpc.enable_http_proxy",
        "grpc.server_call_tracer_factory",
    }
)

_warned: set[str] = set()


def native_options(
    options: Iterable[tuple[str, Any]], compression: grpc.Compression | None
) -> dict[str, Any]:
    """Translate a server's options.

    Parameters
    ----------
    options : iterable of tuple
        Names and values. One that is not honoured is named in a warning once.
    compression : grpc.Compression or None
        How responses are compressed.

    Returns
    -------
    dict
        The options of ``NativeServer``.
    """
    native: dict[str, Any] = {}
    for given, value in options:
        name = given.decode() if isinstance(given, bytes) else given
        if name in _HONOURED:
            own_name, read = _HONOURED[name]
            native[own_name] = read(value)
        elif name not in _WITHOUT_EFFECT:
            _warn(name)
    if compression is not None:
        native["compression"] = int(compression)
    return native


def _warn(name: str) -> None:
    if name not in _warned:
        _warned.add(name)
        text = f"the native server does not honour the option {name}"
        warnings.warn(text, RuntimeWarning, stacklevel=5)
