"""Measures where a call spends its time: processor time of each side, and instructions by layer."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from gains.callgrind import Callgrind
from gains.children import Profiled
from gains.layers import by_layer, require_symbols
from philote_fast.bench.cases import Case

CLIENT, SERVER = "client", "server"
SIDES = (CLIENT, SERVER)
# Rounds of the times, and how long each takes: the kernel counts processor time in ticks.
_ROUNDS, _ROUND_SECONDS = 5, 0.5
# Calls that are counted: some, though each takes fifty times its time.
_FEWEST, _MOST, _COUNTED_SECONDS = 3, 40, 0.05
_WARM = 3


@dataclass
class Share:
    """What one call of a case takes with one implementation.

    Parameters
    ----------
    seconds : float
        Its time.
    used : dict of tuple of float
        By side, the seconds of processor that the process itself and the kernel take for it.
    instructions : dict of Counter
        By side, the instructions of a call by layer.
    """

    seconds: float
    used: dict[str, tuple[float, float]]
    instructions: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def waiting(self) -> float:
        """How much of its time the client's process does not run; less than 0 with many threads."""
        return self.seconds - sum(self.used[CLIENT])


Progress = Callable[[str], None]


def measure(flavour: str, cases: list[Case], progress: Progress) -> dict[str, Share]:
    """Measure some cases with one implementation; give what was found by their names."""
    with Pair(flavour) as pair:
        shares = {}
        for case in cases:
            progress(f"{flavour}: {case.name}: times")
            pair.prepare(case)
            shares[case.name] = _times(pair)
    for side in SIDES:
        with tempfile.TemporaryDirectory() as folder, Pair(flavour, side, Path(folder)) as pair:
            for case in cases:
                progress(f"{flavour}: {case.name}: instructions of the {side}")
                pair.prepare(case)
                share = shares[case.name]
                calls = int(min(_MOST, max(_FEWEST, _COUNTED_SECONDS / share.seconds)))
                share.instructions[side] = pair.counted(side, calls)
    return shares


class Pair:
    """A client and a server, one of them under callgrind if need be.

    Parameters
    ----------
    flavour : str
        What both are.
    counted : str, optional
        Which side's instructions are counted.
    folder : Path, optional
        Where callgrind may write.
    """

    def __init__(self, flavour: str, counted: str = "", folder: Path = Path()) -> None:
        self._callgrind = Callgrind(folder)
        with ExitStack() as stack:
            self._processes = {
                side: stack.enter_context(
                    Profiled(flavour, self._callgrind.command if side == counted else ())
                )
                for side in SIDES
            }
            self._stack = stack.pop_all()

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def prepare(self, case: Case) -> None:
        """Make a case ready, in the place of the last one."""
        client, server = (self._processes[side] for side in SIDES)
        client.ask("close")
        server.ask("close")
        port = server.ask("serve", discipline=case.discipline, size=case.size)
        address = f"127.0.0.1:{port}"
        call = {"subject": case.subject, "size": case.size, "address": address}
        client.ask("prepare", key="call", seconds=0.0, **call)
        self.repeat(_WARM)

    def repeat(self, calls: int) -> float:
        """Make some calls, and give the seconds that they take in all."""
        return float(self._processes[CLIENT].ask("repeat", key="call", calls=calls))

    def used(self, side: str) -> tuple[float, float]:
        """Give the seconds of processor that one side has had."""
        own, kernel = self._processes[side].ask("used")
        return own, kernel

    def counted(self, side: str, calls: int) -> Counter[str]:
        """Count one side's instructions of a call, by layer."""
        pid = self._processes[side].pid
        self._callgrind.begin(pid)
        self.repeat(calls)
        found = self._callgrind.end(pid)
        require_symbols(found)
        return Counter({layer: count // calls for layer, count in by_layer(found).items()})


def _times(pair: Pair) -> Share:
    once = pair.repeat(_WARM) / _WARM
    calls = max(1, int(_ROUND_SECONDS / once))
    rounds = [_round(pair, calls) for _ in range(_ROUNDS)]
    used = {
        side: (
            median(round.used[side][0] for round in rounds),
            median(round.used[side][1] for round in rounds),
        )
        for side in SIDES
    }
    return Share(median(round.seconds for round in rounds), used)


def _round(pair: Pair, calls: int) -> Share:
    before = {side: pair.used(side) for side in SIDES}
    seconds = pair.repeat(calls) / calls
    used = {}
    for side in SIDES:
        own, kernel = pair.used(side)
        used[side] = ((own - before[side][0]) / calls, (kernel - before[side][1]) / calls)
    return Share(seconds, used)
