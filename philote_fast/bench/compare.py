"""What has changed between two records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from philote_fast.bench.cases import Case
from philote_fast.bench.errors import BenchError
from philote_fast.bench.figures import duration
from philote_fast.bench.flavours import STOCK
from philote_fast.bench.record import CaseRecord, Record, Spread
from philote_fast.bench.table import title_of

_HEAD = ("case", "", "before", "now", "time", "time relative to stock's")


def check(earlier: Record, cases: Sequence[Case]) -> None:
    """Raise if a record has none of the cases that are about to be measured."""
    if not {case.name for case in earlier.cases} & {case.name for case in cases}:
        raise BenchError("the earlier run has none of these cases")


def text(earlier: Record, now: Record) -> str:
    """Write a table of how the medians have changed.

    A change counts where the quartiles of the two runs have nothing in common. Relative to stock
    means against the figure of stock in the same run, so that another machine or another load
    matters little.
    """
    before = {case.name: case for case in earlier.cases}
    common = [case for case in now.cases if case.name in before]
    rows = [row for case in common for row in _rows(before[case.name], case)]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (_HEAD, *rows)
    ]
    lines.append("* beyond the spread: the quartiles of the two runs have nothing in common")
    lines += _other_circumstances(earlier, now)
    return "\n".join(lines) + "\n"


def _other_circumstances(earlier: Record, now: Record) -> Iterator[str]:
    """Tell what else was different."""
    if earlier.what != now.what:
        yield f"the earlier run measured {earlier.what}, this one {now.what}"
    for name in ("processor", "cores", "python"):
        if earlier.machine[name] != now.machine[name]:
            yield f"{name} of the earlier run: {earlier.machine[name]}"
    for name, version in now.machine["packages"].items():
        before = earlier.machine["packages"].get(name)
        if before != version:
            yield f"{name} of the earlier run: {before}"


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
