"""Timing of one subject in this process."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

# A sample lasts about this long: the clock's grain weighs nothing, and a case takes many samples,
# so that an interruption spoils few of them and the median none.
SAMPLE_SECONDS = 2e-3
MOST_RUNS = 1_000_000


def nothing() -> None:
    """Close nothing: most subjects hold only memory."""


@dataclass(frozen=True)
class Subject:
    """Something to time, and how to know that its answer is right.

    Parameters
    ----------
    run
        What is timed.
    check
        Raises unless what `run` gave, or left behind, is right. Not timed.
    items
        How many things one run does; times are given for each of them.
    close
        Gives back what the subject holds.
    measures
        What `run` gives is the figure, in bytes, and no time is taken.
    """

    run: Callable[[], Any]
    check: Callable[[Any], None]
    items: int = 1
    close: Callable[[], None] = nothing
    measures: bool = False


def calibrate(subject: Subject) -> int:
    """Find how many runs make a sample."""
    loops = 1
    if subject.measures:
        return loops
    while loops < MOST_RUNS:
        seconds = elapsed(subject, loops)
        if seconds >= SAMPLE_SECONDS:
            break
        wanted = int(loops * 1.2 * SAMPLE_SECONDS / max(seconds, 1e-7))
        loops = min(MOST_RUNS, max(loops + 1, wanted))
    return loops


def sample(subject: Subject, loops: int) -> float:
    """Time some runs and check the last answer; give the seconds for each item."""
    if subject.measures:
        return float(subject.run())
    # The caches are another subject's until this one has run.
    subject.run()
    gc.collect()
    return elapsed(subject, loops) / (loops * subject.items)


def elapsed(subject: Subject, loops: int) -> float:
    """Give the seconds that some runs take in all."""
    run = subject.run
    result = None
    start = perf_counter()
    for _ in range(loops):
        result = run()
    seconds = perf_counter() - start
    subject.check(result)
    return seconds
