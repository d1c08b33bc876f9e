"""Servers of Philote's, in a process that is of their flavour."""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from philote_mdo.general import Discipline, ExplicitServer, ImplicitDiscipline, ImplicitServer

from philote_fast.bench.cases import THREADS
from philote_fast.bench.disciplines import BUILT_IN
from philote_fast.bench.errors import BenchError


def built_in(name: str, size: int) -> Any:
    """Make a discipline of this package's."""
    return BUILT_IN[name](size)


def own(specification: str, directory: str) -> Any:
    """Make a user's own discipline.

    Parameters
    ----------
    specification : str
        The module and the class, or function, that makes it: ``module:Class``.
    directory : str
        Where modules are looked for first, as ``python -m`` does in the current directory.

    Raises
    ------
    BenchError
        If there is no such discipline, or it cannot be made.
    """
    module_name, _, name = specification.partition(":")
    if directory not in sys.path:
        sys.path.insert(0, directory)
    module = _attempt(f"cannot import {module_name}", lambda: importlib.import_module(module_name))
    made = _attempt(f"no {name} in {module_name}", lambda: operator.attrgetter(name)(module))
    if callable(made) and not isinstance(made, Discipline):
        made = _attempt(f"cannot make {specification}", made)
    if not isinstance(made, Discipline):
        kind = type(made).__name__
        raise BenchError(f"{specification} gives a {kind}, not a discipline of philote_mdo's")
    return made


def serve(discipline: Any) -> tuple[int, Callable[[], None]]:
    """Serve a discipline on a free port of the loopback; give the port, and what ends it."""
    server = grpc.server(ThreadPoolExecutor(max_workers=THREADS))
    implicit = isinstance(discipline, ImplicitDiscipline)
    kind = ImplicitServer if implicit else ExplicitServer
    kind(discipline=discipline).attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return port, lambda: server.stop(None).wait()


def _attempt(what: str, do: Callable[[], Any]) -> Any:
    """Run code of a user's; whatever it raises is told as what could not be done."""
    try:
        return do()
    except BaseException as error:
        raise BenchError(f"{what}: {type(error).__name__}: {error}") from error
