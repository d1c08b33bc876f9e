"""Parts of philote_mdo that are patched when they are imported, if they ever are.

philote_mdo.openmdao imports OpenMDAO, which takes a second and may not be installed. Importing
philote_fast must do neither, so a finder waits on ``sys.meta_path`` for that import and lets the
patches follow it.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def is_imported(name: str) -> bool:
    """Say whether a module has been imported, to its end.

    Parameters
    ----------
    name : str
        The module's full name.
    """
    module = sys.modules.get(name)
    if module is None:
        return False
    # The import system's own mark of a module whose code still runs.
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)


class Watch(importlib.abc.MetaPathFinder):
    """Calls a function when a module has been imported.

    Parameters
    ----------
    name : str
        The module's full name.
    then : callable
        Called without arguments, in the thread that imports, before the import returns.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self._then = then

    def start(self) -> None:
        """Watch, from now on."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Watch no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as the other finders do, with a loader that calls back."""
        if fullname != self.name:
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec

    def _found_by_others(self, *request: Any) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            found: ModuleSpec | None = find_spec(*request)
            if found is not None:
                return found
        return None


class _Loader(importlib.abc.Loader):
    """Loads as another loader does, in whose place it is only while it loads."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as the other loader does."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code, then call back."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()
