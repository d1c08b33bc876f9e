"""The stages of a record as a table and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gains.blocks import table
from gains.calls_table import result, where
from gains.stages import CASES, STAGES, Stage
from philote_fast.bench.errors import BenchError
from philote_fast.bench.figures import duration, number
from philote_fast.bench.record import CaseRecord, Record

_MARKERS = "os^Dv"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")


def staged(record: Record) -> list[CaseRecord]:
    """Give the cases of a record that have all stages.

    Raises
    ------
    BenchError
        If there are none.
    """
    found = [case for case in record.cases if case.name in CASES]
    names = [stage.name for stage in STAGES]
    complete = [case for case in found if all(name in case.results for name in names)]
    if not complete:
        raise BenchError("the record has no stages: have benches/staged.py measure them")
    return complete


def text(record: Record) -> str:
    """Write the table: in each cell the time, and how many times faster that is.

    The first ratio is to stock, the second to the stage before.
    """
    cases = staged(record)
    heads = ("stage", *(case.title for case in cases))
    rows = ((stage.title, *(_cell(case, at) for case in cases)) for at, stage in enumerate(STAGES))
    return f"{table(heads, rows)}\n{where(record)}"


def draw(record: Record, path: Path) -> None:
    """Draw the time of each call over the stages."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    axis = figure.subplots()
    for case, marker, colour in zip(staged(record), _MARKERS, _COLOURS, strict=False):
        spreads = [case.results[stage.name].timing.spread for stage in STAGES]
        low = [1e3 * (spread.median - spread.low) for spread in spreads]
        high = [1e3 * (spread.high - spread.median) for spread in spreads]
        axis.errorbar(
            list(map(_label, STAGES)),
            [1e3 * spread.median for spread in spreads],
            yerr=(low, high),
            label=case.title,
            marker=marker,
            color=colour,
            capsize=3,
        )
    axis.set(yscale="log", ylabel="time of a call [ms]", title="From stock to native, by stages")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.grid(visible=True, which="major", alpha=0.35)
    axis.grid(visible=True, which="minor", axis="y", alpha=0.12)
    figure.legend(loc="outside right center", frameon=False)
    note = f"Marks: medians. Bars: between the quartiles. {where(record)}"
    figure.supxlabel(note, fontsize=7, color="#555555", wrap=True)
    figure.savefig(path, dpi=150)


def _cell(case: CaseRecord, at: int) -> str:
    return ", ".join([duration(result(case, STAGES[at].name)), *_ratios(case, at)])


def _ratios(case: CaseRecord, at: int) -> Iterator[str]:
    mine = case.results[STAGES[at].name].timing
    for other in (0, at - 1) if at > 1 else (0,) * at:
        theirs = case.results[STAGES[other].name].timing
        yield f"{number(mine.times_faster(theirs).median)}x"


def _label(stage: Stage) -> str:
    """Break a title into lines that stand beside one another."""
    return stage.title.replace("*", "").replace(" in ", "\nin ").replace(" (", "\n(")
