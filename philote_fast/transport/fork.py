"""What a forked child has to be told."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from philote_fast import _core


class Inherited(Protocol):
    """Something with locks and threads, of which a child has neither."""

    def after_fork(self) -> None:
        """Begin anew in a child that was just forked."""


_INHERITED: weakref.WeakSet[Inherited] = weakref.WeakSet()


def tell_children(thing: Inherited) -> None:
    """Have ``after_fork`` called in every child.

    Parameters
    ----------
    thing : Inherited
        It is kept by a weak reference.
    """
    _INHERITED.add(thing)


def _after_fork() -> None:
    # First: what is below must not reach the parent's sockets.
    _core.forked()
    for thing in list(_INHERITED):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
