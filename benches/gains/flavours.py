"""The flavours of philote-mdo that are compared: stock, the peer, patched by philote_fast.

A process has one flavour at a time, since each is a set of patches over the same modules.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

STOCK = "stock"
PEER = "peer"
PATCHED = "patched"
FLAVOURS = (STOCK, PEER, PATCHED)

_current = STOCK


def current() -> str:
    """Name the flavour of this process."""
    return _current


@contextmanager
def flavoured(flavour: str) -> Iterator[None]:
    """Run a block with philote_mdo in one flavour."""
    global _current
    _switch(flavour)
    _current = flavour
    try:
        yield
    finally:
        _switch(STOCK)
        _current = STOCK


def _switch(flavour: str) -> None:
    # Importing philote_fast patches at once (unless the environment forbids it), so that every
    # flavour has to say what it wants, stock too.
    import philote_fast
    from gains import peer

    peer.uninstall()
    philote_fast.uninstall()
    if flavour == PEER:
        peer.install()
    elif flavour == PATCHED:
        philote_fast.install()
        _require_fast()
    elif flavour != STOCK:
        raise ValueError(f"unknown flavour {flavour!r}: choose one of {', '.join(FLAVOURS)}")


def _require_fast() -> None:
    # Figures of a half-patched package would be wrong in silence.
    import philote_fast

    status = philote_fast.status()
    if not status.all_fast:
        raise RuntimeError(f"philote_fast could not patch everything:\n{status}")
