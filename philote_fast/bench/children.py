"""The parent's side of an agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import philote_fast
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import accelerated
from philote_fast.processes import ChildProcess

# Not run from the user's directory: modules there would be imported in the place of others.
_BOOT = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]
sys.path.append({folder!r})
from philote_fast.bench.agent import main
main()
"""


class AskedProcess(ChildProcess):
    """A child that answers requests; see `answering`."""

    #: What it is called where it fails.
    title = "child"

    def ready(self) -> None:
        """Wait until the process can be asked."""
        self._answer()

    def ask(self, do: str, **request: Any) -> Any:
        """Send a request and wait for its result.

        Raises
        ------
        BenchError
            If it cannot be done, or the process has gone.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self.gone() from None
        return self._answer()

    def gone(self) -> BenchError:
        """Give the error for a process that has ended before its time; its last line says why."""
        code = self._process.wait()
        said = self.errors()
        last = f": {said.splitlines()[-1]}" if said else ""
        return BenchError(f"a {self.title} process ended with exit code {code}{last}", said)

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self.gone()
        answer = json.loads(line)
        if "error" in answer:
            raise BenchError(answer["error"], answer["trace"])
        return answer["result"]


class AgentProcess(AskedProcess):
    """An agent in a process of its own; see `agent.Agent` for what it can be asked.

    Parameters
    ----------
    flavour : str
        What the process is to be.
    """

    def __init__(self, flavour: str) -> None:
        self.title = flavour
        # Where this package is, should the interpreter not find it by itself.
        folder = str(Path(philote_fast.__file__).resolve().parent.parent)
        command = [sys.executable, "-c", _BOOT.format(folder=folder), flavour]
        super().__init__(command, accelerated=accelerated(flavour), single_threaded=False)


@contextmanager
def agents(wanted: Sequence[str]) -> Iterator[list[AgentProcess]]:
    """Start agents of some flavours, side by side, and end them all."""
    started: list[AgentProcess] = []
    try:
        for flavour in wanted:
            started.append(AgentProcess(flavour))
        for agent in started:
            agent.ready()
        yield started
    finally:
        # All are told before any is waited for.
        for agent in started:
            agent.release()
        for agent in started:
            agent.close()
