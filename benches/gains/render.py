"""The outcomes as tables for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from gains.blocks import table
from gains.compare import Outcome
from gains.model import BYTES
from philote_fast.bench.figures import duration, number
from philote_fast.bench.machine import tell

# The block of a document that the table goes into.
BLOCK = "gains"
# More comparisons than this in a case, and people see the worst one only.
MANY = 6

Results = dict[str, list[Outcome]]


def figure(value: float, unit: str) -> str:
    """Write a figure with three digits and a fitting unit."""
    return f"{value / 1e6:.3g} MB" if unit == BYTES else duration(value)


def ratio(outcome: Outcome) -> str:
    """Write a ratio with the sense that it has."""
    if outcome.at_most is not None:
        what = "memory" if outcome.unit == BYTES else "time"
        return f"{number(outcome.ratio)} times the {what}"
    return f"{number(outcome.ratio)}x faster"


def target(outcome: Outcome) -> str:
    """Write what was to be reached."""
    if outcome.at_most is not None:
        return f"at most {outcome.at_most:g}"
    return "" if outcome.at_least is None else f"at least {outcome.at_least:g}"


def verdict(outcome: Outcome) -> str:
    """Say whether the target is met."""
    return {True: "met", False: "missed", None: ""}[outcome.met]


def shown(outcomes: list[Outcome]) -> list[Outcome]:
    """Give the outcomes that people see of a case."""
    if len(outcomes) <= MANY:
        return outcomes
    return [min(outcomes, key=lambda outcome: outcome.ratio)]


def missed(results: Results) -> list[str]:
    """Name the comparisons that miss their target."""
    return [
        f"{name}: {outcome.ours} against {outcome.against}: {ratio(outcome)}, {target(outcome)}"
        for name, outcomes in results.items()
        for outcome in outcomes
        if outcome.met is False
    ]


def rows(results: Results) -> Iterable[tuple[str, ...]]:
    """Give the cells of the table."""
    for name, outcomes in results.items():
        for outcome in shown(outcomes):
            what = name if len(outcomes) <= MANY else f"{name}; the worst of {len(outcomes)}"
            yield (
                what,
                f"{outcome.ours}: {figure(outcome.ours_figure, outcome.unit)}",
                f"{outcome.against}: {figure(outcome.against_figure, outcome.unit)}",
                ratio(outcome),
                target(outcome),
                verdict(outcome),
            )


def markdown(results: Results, machine: dict[str, Any]) -> str:
    """Write the table and where it was made."""
    heads = ("what", "figure", "against", "ratio", "target", "")
    return f"{table(heads, rows(results))}\n{tell(machine)}\n"


def as_json(results: Results, machine: dict[str, Any]) -> dict[str, Any]:
    """Give everything, for other programs."""
    return {
        "machine": machine,
        "cases": [
            {
                "name": name,
                "comparisons": [asdict(outcome) | {"met": outcome.met} for outcome in outcomes],
            }
            for name, outcomes in results.items()
        ],
    }
