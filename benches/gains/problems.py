"""The disciplines that the benchmarks call, cheap to compute so that Philote's own work is seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from philote_mdo.general import ExplicitDiscipline

from gains.components import Sellar, Vectors, wing
from philote_fast.bench.disciplines import BUILT_IN, Echo, Sized


@cache
def destination(size: int) -> NDArray[np.float64]:
    """Give the array that subjects of a size decode into, one for all as in `doubles`."""
    return np.zeros(size)


class Copy(Echo):
    """One array in, a copy of it out: the server's two arrays are two."""

    def compute(self, inputs: Any, outputs: Any) -> None:
        outputs["y"] = inputs["x"].copy()


class Dynamic(Sized):
    """Many inputs of which the client sets the shapes."""

    def setup(self) -> None:
        for index in range(self.size):
            self.add_input(f"x{index}", dynamic_shape=True)
        self.add_output("f")


PROBLEMS: dict[str, Callable[[int], ExplicitDiscipline]] = {
    **BUILT_IN,
    "copy": Copy,
    "dynamic": Dynamic,
    "vectors": Vectors,
    "sellar": Sellar,
    "wing": wing,
}
