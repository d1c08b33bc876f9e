"""Instructions, counted by Valgrind's callgrind: the same on a busy machine as on a quiet one."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from philote_fast.bench.errors import BenchError

_TOOLS = ("valgrind", "callgrind_control")
_PLACE = re.compile(r"(ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=\((\d+)\)(?: (.*))?$")
# The tables in which callgrind abbreviates names, by the first word of a line.
_TABLES = {"ob": "ob", "cob": "ob", "fn": "fn", "cfn": "fn"}


class Where(NamedTuple):
    """Where instructions are: the binary, the function, and the file of the source.

    The file is that of the line, which may be inlined into a function of another file.
    """

    binary: str
    function: str
    file: str


def need() -> None:
    """Raise, with what helps, unless the tools are installed."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        text = f"{' and '.join(missing)} not found: install Valgrind (apt-get install valgrind)"
        raise BenchError(text)


class Callgrind:
    """Counts the instructions of one process, from one moment to another.

    Parameters
    ----------
    folder : Path
        Where callgrind may write; no other process's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._dumps = 0

    @property
    def command(self) -> list[str]:
        """What the process's command line has to begin with."""
        out = self._folder / "out"
        return [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={out}",
            f"--log-file={self._folder / 'log'}",
        ]

    def begin(self, pid: int) -> None:
        """Begin to count."""
        self._control("--instr=on", pid)
        self._control("--zero", pid)

    def end(self, pid: int) -> Counter[Where]:
        """Count no more, and give the instructions since the beginning by where they are."""
        self._control("--dump", pid)
        self._control("--instr=off", pid)
        self._dumps += 1
        with (self._folder / f"out.{self._dumps}").open(encoding="utf-8") as lines:
            return counted(lines)

    def _control(self, order: str, pid: int) -> None:
        command = ["callgrind_control", order, str(pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or "OK" not in done.stdout:
            said = done.stderr.strip() or done.stdout.strip()
            raise BenchError(f"{' '.join(command)} failed: {said}")


def counted(lines: Iterable[str]) -> Counter[Where]:
    """Add up what each place itself costs, without what it calls, in a file of callgrind's."""
    names: dict[tuple[str, str], str] = {}
    now = {"ob": "", "fn": "", "fl": ""}
    found: Counter[Where] = Counter()
    called = False
    for line in lines:
        place = _PLACE.match(line)
        if place:
            kind, number, name = place.groups()
            table = _TABLES.get(kind, "fl")
            if name is not None:
                names[table, number] = name.strip()
            if not kind.startswith("c"):
                now[table] = names[table, number]
        elif line.startswith("calls="):
            called = True
        elif line[0] in "+-*0123456789":
            if not called:
                found[Where(now["ob"], now["fn"], now["fl"])] += int(line.split()[1])
            called = False
    return found
