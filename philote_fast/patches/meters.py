"""What counts the calls that grpcio carries; native channels and servers count their own."""

from __future__ import annotations

import os
from typing import Any

from grpc import _channel, _interceptor

from philote_fast._core import Meter

_HOLDER = "_philote_fast_meter"


class _Holder:
    """The meter of a channel or a servicer, in each process one of its own."""

    def __init__(self, side: str, name: str) -> None:
        self._new = side, name
        self._meter: Meter | None = None
        self._process: object = None

    def meter(self) -> Meter:
        """Return the meter; a forked child begins with a new one."""
        if self._meter is None or self._process is not _process:
            self._meter, self._process = Meter(*self._new), _process
        return self._meter


#: Stands for this process.
_process = object()


def _after_fork() -> None:
    global _process
    _process = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def attach(client: Any, channel: Any) -> None:
    """Have the calls of a client counted with those of its channel, where that is grpcio's.

    Parameters
    ----------
    client : DisciplineClient
        The client.
    channel : grpc.Channel
        Its channel; there may be interceptors on it.
    """
    while type(channel) is _interceptor._Channel:
        channel = channel._channel
    if type(channel) is _channel.Channel:
        name = channel._channel.target().decode().removeprefix("dns:///")
        holder = channel.__dict__.setdefault(_HOLDER, _Holder("client", name))
        client.__dict__[_HOLDER] = holder


def of_client(client: Any, method: Any) -> Meter:
    """Return what counts the calls of a client on grpcio's own channel.

    Parameters
    ----------
    client : DisciplineClient
        The client. One that was made before the patches were installed counts alone.
    method : grpc.StreamStreamMultiCallable or grpc.StreamUnaryMultiCallable
        Made by the channel.
    """
    holder: _Holder | None = client.__dict__.get(_HOLDER)
    if holder is None:
        name = method._target.decode()
        holder = client.__dict__.setdefault(_HOLDER, _Holder("client", name))
    return holder.meter()


def skip(client: Any) -> None:
    """Count a call that stock's code makes, of which nothing else is known.

    Parameters
    ----------
    client : DisciplineClient
        The client. On a native channel the channel itself counts the call.
    """
    holder: _Holder | None = client.__dict__.get(_HOLDER)
    if holder is not None:
        holder.meter().skip()


def of_server(server: Any) -> Meter:
    """Return what counts the calls of a servicer on grpcio's server.

    Parameters
    ----------
    server : DisciplineServer
        The servicer. It is named by its discipline: grpcio does not tell where its servers listen.
    """
    holder: _Holder | None = server.__dict__.get(_HOLDER)
    if holder is None:
        name = type(server._discipline).__qualname__
        holder = server.__dict__.setdefault(_HOLDER, _Holder("server", name))
    return holder.meter()
