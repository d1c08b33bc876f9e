"""The record as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from philote_fast.bench.cases import THREADS
from philote_fast.bench.figures import number, significant
from philote_fast.bench.machine import tell
from philote_fast.bench.record import VARIES, CaseRecord, Record, Result
from philote_fast.bench.rivals import FLIGHT, RAW, ZEROMQ

#: How the sides that are not implementations of Philote are called.
TITLES = {RAW: "raw socket (floor)", ZEROMQ: "ZeroMQ", FLIGHT: "Arrow Flight"}
_HEADS = (
    "",
    "us a call",
    "quartiles",
    "times faster",
    "messages",
    "bytes",
    "calls/s",
    f"calls/s, {THREADS} threads",
)


def title_of(name: str) -> str:
    """Name a side for people."""
    return TITLES.get(name, name)


def text(record: Record) -> str:
    """Write a record as a table, with where it was made."""
    lines: list[str] = []
    threads = any(each.threads for case in record.cases for each in case.results.values())
    heads = _HEADS if threads else _HEADS[:-1]
    blocks = [[row[: len(heads)] for row in _rows(case)] for case in record.cases]
    widths = _widths([heads, *(row for rows in blocks for row in rows)])
    for case, rows in zip(record.cases, blocks, strict=True):
        lines += ["", f"{case.name}: {case.title}"]
        lines += [_line(cells, widths) for cells in (heads, *rows)]
        if case.answers == VARIES:
            lines.append(
                "  values differ from call to call of one implementation: they are not compared"
            )
    lines += ["", *(f"left out: {name}: {why}" for name, why in record.skipped.items())]
    return "\n".join([*lines, *_closing(record)]).strip("\n") + "\n"


def _closing(record: Record) -> Iterator[str]:
    compared = [case for case in record.cases if case.answers != VARIES]
    if compared:
        names = [name for name in compared[0].results if name not in TITLES]
        yield f"{', '.join(names)}: the same values bit for bit in {_cases(len(compared))}"
    if record.subject == "target":
        yield f"the server at {record.what} was the same one, whatever it is: only clients differ"
    yield f"{tell(record.machine)} {record.seconds:.0f} s."


def _cases(count: int) -> str:
    return f"{count} case" if count == 1 else f"all {count} cases"


def _rows(case: CaseRecord) -> Iterator[tuple[str, ...]]:
    for name, result in case.results.items():
        ratio = None if name in TITLES else case.times_faster(name)
        faster = f"{number(ratio.median)}" if ratio else ""
        yield (title_of(name), *_times(result), faster, *_counts(result), *_rates(result))


def _times(result: Result) -> tuple[str, str]:
    spread = result.timing.spread
    low, high = significant(1e6 * spread.low), significant(1e6 * spread.high)
    return significant(1e6 * spread.median), f"{low} to {high}"


def _counts(result: Result) -> tuple[str, str]:
    if result.messages is None or result.bytes is None:
        return "", ""
    return f"{result.messages:,}", f"{result.bytes:,}"


def _rates(result: Result) -> tuple[str, str]:
    alone = significant(1.0 / result.timing.spread.median)
    return alone, significant(1.0 / result.threads.spread.median) if result.threads else ""


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        f"{cell:<{width}}" if index == 0 else f"{cell:>{width}}"
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"  {'  '.join([first, *rest])}".rstrip()
