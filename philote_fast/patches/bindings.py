"""Names bound early, as by ``from philote_mdo.utils import get_chunk_indices``.

Replacing a module's function does not reach the modules that imported it by name. These are found
by looking through ``sys.modules`` for the identical object.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any


def rebind(exchange: Mapping[int, Any]) -> None:
    """Exchange functions wherever a loaded module has them as an attribute.

    Parameters
    ----------
    exchange : mapping of int to object
        The new object by the identity of the old one. The caller keeps the old ones alive.
    """
    if not exchange:
        return
    for names in _namespaces():
        if exchange.keys().isdisjoint(map(id, list(names.values()))):
            continue
        for name, value in list(names.items()):
            if id(value) in exchange:
                names[name] = exchange[id(value)]


def _namespaces() -> Iterator[dict[str, Any]]:
    """Yield the namespace of each loaded module, except for our own, philote_mdo's first.

    philote_mdo comes first so that a module that another thread imports meanwhile gets the new one.
    """
    modules = list(sys.modules.items())
    modules.sort(key=lambda item: not _within(item[0], "philote_mdo"))
    for name, module in modules:
        if issubclass(type(module), types.ModuleType) and not _within(name, "philote_fast"):
            # Past any __getattribute__ of a lazy module, which would load it.
            yield object.__getattribute__(module, "__dict__")


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
