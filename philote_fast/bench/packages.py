"""Packages that only some options need."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from philote_fast.bench.errors import BenchError

PLOT = ("matplotlib",)
PEERS = ("zmq", "pyarrow")
# What pip calls them, where that is not the name of the module.
_PIP = {"zmq": "pyzmq"}


def need(option: str, modules: Sequence[str], extra: str) -> None:
    """Raise, with the command that helps, unless some modules are installed.

    Parameters
    ----------
    option : str
        The option that needs them.
    modules : sequence of str
        The modules.
    extra : str
        The extra of philote-fast that has them.
    """
    missing = [_PIP.get(name, name) for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise BenchError(
            f"{option} needs {' and '.join(missing)}: pip install 'philote-fast[{extra}]'"
        )
