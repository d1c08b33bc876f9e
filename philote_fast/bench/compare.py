"""What has changed between two records."""

from __future__ import annotations

from collections.abc import Iterator

from philote_fast.bench.errors import BenchError
from philote_fast.bench.figures import duration
from philote_fast.bench.flavours import STOCK
from philote_fast.bench.record import CaseRecord, Record, Spread
from philote_fast.bench.table import title_of

_HEAD = ("case", "", "before", "now", "time", "time relative to stock's")


def check_comparable(earlier: Record, subject: str, what: str) -> None:
    """Raise if a record is of something else than the run that is about to begin."""
    if (earlier.subject, earlier.what) != (subject, what):
        before = f"{earlier.subject} {earlier.what}".strip()
        raise BenchError(f"the earlier run measured {before}, this one {subject} {what}".strip())


def text(earlier: Record, now: Record) -> str:
    """Write a table of how the medians have changed.

    A change counts where the quartiles of the two runs have nothing in common. Relative to stock
    means against the figure of stock in the same run, so that another machine or another load
    matters little.

    Raises
    ------
    BenchError
        If the two have no case in common.
    """
    before = {case.name: case for case in earlier.cases}
    common = [case for case in now.cases if case.name in before]
    rows = [row for case in common for row in _rows(before[case.name], case)]
    if not rows:
        raise BenchError("the two runs have no case in common")
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (_HEAD, *rows)
    ]
    lines.append("* beyond the spread: the quartiles of the two runs have nothing in common")
    if earlier.machine["processor"] != now.machine["processor"]:
        lines.append(f"the earlier run was on another machine: {earlier.machine['processor']}")
    return "\n".join(lines) + "\n"


def _rows(before: CaseRecord, now: CaseRecord) -> Iterator[tuple[str, ...]]:
    for name, result in now.results.items():
        if name not in before.results:
            continue
        old, new = before.results[name].timing.spread, result.timing.spread
        yield (
            now.name,
            title_of(name),
            duration(old.median),
            duration(new.median),
            _change(old, new),
            _relative(before, now, name),
        )


def _relative(before: CaseRecord, now: CaseRecord, name: str) -> str:
    """Tell the change of the time in units of stock's."""
    if name == STOCK:
        return ""
    old, new = before.times_faster(name), now.times_faster(name)
    return _change(_inverse(old), _inverse(new)) if old and new else ""


def _inverse(ratio: Spread) -> Spread:
    return Spread(1.0 / ratio.median, 1.0 / ratio.high, 1.0 / ratio.low)


def _change(old: Spread, new: Spread) -> str:
    share = new.median / old.median - 1.0
    mark = ""
    if new.apart_from(old):
        mark = " * slower" if share > 0 else " * faster"
    return f"{share:+.1%}{mark}"
