"""Calls from many threads at once, over one channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gains.subjects.calls import served
from philote_fast.bench.subjects.threads import from_threads
from philote_fast.bench.timing import Subject

# In one run, by all threads together: enough that starting and ending together weighs little.
CALLS = 960


def scalar(channel: Any, threads: int) -> Subject:
    """Call with one scalar from so many threads; time is for each call."""
    return from_threads(channel, 1, threads, CALLS // threads)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "call.threads": served("scalars", scalar, problem_size=1)
}
