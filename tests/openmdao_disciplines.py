"""Disciplines that the tests of OpenMDAO's components serve from a process of their own."""

import numpy as np
import philote_mdo.general as pmdo


class Mixed(pmdo.ExplicitDiscipline):
    """Variables of several shapes, and partials that are not in the order of the variables."""

    def setup(self):
        self.add_input("a", shape=(2, 3), units="m")
        self.add_input("b", shape=(1,), units="s")
        self.add_input("c", shape=(4,))
        self.add_output("f", shape=(2,), units="m")
        self.add_output("g", shape=(3, 1))

    def setup_partials(self):
        for pair in (("g", "c"), ("f", "a"), ("f", "b"), ("g", "a")):
            self.declare_partials(*pair)

    def compute(self, inputs, outputs):
        a, b, c = inputs["a"], inputs["b"], inputs["c"]
        outputs["f"] = np.sin(a).sum(axis=1) * b**2
        outputs["g"] = (a**2).sum(axis=0).reshape(3, 1) + np.cos(c).sum()

    def compute_partials(self, inputs, partials):
        a, b, c = inputs["a"], inputs["b"], inputs["c"]
        df = np.zeros((2, 2, 3))
        dg = np.zeros((3, 1, 2, 3))
        for row in range(2):
            df[row, row] = np.cos(a[row]) * b**2
            for column in range(3):
                dg[column, 0, row, column] = 2 * a[row, column]
        partials["f", "a"] = df
        partials["g", "a"] = dg
        partials["f", "b"] = np.sin(a).sum(axis=1) * 2 * b
        partials["g", "c"] = np.tile(-np.sin(c), (3, 1))


class Sellar1(pmdo.ExplicitDiscipline):
    """The first discipline of Sellar's problem."""

    def setup(self):
        self.add_input("z", shape=(2,))
        self.add_input("x", shape=(1,))
        self.add_input("y2", shape=(1,))
        self.add_output("y1", shape=(1,))

    def setup_partials(self):
        for name in ("z", "x", "y2"):
            self.declare_partials("y1", name)

    def compute(self, inputs, outputs):
        z, x, y2 = inputs["z"], inputs["x"], inputs["y2"]
        outputs["y1"] = z[0] ** 2 + z[1] + x - 0.2 * y2

    def compute_partials(self, inputs, partials):
        partials["y1", "z"] = np.array([2.0 * inputs["z"][0], 1.0])
        partials["y1", "x"] = np.array([1.0])
        partials["y1", "y2"] = np.array([-0.2])


class Sellar2(pmdo.ExplicitDiscipline):
    """The second discipline of Sellar's problem."""

    def setup(self):
        self.add_input("z", shape=(2,))
        self.add_input("y1", shape=(1,))
        self.add_output("y2", shape=(1,))

    def setup_partials(self):
        self.declare_partials("y2", "z")
        self.declare_partials("y2", "y1")

    def compute(self, inputs, outputs):
        outputs["y2"] = np.sqrt(np.abs(inputs["y1"])) + inputs["z"].sum()

    def compute_partials(self, inputs, partials):
        y1 = np.abs(inputs["y1"])
        partials["y2", "z"] = np.array([1.0, 1.0])
        partials["y2", "y1"] = 0.5 / np.sqrt(y1) * np.sign(inputs["y1"])


class Circle(pmdo.ImplicitDiscipline):
    """States on circles around a line: implicit, and coupled through its own outputs."""

    def setup(self):
        self.add_input("r", shape=(3,))
        self.add_input("s", shape=(1,))
        self.add_output("u", shape=(3,))
        self.add_output("v", shape=(3,))

    def setup_partials(self):
        for pair in (("u", "u"), ("u", "v"), ("u", "r"), ("v", "v"), ("v", "u"), ("v", "s")):
            self.declare_partials(*pair)

    def compute_residuals(self, inputs, outputs, residuals):
        u, v = outputs["u"], outputs["v"]
        residuals["u"] = u**2 + v**2 - inputs["r"]
        residuals["v"] = v - u * inputs["s"]

    def solve_residuals(self, inputs, outputs):
        outputs["u"] = np.sqrt(inputs["r"] / (1.0 + inputs["s"] ** 2))
        outputs["v"] = outputs["u"] * inputs["s"]

    def residual_partials(self, inputs, outputs, partials):
        u, v = outputs["u"], outputs["v"]
        partials["u", "u"] = np.diag(2 * u)
        partials["u", "v"] = np.diag(2 * v)
        partials["u", "r"] = -np.eye(3)
        partials["v", "v"] = np.eye(3)
        partials["v", "u"] = -inputs["s"] * np.eye(3)
        partials["v", "s"] = -u


