"""Run a case: its sides in turn, sample by sample, in one run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from gains.children import Worker
from gains.model import SECONDS, Case, Side, Target


@dataclass(frozen=True)
class Outcome:
    """A ratio, with what it was made from and whether it is what was asked for.

    `ratio` is one figure over the other where the target says at most, else how many times faster;
    `low` and `high` are its extremes over the generations of processes.
    """

    ours: str
    against: str
    ours_figure: float
    against_figure: float
    ratio: float
    low: float
    high: float
    at_most: float | None
    at_least: float | None
    unit: str = SECONDS

    @property
    def met(self) -> bool | None:
        """Say whether the target is met; None when there is none."""
        if self.at_most is not None:
            return self.ratio <= self.at_most
        return None if self.at_least is None else self.ratio >= self.at_least


# The median figure of each side, one for each generation: seconds for an item, or bytes.
Medians = dict[str, list[float]]


def run(case: Case, progress: Callable[[str], None], quick: bool = False) -> Medians:
    """Take all samples of a case."""
    generations, rounds = (1, 3) if quick else (case.generations, case.rounds)
    medians: Medians = {label: [] for label in case.sides}
    for generation in range(generations):
        progress(f"{case.name}: processes {generation + 1} of {generations}")
        for sides in case.groups():
            for label, seconds in one_generation(sides, rounds, case.memory).items():
                medians[label].append(median(seconds))
    return medians


def one_generation(sides: dict[str, Side], rounds: int, memory: str) -> dict[str, list[float]]:
    """Start processes and sample all sides, one after the other, for some rounds."""
    samples: dict[str, list[float]] = {label: [] for label in sides}
    with ExitStack() as stack:
        workers = {
            process: stack.enter_context(Worker(*process, memory))
            for process in dict.fromkeys(side.process for side in sides.values())
        }
        for side in sides.values():
            workers[side.process].ask(do="prepare", subject=side.subject, size=side.size)
        for _ in range(rounds):
            for label, side in sides.items():
                seconds = workers[side.process].ask(do="time", subject=side.subject, size=side.size)
                samples[label].append(seconds)
    return samples


def judge(target: Target, medians: Medians, unit: str = SECONDS) -> Outcome:
    """Compare two sides of a case."""
    ours, against = medians[target.ours], medians[target.against]

    def ratio(our_seconds: float, other_seconds: float) -> float:
        if target.at_most is not None:
            return our_seconds / other_seconds
        return other_seconds / our_seconds

    each = [ratio(*pair) for pair in zip(ours, against, strict=True)]
    return Outcome(
        ours=target.ours,
        against=target.against,
        ours_figure=median(ours),
        against_figure=median(against),
        ratio=ratio(median(ours), median(against)),
        low=min(each),
        high=max(each),
        at_most=target.at_most,
        at_least=target.at_least,
        unit=unit,
    )
