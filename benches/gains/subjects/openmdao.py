"""Models of OpenMDAO with a remote component, and with the same component where they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Any

import numpy as np
import openmdao.api as om
from numpy.typing import NDArray
from philote_mdo.openmdao import RemoteExplicitComponent

from gains.components import LocalDiagonal, LocalVectors
from gains.subjects.calls import channel_to
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles, same_bits

# Opens what a component needs, and gives what makes one.
Source = Callable[[int, ExitStack], Callable[[], Any]]


def remote(problem: str) -> Source:
    """Make components of a problem that another process serves."""

    def opened(size: int, stack: ExitStack) -> Callable[[], Any]:
        channel = channel_to(problem, size, stack)
        return lambda: RemoteExplicitComponent(channel=channel)

    return opened


def local(component: type) -> Source:
    """Make components of this process."""
    return lambda size, stack: lambda: component(size=size)


def set_up(component: Any) -> Any:
    """Give a problem of one component, as far as its first run needs."""
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("component", component, promotes=["*"])
    prob.setup()
    prob.final_setup()
    return prob


def has_run(source: Source, size: int, stack: ExitStack) -> tuple[Any, NDArray[np.float64]]:
    """Give a problem that has run, and the values that its component was given."""
    prob = set_up(source(size, stack)())
    # Of many magnitudes, and none that OpenMDAO or a comparison would stumble over.
    values = np.nan_to_num(doubles(prob.model.component._inputs.asarray().size), posinf=1, neginf=2)
    for index, part in enumerate(np.split(values, size)):
        prob.set_val(f"x{index}", part)
    prob.run_model()
    return prob, values


def run_model(source: Source) -> Callable[[int], Subject]:
    """Run a model of a component that gives what it is given."""

    def make(size: int) -> Subject:
        stack = ExitStack()
        prob, values = has_run(source, size, stack)
        outputs = prob.model.component._outputs.asarray()

        def check(_: Any) -> None:
            same_bits(outputs, values)
            outputs[:] = 0.0

        return Subject(prob.run_model, check, close=stack.close)

    return make


def totals(source: Source) -> Callable[[int], Subject]:
    """Ask for one total, for which the component computes all its partials."""

    def make(size: int) -> Subject:
        stack = ExitStack()
        prob, values = has_run(source, size, stack)
        of, wrt = f"y{size - 1}", f"x{size - 1}"

        def check(found: Any) -> None:
            same_bits(found[of, wrt].ravel(), values[-1:])
            jacobian = prob.model.component._jacobian
            blocks = [jacobian[f"y{index}", f"x{index}"] for index in range(size)]
            same_bits(np.concatenate(blocks).ravel(), values)

        return Subject(lambda: prob.compute_totals(of=[of], wrt=[wrt]), check, close=stack.close)

    return make


def setup(source: Source) -> Callable[[int], Subject]:
    """Make a component and set its problem up, as far as its first run needs."""

    def make(size: int) -> Subject:
        stack = ExitStack()
        component = source(size, stack)

        def check(prob: Any) -> None:
            found = prob.model.component
            variables = (found._inputs.asarray().size, found._outputs.asarray().size)
            # OpenMDAO adds a block of its own for each output.
            partials = len(found._subjacs_info) - size
            if (*variables, partials) != (size, size, size):
                raise AssertionError("not the variables and partials that were declared")

        return Subject(lambda: set_up(component()), check, close=stack.close)

    return make


def sellar(_: int) -> Subject:
    """Optimise Sellar's problem, its two disciplines served by a process each."""
    stack = ExitStack()
    prob = om.Problem(reports=False)
    cycle = prob.model.add_subsystem("cycle", om.Group(), promotes=["*"])
    for which in (1, 2):
        component = RemoteExplicitComponent(channel=channel_to("sellar", which, stack))
        cycle.add_subsystem(f"discipline{which}", component, promotes=["*"])
    cycle.nonlinear_solver = om.NewtonSolver(solve_subsystems=False, maxiter=20, iprint=-1)
    cycle.linear_solver = om.DirectSolver()
    formulas = {
        "obj": "obj = x**2 + z[1] + y1 + exp(-y2)",
        "con1": "con1 = 3.16 - y1",
        "con2": "con2 = y2 - 24.0",
    }
    for name, formula in formulas.items():
        shapes = {"z": np.ones(2)} if "z" in formula else {}
        prob.model.add_subsystem(name, om.ExecComp(formula, **shapes), promotes=["*"])
    for name in ("x", "z"):
        prob.model.add_design_var(name, lower=0.0, upper=10.0)
    prob.model.add_objective("obj")
    for name in ("con1", "con2"):
        prob.model.add_constraint(name, upper=0.0)
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False, tol=1e-8)
    prob.setup()

    def run() -> float:
        prob.set_val("x", 1.0)
        prob.set_val("z", [5.0, 2.0])
        prob.set_val("y1", 1.0)
        prob.set_val("y2", 1.0)
        prob.run_driver()
        return float(prob.get_val("obj")[0])

    expected = run()

    def check(found: float) -> None:
        if found != expected or abs(found - 3.18339) > 1e-4:
            raise AssertionError(f"the optimum is {found!r}, it was {expected!r}")

    return Subject(run, check, close=stack.close)


