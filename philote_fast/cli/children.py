"""Children that ``multiprocessing`` starts are native too.

A forked child is so by itself. A spawned one, and one of a fork server, begins by unpickling what
its parent prepared for it; the parent adds an object to that whose unpickling makes it native.
"""

from __future__ import annotations

import functools
import runpy
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from philote_fast.cli import startup

#: Makes the interpreter that runs it native.
STARTUP_FILE = Path(startup.__path__[0]) / "sitecustomize.py"


class _Passenger:
    """Unpickles by running the startup file: nothing but the standard library is needed to load it.

    The child's ``sys.path`` is not yet its parent's when it unpickles this.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return runpy.run_path, (str(STARTUP_FILE), None, "philote_fast_startup")


def make_native_too() -> None:
    """Have the children of this process made native before they run anything of the user's."""
    prepare = spawn.get_preparation_data
    if hasattr(prepare, "__wrapped__"):
        return

    @functools.wraps(prepare)
    def with_passenger(*arguments: Any, **keywords: Any) -> dict[str, Any]:
        # multiprocessing itself looks only at the keys that it knows.
        return {**prepare(*arguments, **keywords), "philote_fast": _Passenger()}

    spawn.get_preparation_data = with_passenger
