"""The disciplines that are called, cheap to compute so that Philote's own work is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from philote_mdo.general import ExplicitDiscipline, ImplicitDiscipline

# Discrete values of the kinds that Philote has. Stock can carry all of these.
DISCRETE = (True, 3, 0.5, "text", [1, 2.5, "a"], {"a": [1, {"b": None}], "c": 0.25})


class Sized(ExplicitDiscipline):  # type: ignore[misc] # philote_mdo has no types
    """A discipline of some size."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class Echo(Sized):
    """One array in, the same array out."""

    def setup(self) -> None:
        """Declare an input and an output."""
        self.add_input("x", shape=(self.size,))
        self.add_output("y", shape=(self.size,))

    def compute(self, inputs: Any, outputs: Any) -> None:
        """Give the input back."""
        outputs["y"] = inputs["x"]


class Scalars(Sized):
    """Many scalars in, as many out."""

    def setup(self) -> None:
        """Declare the inputs, then the outputs."""
        for index in range(self.size):
            self.add_input(f"x{index}")
        for index in range(self.size):
            self.add_output(f"y{index}")

    def compute(self, inputs: Any, outputs: Any) -> None:
        """Give each input back."""
        for index in range(self.size):
            outputs[f"y{index}"] = inputs[f"x{index}"]


class Diagonal(Scalars):
    """`Scalars`, each output with its partial by the input that it copies."""

    def setup_partials(self) -> None:
        """Declare the diagonal."""
        for index in range(self.size):
            self.declare_partials(f"y{index}", f"x{index}")

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        """Give each input as the partial by it, to have values that differ."""
        for index in range(self.size):
            partials[f"y{index}", f"x{index}"] = inputs[f"x{index}"]


class Gradient(Sized):
    """One output with a declared partial by each of many scalar inputs."""

    def setup(self) -> None:
        """Declare the inputs and the output."""
        for index in range(self.size):
            self.add_input(f"x{index}")
        self.add_output("f")

    def setup_partials(self) -> None:
        """Declare a partial by each input."""
        for index in range(self.size):
            self.declare_partials("f", f"x{index}")

    def compute(self, inputs: Any, outputs: Any) -> None:
        """Add the inputs up."""
        outputs["f"] = sum(inputs.values())

    def compute_partials(self, inputs: Any, partials: Any) -> None:
        """Give each input as the partial by it, to have values that differ."""
        for index in range(self.size):
            name = f"x{index}"
            partials["f", name] = inputs[name]


class Dynamic(Sized):
    """Many inputs, and as many outputs, of which the client sets the shapes."""

    def setup(self) -> None:
        """Declare them without shapes."""
        for index in range(self.size):
            self.add_input(f"x{index}", dynamic_shape=True)
        for index in range(self.size):
            self.add_output(f"y{index}", dynamic_shape=True)

    def compute(self, inputs: Any, outputs: Any) -> None:
        """Give each input back."""
        for index in range(self.size):
            outputs[f"y{index}"] = inputs[f"x{index}"]


class Discrete(Sized):
    """Many discrete values in, as many out, and one double."""

    def setup(self) -> None:
        """Declare them."""
        self.add_input("x")
        self.add_output("y")
        for index in range(self.size):
            self.add_discrete_input(f"d{index}")
        for index in range(self.size):
            self.add_discrete_output(f"e{index}")

    def compute(
        self, inputs: Any, outputs: Any, discrete_inputs: Any, discrete_outputs: Any
    ) -> None:
        """Give all of them back."""
        outputs["y"] = inputs["x"]
        for index in range(self.size):
            discrete_outputs[f"e{index}"] = discrete_inputs[f"d{index}"]


class Implicit(ImplicitDiscipline):  # type: ignore[misc] # philote_mdo has no types
    """Many scalar states, each half of an input where its residual is zero."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def setup(self) -> None:
        """Declare the inputs and the states."""
        for index in range(self.size):
            self.add_input(f"x{index}")
        for index in range(self.size):
            self.add_output(f"y{index}")

    def setup_partials(self) -> None:
        """Declare the two diagonals."""
        for index in range(self.size):
            self.declare_partials(f"y{index}", f"x{index}")
            self.declare_partials(f"y{index}", f"y{index}")

    def compute_residuals(self, inputs: Any, outputs: Any, residuals: Any) -> None:
        """Find how far each state is from half of its input."""
        for index in range(self.size):
            residuals[f"y{index}"] = 2.0 * outputs[f"y{index}"] - inputs[f"x{index}"]

    def solve_residuals(self, inputs: Any, outputs: Any) -> None:
        """Halve each input."""
        for index in range(self.size):
            outputs[f"y{index}"] = 0.5 * inputs[f"x{index}"]

    def residual_partials(self, inputs: Any, outputs: Any, partials: Any) -> None:
        """Give state and input as the partials, to have values that differ."""
        for index in range(self.size):
            partials[f"y{index}", f"x{index}"] = -inputs[f"x{index}"]
            partials[f"y{index}", f"y{index}"] = 2.0 * outputs[f"y{index}"]


BUILT_IN: dict[str, Callable[[int], Any]] = {
    "echo": Echo,
    "scalars": Scalars,
    "diagonal": Diagonal,
    "gradient": Gradient,
    "dynamic": Dynamic,
    "discrete": Discrete,
    "implicit": Implicit,
}