# A cruise condition of OpenAeroStruct's documentation, and the lift that is asked for.
CRUISE = {
    "v": 248.136,
    "Mach_number": 0.84,
    "re": 1.0e6,
    "rho": 0.38,
    "CT": 9.80665 * 17.0e-6,
    "R": 11.165e6,
    "W0": 0.4 * 3e5,
    "speed_of_sound": 295.4,
    "load_factor": 1.0,
}
LIFT = 0.5


class Timed(RemoteExplicitComponent):  # type: ignore[misc]
    """A remote component that adds up how long its calls take."""

    seconds = 0.0

    def compute(self, *arguments: Any) -> None:
        start = perf_counter()
        super().compute(*arguments)
        self.seconds += perf_counter() - start

    def compute_partials(self, *arguments: Any) -> None:
        start = perf_counter()
        super().compute_partials(*arguments)
        self.seconds += perf_counter() - start


def wing(_: int) -> Subject:
    """Optimise an OpenAeroStruct wing. The figure: what its calls take beyond the discipline."""
    stack = ExitStack()
    component = Timed(channel=channel_to("wing", 0, stack))
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("component", component, promotes=["*"])
    prob.model.add_design_var("alpha", lower=-5.0, upper=10.0)
    prob.model.add_objective("CD", ref=0.01)
    prob.model.add_constraint("CL", equals=LIFT)
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False, tol=1e-9)
    prob.setup()
    for name, value in CRUISE.items():
        prob.set_val(name, value)

    def inside() -> float:
        prob.run_model()
        return float(prob.get_val("seconds")[0])

    def run() -> float:
        prob.set_val("alpha", 1.0)
        before = inside()
        component.seconds = 0.0
        prob.run_driver()
        # What the discipline took for itself, with the call that asks for it.
        discipline = inside() - before
        if abs(float(prob.get_val("CL")[0]) - LIFT) > 1e-6:
            raise AssertionError("the wing does not lift what it is asked to")
        return component.seconds - discipline

    run()
    return Subject(run, lambda _: None, close=stack.close, measures=True)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "openmdao.run.local": run_model(local(LocalDiagonal)),
    "openmdao.run.remote": run_model(remote("diagonal")),
    "openmdao.vectors.local": run_model(local(LocalVectors)),
    "openmdao.vectors.remote": run_model(remote("vectors")),
    "openmdao.totals.local": totals(local(LocalDiagonal)),
    "openmdao.totals.remote": totals(remote("diagonal")),
    "openmdao.setup.local": setup(local(LocalDiagonal)),
    "openmdao.setup.remote": setup(remote("diagonal")),
    "openmdao.sellar": sellar,
    "openmdao.wing": wing,
}

# OpenMDAO writes a report of each run into the directory otherwise.
os.environ.setdefault("OPENMDAO_REPORTS", "0")
