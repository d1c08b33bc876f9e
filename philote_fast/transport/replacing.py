"""The native constructors in the place of grpc's own, for the whole process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import grpc

from philote_fast.patches import bindings

#: What is replaced of ``grpc``. ``philote_fast`` has the replacements, under the same names.
#: The credentials belong to it: nobody can read the PEM bytes in those of ``grpc`` itself.
NAMES = ("insecure_channel", "secure_channel", "server", "ssl_server_credentials")

_lock = threading.RLock()
#: grpc's own, by name, while they are replaced.
_stock: dict[str, Callable[..., Any]] = {}


def replace() -> None:
    """Replace the constructors of ``grpc``, wherever a loaded module has them by name.

    Calling it again does nothing. ``grpc.aio`` stays as it is.
    """
    native = _native()
    with _lock:
        if _stock:
            return
        _stock.update((name, getattr(grpc, name)) for name in NAMES)
        bindings.rebind({id(_stock[name]): native[name] for name in NAMES})


def restore() -> None:
    """Give ``grpc`` its own constructors back. What was made meanwhile stays native."""
    with _lock:
        if not _stock:
            return
        native = _native()
        bindings.rebind({id(native[name]): stock for name, stock in _stock.items()})
        _stock.clear()


def replaced() -> tuple[str, ...]:
    """Name what is replaced at this moment.

    Returns
    -------
    tuple of str
        Such as ``grpc.server``; empty in a process where ``grpc`` is as it was.
    """
    with _lock:
        if not _stock:
            return ()
        native = _native()
        return tuple(f"grpc.{name}" for name in NAMES if getattr(grpc, name) is native[name])


def _native() -> dict[str, Callable[..., Any]]:
    # Not at the top: the package imports this module while it is being imported itself.
    import philote_fast

    return {name: getattr(philote_fast, name) for name in NAMES}
