"""Disciplines whose size is an option, with every kind of variable; see test_pairs.py."""

import numpy as np
import philote_mdo.general as pmdo


class _Sized:
    """Has the options ``size`` and ``fault``: the method that is to fail, and how."""

    def initialize(self):
        self.size, self.fault = 1, ""
        self.add_option("size", "int")
        self.add_option("fault", "str")

    def set_options(self, options):
        if "size" in options:
            self.size = int(options["size"])
        if "fault" in options:
            self.fault = str(options["fault"])

    def fail(self, where):
        if self.fault == where:
            raise ValueError(f"{where} fails: 50 %\nof µ")


class Explicit(_Sized, pmdo.ExplicitDiscipline):
    """Vectors, a matrix, a scalar and a discrete value."""

    def setup(self):
        self.fail("setup")
        self.add_input("x", shape=(self.size,), units="m")
        self.add_input("m", shape=(2, 3))
        self.add_input("ünits", shape=(1,), units="kg/m**3")
        self.add_output("y", shape=(self.size,), units="N")
        self.add_output("s", shape=(1,))
        self.add_discrete_input("d")
        self.add_discrete_output("e")

    def setup_partials(self):
        self.declare_partials("y", "ünits")
        self.declare_partials("s", "x")
        self.declare_partials("s", "m")

    def compute(self, inputs, outputs, discrete_inputs, discrete_outputs):
        self.fail("compute")
        outputs["y"] = inputs["x"] * inputs["ünits"]
        outputs["s"] = inputs["x"][0] + inputs["m"].sum()
        discrete_outputs["e"] = {"got": discrete_inputs["d"]}

    def compute_partials(self, inputs, partials, discrete_inputs):
        self.fail("compute_partials")
        partials["y", "ünits"] = inputs["x"].reshape(-1, 1)
        partials["s", "x"] = inputs["x"] * 2
        partials["s", "m"] = inputs["m"].reshape(1, -1) * 3


class Implicit(_Sized, pmdo.ImplicitDiscipline):
    """One equation for each element: a y = x."""

    def setup(self):
        self.add_input("a", shape=(1,))
        self.add_input("x", shape=(self.size,))
        self.add_output("y", shape=(self.size,))

    def setup_partials(self):
        self.declare_partials("y", "a")

    def compute_residuals(self, inputs, outputs, residuals):
        self.fail("compute_residuals")
        residuals["y"] = inputs["a"] * outputs["y"] - inputs["x"]

    def solve_residuals(self, inputs, outputs):
        self.fail("solve_residuals")
        outputs["y"] = inputs["x"] / inputs["a"]

    def residual_partials(self, inputs, outputs, partials):
        self.fail("residual_partials")
        partials["y", "a"] = outputs["y"].reshape(-1, 1)


class Dynamic(pmdo.ExplicitDiscipline):
    """Variables whose shapes the client sets."""

    def setup(self):
        for name in ("x", "z"):
            self.add_input(name, dynamic_shape=True)
            self.add_output(f"{name}2", dynamic_shape=True)

    def compute(self, inputs, outputs):
        for name in ("x", "z"):
            outputs[f"{name}2"] = np.square(inputs[name])
