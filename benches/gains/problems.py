"""The disciplines that the benchmarks call, cheap to compute so that Philote's own work is seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from philote_mdo.general import ExplicitDiscipline

from gains.components import Diagonal, Scalars, Sellar, Vectors, wing


@cache
def doubles(size: int) -> NDArray[np.float64]:
    """Give reproducible doubles of many magnitudes, with the odd ones that a codec may spoil.

    Subjects that are compared share one array: where it lies in its page changes how fast it is
    copied, by a third.
    """
    values = np.random.default_rng(20_240_607).standard_normal(size)
    values *= 10.0 ** (np.arange(size) % 40 - 20)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308])
    if size > 100:
        values[10 : 10 + odd.size] = odd
    values.flags.writeable = False
    return values


@cache
def destination(size: int) -> NDArray[np.float64]:
    """Give the array that subjects of a size decode into, one for all as in `doubles`."""
    return np.zeros(size)


def same_bits(got: Any, expected: NDArray[np.float64]) -> None:
    """Raise unless an array is bit for bit what it should be."""
    if not isinstance(got, np.ndarray) or got.shape != expected.shape:
        raise AssertionError(f"expected an array of shape {expected.shape}, got {got!r:.200}")
    if got.dtype != expected.dtype or got.tobytes() != expected.tobytes():
        wrong = np.flatnonzero(got.view(np.int64) != expected.view(np.int64))
        raise AssertionError(f"{wrong.size} of {got.size} values differ, first at {wrong[:1]}")


class Echo(ExplicitDiscipline):
    """One array in, the same array out."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def setup(self) -> None:
        self.add_input("x", shape=(self.size,))
        self.add_output("y", shape=(self.size,))

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["y"] = inputs["x"]


class Copy(Echo):
    """One array in, a copy of it out: the server's two arrays are two."""

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["y"] = inputs["x"].copy()


class Gradient(ExplicitDiscipline):
    """One output with a declared partial by each of many scalar inputs."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def setup(self) -> None:
        for index in range(self.size):
            self.add_input(f"x{index}")
        self.add_output("f")

    def setup_partials(self) -> None:
        for index in range(self.size):
            self.declare_partials("f", f"x{index}")

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["f"] = sum(inputs.values())

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        for index in range(self.size):
            name = f"x{index}"
            partials["f", name] = inputs[name]


class Dynamic(ExplicitDiscipline):
    """Many inputs of which the client sets the shapes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def setup(self) -> None:
        for index in range(self.size):
            self.add_input(f"x{index}", dynamic_shape=True)
        self.add_output("f")


PROBLEMS: dict[str, Callable[[int], ExplicitDiscipline]] = {
    "echo": Echo,
    "copy": Copy,
    "scalars": Scalars,
    "gradient": Gradient,
    "dynamic": Dynamic,
    "diagonal": Diagonal,
    "vectors": Vectors,
    "sellar": Sellar,
    "wing": wing,
}
