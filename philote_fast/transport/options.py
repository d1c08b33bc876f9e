"""The options of a channel, as gRPC names them."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import grpc

from philote_fast._core import __version__

Options = Iterable[tuple[Any, Any]] | None

#: What is sent as ``user-agent``, between what the options put before and after it.
_USER_AGENT = f"grpc-python-philote-fast/{__version__} ({platform.system().lower()}; h2)"

_INT_RANGE = range(-(2**31), 2**31)

#: Options that have been named in a warning.
_named: set[str] = set()


def _milliseconds(value: Any) -> float | None:
    # gRPC takes the largest int for "never".
    return value / 1000 if value < _INT_RANGE[-1] else None


def _size(value: Any) -> int | None:
    """Read a limit; -1 means that there is none."""
    return int(value) if value >= 0 else _UNLIMITED


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


_UNLIMITED = 2**62

#: Options for the core: their names there, the types they may have, and how they are read.
_CORE: dict[str, tuple[str, tuple[type, ...], Callable[[Any], Any]]] = {
    "grpc.max_receive_message_length": ("max_receive", (int,), _size),
    "grpc.max_send_message_length": ("max_send", (int,), _size),
    "grpc.absolute_max_metadata_size": ("max_metadata", (int,), lambda value: max(value, 0)),
    "grpc.keepalive_time_ms": ("keepalive", (int,), _milliseconds),
    "grpc.keepalive_timeout_ms": ("keepalive_timeout", (int,), _milliseconds),
    "grpc.keepalive_permit_without_calls": ("keepalive_without_calls", (int,), bool),
    "grpc.initial_reconnect_backoff_ms": ("initial_backoff", (int,), _milliseconds),
    "grpc.min_reconnect_backoff_ms": ("min_backoff", (int,), _milliseconds),
    "grpc.max_reconnect_backoff_ms": ("max_backoff", (int,), _milliseconds),
    "grpc.default_authority": ("authority", (str, bytes), _text),
    "grpc.ssl_target_name_override": ("tls_name", (str, bytes), _text),
    "grpc.enable_retries": ("retries", (int,), bool),
}

#: Options that ask for what is done anyway if they have one of these values.
_AS_ASKED: dict[str, tuple[Any, ...]] = {
    "grpc.enable_http_proxy": (0,),
    "grpc.http2.max_pings_without_data": (0,),
    "grpc.lb_policy_name": ("pick_first", b"pick_first"),
    "grpc.use_local_subchannel_pool": (0, 1),
    grpc.experimental.ChannelOptions.SingleThreadedUnaryStream: (0, 1),
}


def channel_options(
    options: Options, compression: grpc.Compression | None
) -> tuple[dict[str, Any], int]:
    """Read the options of a channel.

    Parameters
    ----------
    options : iterable of tuple, optional
        Names and values, as ``grpc.insecure_channel`` takes them.
    compression : grpc.Compression, optional
        How messages are compressed unless a call says otherwise.

    Returns
    -------
    dict
        The options for the core.
    int
        The number of the compression.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If an option is not a pair of a name and an int or text.

    Warns
    -----
    RuntimeWarning
        Once for each option that is not honoured.
    """
    core: dict[str, Any] = {name: None for name, _, _ in _CORE.values()}
    core.update(keepalive_without_calls=False, retries=True)
    default_compression = int(compression) if compression else 0
    agents: dict[str, str] = {}
    ignored = []
    for name, value in checked(options):
        if name in _CORE and isinstance(value, _CORE[name][1]):
            field, _, read = _CORE[name]
            core[field] = read(value)
        elif name == "grpc.max_metadata_size" and isinstance(value, int):
            # The soft limit; grpcio begins to refuse there, and refuses all beyond a quarter more.
            core["max_metadata"] = max(core["max_metadata"] or 0, value * 5 // 4, 0)
        elif name == "grpc.default_compression_algorithm" and value in (0, 1, 2):
            default_compression = default_compression or int(value)
        elif name in ("grpc.primary_user_agent", "grpc.secondary_user_agent"):
            agents[name] = _text(value)
        elif value not in _AS_ASKED.get(name, ()):
            ignored.append(name)
    core["user_agent"] = " ".join(
        part
        for part in (
            agents.get("grpc.primary_user_agent"),
            _USER_AGENT,
            agents.get("grpc.secondary_user_agent"),
        )
        if part
    )
    warn_of("channels", ignored)
    return core, default_compression


def checked(options: Options) -> list[tuple[str, Any]]:
    """Check options as grpcio does.

    Parameters
    ----------
    options : iterable of tuple, optional
        Names and values.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If one is not a pair of a name and an int or text.
    """
    found = []
    for name, value in options or ():
        if isinstance(name, bytes):
            name = name.decode()
        if not isinstance(name, str):
            raise TypeError(f"Expected str, not {type(name)}")
        if value is None:
            raise TypeError(f"Expected int, bytes, or behavior, got {type(value)}")
        if isinstance(value, int) and value not in _INT_RANGE:
            raise OverflowError("value too large to convert to int")
        found.append((name, value))
    return found


def warn_of(things: str, names: Iterable[str]) -> None:
    """Warn of options that are not honoured, of each only once.

    Parameters
    ----------
    things : str
        What has the options.
    names : iterable of str
        The options.
    """
    new = sorted(set(names) - _named)
    if new:
        _named.update(new)
        warnings.warn(
            f"philote_fast's {things} do not honour these options of gRPC: {', '.join(new)}",
            RuntimeWarning,
            stacklevel=5,
        )
