"""Where a call spends its time, as tables."""

from __future__ import annotations

from typing import Any

from gains.blocks import table
from gains.layers import LAYERS
from gains.shares import SIDES, Share
from philote_fast.bench.cases import Case
from philote_fast.bench.figures import duration
from philote_fast.bench.machine import tell

# What was found, by flavour and by the name of the case.
Shares = dict[str, dict[str, Share]]

_TIMES = (
    "call",
    "",
    "time",
    "client: own",
    "client: kernel",
    "server: own",
    "server: kernel",
    "client not running",
)


def text(found: Shares, cases: list[Case], machine: dict[str, Any]) -> str:
    """Write the times of all cases, then the instructions of each."""
    times = table(
        _TIMES,
        (
            (case.title, flavour, *_times(shares[case.name]))
            for case in cases
            for flavour, shares in found.items()
        ),
    )
    parts = [times, *(_instructions(case, found) for case in cases), tell(machine)]
    return "\n".join(parts)


def _times(share: Share) -> tuple[str, ...]:
    used = [duration(max(seconds, 0.0)) for side in SIDES for seconds in share.used[side]]
    waiting = share.waiting / share.seconds
    told = f"{waiting:.0%}" if waiting > 0 else "never: its threads overlap"
    return duration(share.seconds), *used, told


def _instructions(case: Case, found: Shares) -> str:
    columns = [
        (f"{flavour}, {side}", shares[case.name].instructions[side])
        for flavour, shares in found.items()
        for side in SIDES
    ]
    heads = (case.title, *(name for name, _ in columns))
    rows = [(layer, *(_percent(counts, layer) for _, counts in columns)) for layer in LAYERS]
    totals = ("instructions of a call", *(f"{_all(counts):,}" for _, counts in columns))
    return table(heads, [*rows, totals])


def _percent(counts: Any, layer: str) -> str:
    share = 100.0 * counts[layer] / max(1, _all(counts))
    if not counts[layer]:
        return ""
    return f"{share:.0f}%" if share >= 1 else "< 1%"


def _all(counts: Any) -> int:
    return int(sum(counts.values()))
