"""OpenMDAO's side of the comparison: components that compute where they are, and disciplines."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import openmdao.api as om
from philote_mdo.general import ExplicitDiscipline

from philote_fast.bench.disciplines import Sized

# The doubles of each variable of `Vectors`.
LENGTH = 1000


class Vectors(Sized):
    """As many vectors out as in."""

    def setup(self) -> None:
        for index in range(self.size):
            self.add_input(f"x{index}", shape=(LENGTH,))
        for index in range(self.size):
            self.add_output(f"y{index}", shape=(LENGTH,))

    def compute(self, inputs: Any, outputs: Any) -> None:
        for index in range(self.size):
            outputs[f"y{index}"] = inputs[f"x{index}"]


class LocalDiagonal(om.ExplicitComponent):
    """`Diagonal` as a component of OpenMDAO's own."""

    def initialize(self) -> None:
        self.options.declare("size")

    def setup(self) -> None:
        for index in range(self.options["size"]):
            self.add_input(f"x{index}", shape=(1,))
        for index in range(self.options["size"]):
            self.add_output(f"y{index}", shape=(1,))

    def setup_partials(self) -> None:
        for index in range(self.options["size"]):
            self.declare_partials(f"y{index}", f"x{index}")

    def compute(self, inputs: Any, outputs: Any) -> None:
        for index in range(self.options["size"]):
            outputs[f"y{index}"] = inputs[f"x{index}"]

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        for index in range(self.options["size"]):
            partials[f"y{index}", f"x{index}"] = inputs[f"x{index}"]


class LocalVectors(om.ExplicitComponent):
    """`Vectors` as a component of OpenMDAO's own."""

    def initialize(self) -> None:
        self.options.declare("size")

    def setup(self) -> None:
        for index in range(self.options["size"]):
            self.add_input(f"x{index}", shape=(LENGTH,))
        for index in range(self.options["size"]):
            self.add_output(f"y{index}", shape=(LENGTH,))

    def compute(self, inputs: Any, outputs: Any) -> None:
        for index in range(self.options["size"]):
            outputs[f"y{index}"] = inputs[f"x{index}"]


class Sellar(ExplicitDiscipline):
    """One of the two disciplines of Sellar's problem: `size` says which."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.which = size
        self.names = ("z", "x", "y2") if size == 1 else ("z", "y1")

    def setup(self) -> None:
        for name in self.names:
            self.add_input(name, shape=(2 if name == "z" else 1,))
        self.add_output(f"y{self.which}", shape=(1,))

    def setup_partials(self) -> None:
        for name in self.names:
            self.declare_partials(f"y{self.which}", name)

    def compute(self, inputs: Any, outputs: Any) -> None:
        z = inputs["z"]
        if self.which == 1:
            outputs["y1"] = z[0] ** 2 + z[1] + inputs["x"] - 0.2 * inputs["y2"]
        else:
            outputs["y2"] = np.sqrt(np.abs(inputs["y1"])) + z.sum()

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        if self.which == 1:
            partials["y1", "z"] = np.array([2.0 * inputs["z"][0], 1.0])
            partials["y1", "x"] = np.array([1.0])
            partials["y1", "y2"] = np.array([-0.2])
        else:
            partials["y2", "z"] = np.array([1.0, 1.0])
            partials["y2", "y1"] = 0.5 / np.sqrt(np.abs(inputs["y1"])) * np.sign(inputs["y1"])


def wing(_: int) -> ExplicitDiscipline:
    """Make the OpenAeroStruct wing of philote-examples, which also tells its own time.

    Its output `seconds` is what it has taken for itself in all calls up to then.
    """
    from philote_examples.oas import OasAerostructDiscipline

    class TimedWing(OasAerostructDiscipline):  # type: ignore[misc]
        seconds = 0.0

        def setup(self) -> None:
            super().setup()
            self.add_output("seconds", shape=(1,))

        def compute(self, inputs: Any, outputs: Any) -> None:
            start = perf_counter()
            super().compute(inputs, outputs)
            self.seconds += perf_counter() - start
            outputs["seconds"] = np.array([self.seconds])

        def compute_partials(self, inputs: Any, partials: Any) -> None:
            start = perf_counter()
            super().compute_partials(inputs, partials)
            self.seconds += perf_counter() - start

    return TimedWing()
