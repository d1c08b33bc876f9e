"""Disciplines that tests serve from a process of their own (see serve.py)."""

import os
import time

import numpy as np
import philote_mdo.general as pmdo


def sellar():
    """philote-mdo's Sellar group, with the variables and partials of the usual problem mapped."""
    from philote_mdo.examples import SellarGroup

    group = SellarGroup()
    # OpenMdaoSubProblem.__init__ forgets the group that initialize added; upstream's tests do this.
    group.initialize()
    group.add_mapped_input("x", "x", shape=(1,))
    group.add_mapped_input("z", "z", shape=(2,))
    for name in ("y1", "y2", "obj", "con1", "con2"):
        group.add_mapped_output(name, name, shape=(1,))
    for function in ("obj", "con1", "con2"):
        group.declare_subproblem_partial(function, "x")
        group.declare_subproblem_partial(function, "z")
    return group


class LinearImplicit(pmdo.ImplicitDiscipline):
    """Solves A x = b for a vector x: an implicit discipline whose variables take many chunks."""

    def __init__(self, size=5):
        self._size = size
        self._matrix = np.eye(size) * size + np.arange(size * size).reshape(size, size) / size**2
        super().__init__()

    def setup(self):
        self.add_input("b", shape=(self._size,), units="N")
        self.add_output("x", shape=(self._size,), units="m")

    def setup_partials(self):
        self.declare_partials("x", "b")
        self.declare_partials("x", "x")

    def compute_residuals(self, inputs, outputs, residuals):
        residuals["x"] = self._matrix @ outputs["x"] - inputs["b"]

    def solve_residuals(self, inputs, outputs):
        outputs["x"] = np.linalg.solve(self._matrix, inputs["b"])

    def residual_partials(self, inputs, outputs, partials):
        partials["x", "b"] = -np.eye(self._size)
        partials["x", "x"] = self._matrix.copy()


class Slow(pmdo.ExplicitDiscipline):
    """Takes far longer than a test waits."""

    def setup(self):
        self.add_input("x")
        self.add_output("y")

    def compute(self, inputs, outputs):
        time.sleep(60)


class Dying(pmdo.ExplicitDiscipline):
    """Ends its process where another would compute."""

    def setup(self):
        self.add_input("x")
        self.add_output("y")

    def compute(self, inputs, outputs):
        os._exit(3)
