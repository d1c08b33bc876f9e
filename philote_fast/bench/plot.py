"""The record as a picture: time against the size of an array, and against the count of scalars."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from philote_fast.bench.cases import DOUBLES, SCALARS, Case
from philote_fast.bench.errors import BenchError
from philote_fast.bench.machine import tell
from philote_fast.bench.record import CaseRecord, Record
from philote_fast.bench.rivals import FLIGHT, RAW, ZEROMQ
from philote_fast.bench.table import title_of

SUFFIXES = (".png", ".svg")
_PANELS = {
    DOUBLES: ("One array there and back", "doubles in the array"),
    SCALARS: ("Many scalars in, as many out", "scalars each way"),
}
# Colours that people who cannot tell red from green can tell, and a mark for each besides.
_STYLES: dict[str, dict[str, Any]] = {
    "stock": {"color": "#d55e00", "marker": "o"},
    "patched": {"color": "#0072b2", "marker": "s"},
    "native": {"color": "#009e73", "marker": "D"},
    ZEROMQ: {"color": "#cc79a7", "marker": "^", "linewidth": 1.2},
    FLIGHT: {"color": "#e69f00", "marker": "v", "linewidth": 1.2},
    RAW: {"color": "#555555", "marker": "", "linestyle": "--", "linewidth": 1.2},
}
_OTHER: dict[str, Any] = {"marker": "x"}


def check(path: Path, cases: Sequence[Case]) -> None:
    """Raise where no picture can be made of some cases in a file of this name."""
    if path.suffix.lower() not in SUFFIXES:
        raise BenchError(f"--plot makes {' and '.join(SUFFIXES)}, not {path.suffix or path.name}")
    if not any(case.group in _PANELS for case in cases):
        raise BenchError(f"--plot needs cases of {' or '.join(_PANELS)}")
    try:
        importlib.import_module("matplotlib.figure")
    except Exception as error:
        text = f"--plot cannot import matplotlib: {type(error).__name__}: {error}"
        raise BenchError(text) from error


def draw(record: Record, path: Path) -> None:
    """Draw a record into a file, as its suffix says."""
    # No display: a figure of its own, without pyplot and the state that it keeps.
    from matplotlib.figure import Figure

    panels = [group for group in _PANELS if any(case.group == group for case in record.cases)]
    figure = Figure(figsize=(6.2 * len(panels), 5.4), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axis, group in zip(axes, panels, strict=True):
        _panel(axis, group, [case for case in record.cases if case.group == group])
    names, handles = _legend(axes)
    columns = min(6, len(names))
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False)
    axes[0].set_ylabel("time of a call [ms]")
    note = f"Lines: medians. Shaded: between the quartiles. {tell(record.machine)}"
    figure.supxlabel(note, fontsize=7, color="#555555", wrap=True)
    figure.savefig(path, dpi=150)


def _panel(axis: Any, group: str, cases: list[CaseRecord]) -> None:
    for name in dict.fromkeys(name for case in cases for name in case.results):
        with_it = [case for case in cases if name in case.results]
        spreads = [case.results[name].timing.spread for case in with_it]
        sizes = [case.size for case in with_it]
        style = {"linewidth": 1.8, "markersize": 5, **_STYLES.get(name, _OTHER)}
        (line,) = axis.plot(sizes, [1e3 * s.median for s in spreads], label=title_of(name), **style)
        low, high = ([1e3 * getattr(s, end) for s in spreads] for end in ("low", "high"))
        axis.fill_between(sizes, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
    title, unit = _PANELS[group]
    axis.set(title=title, xlabel=unit, xscale="log", yscale="log")
    _plain_labels(axis)
    axis.grid(visible=True, which="major", alpha=0.35)
    axis.grid(visible=True, which="minor", alpha=0.12)


def _plain_labels(axis: Any) -> None:
    """Write 0.1, 10 and 1,000 in the place of powers of ten."""
    from matplotlib.ticker import FuncFormatter

    for direction in (axis.xaxis, axis.yaxis):
        direction.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _legend(axes: Sequence[Any]) -> tuple[list[str], list[Any]]:
    """Give each line once, whichever panels have it."""
    found: dict[str, Any] = {}
    for axis in axes:
        handles, names = axis.get_legend_handles_labels()
        for name, handle in zip(names, handles, strict=True):
            found.setdefault(name, handle)
    return list(found), list(found.values())
