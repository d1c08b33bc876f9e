"""Servers of Philote's, in a process that is of their flavour."""

from __future__ import annotations

import importlib
import operator
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
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
    server = grpc.server(_pool())
    implicit = isinstance(discipline, ImplicitDiscipline)
    kind = ImplicitServer if implicit else ExplicitServer
    kind(discipline=discipline).attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return port, lambda: server.stop(None).wait()


def _pool() -> ThreadPoolExecutor:
    """Make a pool whose process ends where a discipline asks for that, as by ``sys.exit``.

    Of grpcio's handlers the pool keeps what is no `Exception`, and the client waits for ever.
    """
    pool = ThreadPoolExecutor(max_workers=THREADS)
    submit = pool.submit

    def watched(*task: Any, **keywords: Any) -> Future[Any]:
        future = submit(*task, **keywords)
        future.add_done_callback(_end_if_told_to)
        return future

    # Not by a class of its own: the native server's threads linger in those of this one alone.
    pool.submit = watched  # type: ignore[method-assign]
    return pool


def _end_if_told_to(task: Future[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, Exception):
        sys.stderr.write(f"the discipline raised {type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1)


def _attempt(what: str, do: Callable[[], Any]) -> Any:
    """Run code of a user's; whatever it raises is told as what could not be done."""
    try:
        return do()
    except BaseException as error:
        raise BenchError(f"{what}: {type(error).__name__}: {error}") from error
