"""What is timed, by name: each makes a subject of a channel and a size, in a client's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from philote_fast.bench.subjects import calls, declaring, discrete, implicit, shapes, threads
from philote_fast.bench.timing import Subject

SUBJECTS: dict[str, Callable[[Any, int], Subject]] = {
    "echo": calls.echo,
    "scalars": calls.scalars,
    "gradient": calls.gradient,
    "threads": threads.scalars,
    "solve": implicit.solve,
    "residuals": implicit.residuals,
    "residual gradients": implicit.gradients,
    "shapes": shapes.shapes,
    "declaring": declaring.declaring,
    "discrete": discrete.discrete,
}


def make(name: str, channel: Any, size: int) -> Subject:
    """Prepare a subject."""
    if name == "openmdao":
        # Imported for this one alone: not everybody has OpenMDAO, and it takes a second.
        from philote_fast.bench.subjects import model

        return model.run_model(channel, size)
    if name.startswith("own "):
        from philote_fast.bench.subjects import own

        return own.SUBJECTS[name](channel, size)
    return SUBJECTS[name](channel, size)
