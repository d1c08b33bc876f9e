"""The flavours of philote-mdo that are compared, and what a process of each has.

A process has one flavour at a time, since each is a set of patches over the same modules. A call
has two: that of the client's process, and that of the server's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from philote_fast.bench.flavours import NATIVE, PATCHED, RIVAL, STOCK

__all__ = ["FLAVOURS", "NATIVE", "PATCHED", "PEER", "RIVAL", "STOCK", "flavoured", "server_flavour"]

PEER = "peer"
FLAVOURS = (STOCK, PEER, PATCHED, NATIVE, RIVAL)

_server_flavour = STOCK


def server_flavour() -> str:
    """Name the flavour of the servers that this process calls."""
    return _server_flavour


@contextmanager
def flavoured(flavour: str, server: str | None = None) -> Iterator[None]:
    """Run a block with philote_mdo in one flavour, and its servers in that or in another."""
    global _server_flavour
    _switch(flavour)
    _server_flavour = server or flavour
    try:
        yield
    finally:
        _switch(STOCK)
        _server_flavour = STOCK


def _switch(flavour: str) -> None:
    # Importing philote_fast patches at once (unless the environment forbids it), so that every
    # flavour has to say what it wants, stock too.
    import philote_fast
    from gains import peer
    from philote_fast.transport import replacing

    if flavour not in FLAVOURS:
        raise ValueError(f"unknown flavour {flavour!r}: choose one of {', '.join(FLAVOURS)}")
    replacing.restore()
    peer.uninstall()
    philote_fast.uninstall()
    if flavour == PEER:
        peer.install()
    elif flavour in (PATCHED, NATIVE):
        philote_fast.install()
        if flavour == NATIVE:
            replacing.replace()
        _require_fast(flavour)


def _require_fast(flavour: str) -> None:
    # Figures of a half-patched package would be wrong in silence.
    import philote_fast

    status = philote_fast.status()
    if not status.all_fast or bool(status.replaced) != (flavour == NATIVE):
        raise RuntimeError(f"philote_fast could not patch everything:\n{status}")
