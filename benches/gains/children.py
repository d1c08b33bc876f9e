"""Child processes: servers to call, and workers that measure one flavour each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from philote_fast.bench.children import AgentProcess, AskedProcess
from philote_fast.bench.flavours import RIVAL, accelerated
from philote_fast.processes import ChildProcess, ServerProcess

# The folder of this package: `-m` finds it there, and philote_fast where it is installed.
HOME = str(Path(__file__).resolve().parent.parent)

_running: set[int] = set()


def running() -> list[int]:
    """Give the identifiers of the children that are not closed."""
    return sorted(_running)


class _Counted(ChildProcess):
    """A child that `running` tells of."""

    def __enter__(self) -> Any:
        _running.add(self.pid)
        return self

    def close(self) -> None:
        """End the child, and wait until it has ended."""
        super().close()
        _running.discard(self.pid)


class Server(_Counted, ServerProcess):
    """A server of one flavour; `address` is what a channel connects to."""

    def __init__(self, flavour: str, problem: str, size: int) -> None:
        command = _command("server", flavour, problem, size)
        super().__init__(command, accelerated=True, cwd=HOME)


class _Asked(_Counted, AskedProcess):
    """A child that can be asked as soon as it is entered."""

    def __enter__(self) -> Any:
        super().__enter__()
        try:
            self.ready()
        except BaseException:
            self.close()
            raise
        return self


class Worker(_Asked):
    """A process of one flavour that prepares subjects and times them when asked."""

    def __init__(self, flavour: str, server_flavour: str, memory: str) -> None:
        self.title = flavour
        command = _command("worker", flavour, server_flavour, memory)
        super().__init__(command, accelerated=True, cwd=HOME)


class Profiled(_Asked):
    """A process of one flavour that serves or calls, under a profiler's command line or none."""

    def __init__(self, flavour: str, under: Sequence[str] = ()) -> None:
        self.title = flavour
        command = [*under, *_command("profiled", flavour)]
        super().__init__(command, accelerated=accelerated(flavour), cwd=HOME)


class Rival(_Counted, AgentProcess):
    """A server of another library, or of a bare socket; `address` is where it is."""

    def __init__(self, rival: str, exchanges: Any = ()) -> None:
        super().__init__(RIVAL)
        self.what = {"rival": rival, "exchanges": exchanges}

    def __enter__(self) -> Rival:
        super().__enter__()
        self.ready()
        self.address = f"127.0.0.1:{self.ask('serve_rival', **self.what)}"
        return self


def _command(module: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"gains.{module}", *map(str, arguments)]
