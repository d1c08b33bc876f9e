"""Child processes: servers to call, and workers that measure one flavour each."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

# The folder of this package: `-m` finds it there, and philote_fast where it is installed.
HOME = Path(__file__).resolve().parent.parent
# A child that does not end by itself within this many seconds is killed.
PATIENCE = 10

_running: set[int] = set()


def running() -> list[int]:
    """Give the identifiers of the children that are not closed."""
    return sorted(_running)


class Child:
    """A module of this package run in a process of its own, spoken to by lines."""

    def __init__(self, module: str, *arguments: object) -> None:
        self.command = [sys.executable, "-m", module, *map(str, arguments)]
        self.process = subprocess.Popen(
            self.command, cwd=HOME, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        _running.add(self.process.pid)

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read_line(self) -> str:
        """Wait for a line of the child."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise self.gone()
        return line

    def write_line(self, line: str) -> None:
        """Send a line to the child."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise self.gone() from error

    def gone(self) -> RuntimeError:
        """Give the error for a child that has ended before its time; it has told why itself."""
        code = self.process.wait(PATIENCE)
        return RuntimeError(f"{' '.join(self.command)} ended with exit code {code}")

    def close(self) -> None:
        """End the child by closing its input, by force if that does not help."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        _running.discard(self.process.pid)


class Server(Child):
    """A server of one flavour; `target` is what a channel connects to."""

    def __init__(self, flavour: str, problem: str, size: int) -> None:
        super().__init__("gains.server", flavour, problem, size)
        self.target = f"127.0.0.1:{int(self.read_line())}"


class Worker(Child):
    """A process of one flavour that prepares subjects and times them when asked."""

    def __init__(self, flavour: str, server_flavour: str, memory: str) -> None:
        super().__init__("gains.worker", flavour, server_flavour, memory)

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its result."""
        self.write_line(json.dumps(request))
        answer = json.loads(self.read_line())
        if "error" in answer:
            raise RuntimeError(f"{request}: {answer['error']}")
        return answer["result"]
