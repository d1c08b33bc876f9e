"""The calls of a record of `philote-fast bench` as tables for documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gains.blocks import table
from philote_fast.bench.errors import BenchError
from philote_fast.bench.figures import duration, number
from philote_fast.bench.flavours import FLAVOURS, NATIVE, PATCHED, STOCK
from philote_fast.bench.machine import tell
from philote_fast.bench.record import CaseRecord, Record
from philote_fast.bench.rivals import RAW

# What a user asks first.
README_CASES = (
    "scalars-1",
    "scalars-100",
    "scalars-1000",
    "doubles-250000",
    "gradient-1000",
    "solve-100",
    "dynamic-shapes-100",
    "declaration-500",
    "discrete-20",
    "openmdao-100",
)


def few(record: Record) -> str:
    """Write the calls that README shows."""
    heads = ("call", STOCK, PATCHED, "times faster", NATIVE, "times faster")
    rows = (
        (case.title, *_time_and_ratios(case, FLAVOURS)) for case in _wanted(record, README_CASES)
    )
    return f"{table(heads, rows)}\n{where(record)}"


def every(record: Record) -> str:
    """Write all calls, with the floor and with what goes over the wire."""
    ratio = "times faster"
    heads = ("call", STOCK, PATCHED, ratio, NATIVE, ratio, "floor", "messages", "bytes")
    return f"{table(heads, map(_row, record.cases))}\n{where(record)}"


def where(record: Record) -> str:
    """Say when and where a record was made."""
    return f"{tell(record.machine)} {record.created[:10]}."


def require(names: Sequence[str], present: Collection[str]) -> None:
    """Raise unless all cases of a table are there."""
    missing = [name for name in names if name not in present]
    if missing:
        raise BenchError(f"the table needs {', '.join(missing)} too")


def result(case: CaseRecord, name: str) -> float:
    """Give the median of an implementation in a case.

    Raises
    ------
    BenchError
        If the record does not have it.
    """
    if name not in case.results:
        raise BenchError(f"the record has no {name} in {case.name}")
    return case.results[name].timing.spread.median


def _row(case: CaseRecord) -> tuple[str, ...]:
    native = case.results[NATIVE]
    return (
        case.title,
        *_time_and_ratios(case, FLAVOURS),
        duration(result(case, RAW)),
        f"{native.messages or 0:,}",
        f"{native.bytes or 0:,}",
    )


def _time_and_ratios(case: CaseRecord, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        yield duration(result(case, name))
        ratio = case.times_faster(name)
        if ratio is not None:
            yield f"{number(ratio.median)}x"


def _wanted(record: Record, names: Sequence[str]) -> list[CaseRecord]:
    found = {case.name: case for case in record.cases}
    require(names, found)
    return [found[name] for name in names]
