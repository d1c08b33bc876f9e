"""Disciplines that users may have, for ``bench --discipline``: copied to where the command runs."""

import os
import random
import subprocess
import sys
import time

import numpy as np
import philote_mdo.general as pmdo


class Explicit(pmdo.ExplicitDiscipline):
    """Vectors, scalars and partials."""

    def setup(self):
        self.add_input("x")
        self.add_input("v", shape=(3, 2))
        self.add_output("y", shape=(6,))

    def setup_partials(self):
        self.declare_partials("y", "x")
        self.declare_partials("y", "v")

    def compute(self, inputs, outputs):
        outputs["y"] = 0.1 * inputs["v"].ravel() * inputs["x"]

    def compute_partials(self, inputs, partials):
        partials["y", "x"] = 0.1 * inputs["v"].ravel()
        partials["y", "v"] = (0.1 * inputs["x"] * np.eye(6)).reshape(6, 3, 2)


class Implicit(pmdo.ImplicitDiscipline):
    """All three calls of an implicit discipline."""

    def setup(self):
        self.add_input("a")
        self.add_output("x")

    def setup_partials(self):
        self.declare_partials("x", "a")
        self.declare_partials("x", "x")

    def compute_residuals(self, inputs, outputs, residuals):
        residuals["x"] = inputs["a"] * outputs["x"] - 2.0

    def solve_residuals(self, inputs, outputs):
        outputs["x"] = 2.0 / inputs["a"]

    def residual_partials(self, inputs, outputs, partials):
        partials["x", "a"] = outputs["x"]
        partials["x", "x"] = inputs["a"]


class Plain(pmdo.ExplicitDiscipline):
    """One scalar in, one out: what the others here are made from."""

    def setup(self):
        self.add_input("x")
        self.add_output("y")

    def value(self):
        return 1.0

    def compute(self, inputs, outputs):
        outputs["y"] = np.array([self.value()])


class Shapeless(Plain):
    """Its shapes are the client's to set, and it has discrete variables."""

    def setup(self):
        self.add_input("x", dynamic_shape=True)
        self.add_output("y", dynamic_shape=True)
        self.add_discrete_input("mode")
        self.add_discrete_output("told")

    def compute(self, inputs, outputs, discrete_inputs, discrete_outputs):
        outputs["y"] = 2.0 * inputs["x"]
        discrete_outputs["told"] = repr(discrete_inputs["mode"])


class Long(pmdo.ExplicitDiscipline):
    """Arrays of several chunks of stock's."""

    def setup(self):
        self.add_input("x", shape=(3000,))
        self.add_output("y", shape=(3000,))

    def compute(self, inputs, outputs):
        outputs["y"] = inputs["x"]


class Talkative(Plain):
    """Uses the standard streams of its process, and a process of its own that does."""

    def setup(self):
        super().setup()
        print("setting up", sys.stdin.read())
        subprocess.run(["echo", "setting up"], check=True)


class Random(Plain):
    def value(self):
        return random.random()


class Counting(Plain):
    """The same a few times, then another value."""

    calls = 0

    def value(self):
        self.calls += 1
        return float(self.calls > 8)


class OfItsProcess(Plain):
    def value(self):
        return float(os.getpid())


class OfItsImplementation(Plain):
    """Gives patched philote_mdo another value than stock, always the same: as a wrong one would."""

    def value(self):
        return 1.0 + float(os.environ["PHILOTE_FAST"])


class RaisesInInit(Plain):
    def __init__(self):
        raise OSError("no licence")


class RaisesInSetup(Plain):
    def setup(self):
        raise RuntimeError("no mesh\nin this directory")


class RaisesInCompute(Plain):
    def value(self):
        raise ValueError("it diverged")


class RaisesInPartials(Explicit):
    def compute_partials(self, inputs, partials):
        raise ValueError("no gradient here")


class Leaves(Plain):
    def value(self):
        sys.exit(3)


class LeavesInSetup(Plain):
    def setup(self):
        sys.exit("no licence")


class EndsItsProcess(Plain):
    def value(self):
        os._exit(3)


class Slow(Plain):
    def value(self):
        print("computing", flush=True)
        time.sleep(600)


def made():
    return Plain()


ready = made()
number = 3
