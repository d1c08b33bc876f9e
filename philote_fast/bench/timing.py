"""Timing of one subject in this process."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

# A sample lasts about this long: calls in a row, as an optimiser makes them, not one on cold caches
# after another side's turn; and a case takes many samples, so that an interruption spoils few of
# them and the median none.
SAMPLE_SECONDS = 10e-3
MOST_RUNS = 1_000_000
# Before a sample the subject runs for so long, once at least, which is not timed: until then the
# caches are another subject's, and threads that have slept are woken wherever the system pleases.
WARM_SECONDS = 20e-3


def nothing() -> None:
    """Do nothing: most subjects hold only memory, and need no preparation."""


def anything(_: Any) -> None:
    """Accept an answer that is judged by its digest alone."""


@dataclass(frozen=True)
class Subject:
    """Something to time, and how to know that its answer is right.

    Parameters
    ----------
    run : callable
        What is timed.
    check : callable
        Raises unless what ``run`` gave, or left behind, is right. Not timed.
    items : int
        How many things one run does; times are given for each of them.
    close : callable
        Gives back what the subject holds.
    measures : bool
        What ``run`` gives is the figure, in bytes or seconds, and no time is taken.
    before : callable
        Done before each sample. Not timed.
    repeats : bool
        Every answer should be the first one again; where it is not, that is told, and no error.
    """

    run: Callable[[], Any]
    check: Callable[[Any], None] = anything
    items: int = 1
    close: Callable[[], None] = nothing
    measures: bool = False
    before: Callable[[], None] = nothing
    repeats: bool = False


class Sample(NamedTuple):
    """The seconds for each item, and the last answer."""

    seconds: float
    answer: Any


def calibrate(subject: Subject, seconds: float = SAMPLE_SECONDS) -> int:
    """Find how many runs make a sample of some length."""
    loops = 1
    if subject.measures:
        return loops
    subject.before()
    while loops < MOST_RUNS:
        taken, _ = elapsed(subject, loops)
        if taken >= seconds:
            break
        wanted = int(loops * 1.2 * seconds / max(taken, 1e-7))
        loops = min(MOST_RUNS, max(loops + 1, wanted))
    return loops


def sample(subject: Subject, loops: int, *, long: bool = False) -> Sample:
    """Time some runs and check the last answer.

    Parameters
    ----------
    subject : Subject
        What to time.
    loops : int
        How many runs make the sample.
    long : bool
        Whether one run takes so long that it finds the caches as it leaves them itself.
    """
    if subject.measures:
        return Sample(float(subject.run()), None)
    subject.before()
    gc.collect()
    if not long:
        warm(subject)
    seconds, answer = elapsed(subject, loops)
    return Sample(seconds / (loops * subject.items), answer)


def warm(subject: Subject) -> None:
    """Run a subject for a while."""
    start = perf_counter()
    subject.run()
    while perf_counter() - start < WARM_SECONDS:
        subject.run()


def elapsed(subject: Subject, loops: int) -> tuple[float, Any]:
    """Give the seconds that some runs take in all, and the last answer."""
    run = subject.run
    result = None
    start = perf_counter()
    for _ in range(loops):
        result = run()
    seconds = perf_counter() - start
    subject.check(result)
    return seconds, result
