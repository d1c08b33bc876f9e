"""Whole calls of an implicit discipline."""

from __future__ import annotations

from typing import Any

import numpy as np
from philote_mdo.general import ImplicitClient

from philote_fast.bench.subjects.calls import expect, scalars_of, set_up
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles


def solve(channel: Any, size: int) -> Subject:
    """Have `size` scalar states solved for."""
    client = set_up(ImplicitClient(channel))
    inputs = scalars_of(size)
    keys = [f"y{index}" for index in range(size)]
    return Subject(
        lambda: client.run_solve_residuals(inputs),
        lambda found: expect(found, keys, 0.5 * doubles(size)),
    )


def residuals(channel: Any, size: int) -> Subject:
    """Ask for the residuals of `size` scalar states."""
    client = set_up(ImplicitClient(channel))
    inputs, states = scalars_of(size), scalars_of(size, "y")
    expected = 2.0 * doubles(size) - doubles(size)
    return Subject(
        lambda: client.run_compute_residuals(inputs, states),
        lambda found: expect(found, list(states), expected),
    )


def gradients(channel: Any, size: int) -> Subject:
    """Ask for the partials of `size` residuals, each by its input and by its state."""
    client = set_up(ImplicitClient(channel))
    inputs, states = scalars_of(size), scalars_of(size, "y")
    keys = [(state, of) for name, state in zip(inputs, states, strict=True) for of in (name, state)]
    expected = np.column_stack((-doubles(size), 2.0 * doubles(size))).ravel()
    return Subject(
        lambda: client.run_residual_gradients(inputs, states),
        lambda found: expect(found, keys, expected),
    )