class Table(pmdo.ExplicitDiscipline):
    """Discrete values beside continuous ones, in and out."""

    def setup(self):
        self.add_input("x", shape=(3,))
        self.add_discrete_input("row")
        self.add_output("y", shape=(3,))
        self.add_discrete_output("told")

    def setup_partials(self):
        self.declare_partials("y", "x")

    def compute(self, inputs, outputs, discrete_inputs, discrete_outputs):
        row = discrete_inputs["row"]
        outputs["y"] = inputs["x"] * row["gain"]
        discrete_outputs["told"] = [row["name"], 2 * row["gain"]]

    def compute_partials(self, inputs, partials, discrete_inputs):
        partials["y", "x"] = np.eye(3) * discrete_inputs["row"]["gain"]


class Powers(pmdo.ExplicitDiscipline):
    """Options decide on the shapes and the values."""

    def __init__(self):
        super().__init__()
        self.size, self.gain, self.told = 2, 1.0, 0

    def initialize(self):
        self.add_option("size", "int")
        self.add_option("gain", "float")

    def set_options(self, options):
        self.told += 1
        # A Struct has no `get`, in the protobuf runtime that philote-mdo requires.
        given = dict(options)
        self.size = int(given.get("size", self.size))
        self.gain = given.get("gain", self.gain)

    def setup(self):
        self.add_input("x", shape=(self.size,))
        self.add_output("y", shape=(self.size,))
        self.add_output("told", shape=(1,))

    def setup_partials(self):
        self.declare_partials("y", "x")

    def compute(self, inputs, outputs):
        outputs["y"] = self.gain * inputs["x"] ** 3
        outputs["told"] = np.array([float(self.told)])

    def compute_partials(self, inputs, partials):
        partials["y", "x"] = np.diag(3 * self.gain * inputs["x"] ** 2)


class Scalar(pmdo.ExplicitDiscipline):
    """Variables of the shape ()."""

    def setup(self):
        self.add_input("x", shape=())
        self.add_input("w", shape=(2,))
        self.add_output("y", shape=())

    def setup_partials(self):
        self.declare_partials("y", "x")
        self.declare_partials("y", "w")

    def compute(self, inputs, outputs):
        outputs["y"] = np.array(inputs["x"] ** 2 + inputs["w"].sum())

    def compute_partials(self, inputs, partials):
        partials["y", "x"] = np.array(2 * inputs["x"])
        partials["y", "w"] = np.ones(2)


class Fails(pmdo.ExplicitDiscipline):
    """Refuses negative values."""

    def setup(self):
        self.add_input("x", shape=(3,))
        self.add_output("y", shape=(3,))

    def compute(self, inputs, outputs):
        if (inputs["x"] < 0).any():
            raise ValueError("x is negative")
        outputs["y"] = inputs["x"] + 1.0


class Scalars(pmdo.ExplicitDiscipline):
    """Many scalars in and out, with a diagonal of partials."""

    def __init__(self, size=200):
        super().__init__()
        self.size = size

    def setup(self):
        for at in range(self.size):
            self.add_input(f"x{at}")
        for at in range(self.size):
            self.add_output(f"y{at}")

    def setup_partials(self):
        for at in range(self.size):
            self.declare_partials(f"y{at}", f"x{at}")

    def compute(self, inputs, outputs):
        for at in range(self.size):
            outputs[f"y{at}"] = inputs[f"x{at}"] ** 2

    def compute_partials(self, inputs, partials):
        for at in range(self.size):
            partials[f"y{at}", f"x{at}"] = 2 * inputs[f"x{at}"]
