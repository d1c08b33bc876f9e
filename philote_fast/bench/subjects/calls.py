"""Whole calls of explicit disciplines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from philote_mdo.general import ExplicitClient

from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles, same_bits


def set_up(client: Any) -> Any:
    """Make a client ready for calls, as the OpenMDAO component does."""
    client.send_stream_options()
    client.run_setup()
    client.get_variable_definitions()
    client.get_partials_definitions()
    return client


def scalars_of(size: int, prefix: str = "x") -> dict[str, NDArray[np.float64]]:
    """Give scalar values by name."""
    values = doubles(size)
    return {f"{prefix}{index}": values[index : index + 1] for index in range(size)}


def expect(found: Any, keys: list[Any], values: NDArray[np.float64]) -> None:
    """Raise unless an answer has exactly these keys, in order, and these values, bit for bit."""
    if list(found) != keys:
        raise AssertionError("not the values that were declared")
    same_bits(np.concatenate([np.ravel(value) for value in found.values()]), values)


def echo(channel: Any, size: int) -> Subject:
    """Send `size` doubles and get them back."""
    client = set_up(ExplicitClient(channel))
    values = doubles(size)
    inputs = {"x": values}
    return Subject(lambda: client.run_compute(inputs), lambda found: expect(found, ["y"], values))


def scalars(channel: Any, size: int) -> Subject:
    """Send `size` scalars and get as many back."""
    client = set_up(ExplicitClient(channel))
    inputs = scalars_of(size)
    keys = [f"y{index}" for index in range(size)]
    return Subject(
        lambda: client.run_compute(inputs), lambda found: expect(found, keys, doubles(size))
    )


def gradient(channel: Any, size: int) -> Subject:
    """Ask for `size` declared partials of a discipline with `size` scalar inputs."""
    client = set_up(ExplicitClient(channel))
    inputs = scalars_of(size)
    keys = [("f", name) for name in inputs]
    return Subject(
        lambda: client.run_compute_partials(inputs),
        lambda found: expect(found, keys, doubles(size)),
    )
