"""What is timed. A subject is made by name and size, in a process that has its flavour already."""

from __future__ import annotations

from collections.abc import Callable

from gains.subjects import calls, codec, metadata, openmdao, peak, rivals, scalars, table, threads
from philote_fast.bench.timing import Subject

SUBJECTS: dict[str, Callable[[int], Subject]] = {
    **codec.SUBJECTS,
    **scalars.SUBJECTS,
    **table.SUBJECTS,
    **metadata.SUBJECTS,
    **calls.SUBJECTS,
    **threads.SUBJECTS,
    **peak.SUBJECTS,
    **rivals.SUBJECTS,
    **openmdao.SUBJECTS,
}


def make(name: str, size: int) -> Subject:
    """Prepare a subject."""
    return SUBJECTS[name](size)
