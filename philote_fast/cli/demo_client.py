"""The demo's client process: sizes the spar of a server by OpenMDAO, and records every call."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import openmdao.api as om
from philote_mdo.openmdao import RemoteExplicitComponent
from scipy.interpolate import BSpline

import philote_fast
from philote_fast.cli.demo_discipline import elliptic_lift
from philote_fast.cli.demo_record import Recorder
from philote_fast.processes import follow_parent

CONTROL_POINTS = 10
RESPONSES = ("mass", "deflection", "peak_stress")
FIELDS = ("height", "width", "lift")
MAX_DEFLECTION = 1.2  # m


class RecordedSpar(RemoteExplicitComponent):  # type: ignore[misc] # philote_mdo has no types
    """The remote component, which also times, records and reports each of its calls."""

    def __init__(self, channel: grpc.Channel) -> None:
        super().__init__(channel=channel)
        self.recorder = Recorder()
        self.remote_seconds = 0.0
        self.evaluations = 0
        self.gradients = 0

    def compute(self, inputs: Any, outputs: Any, *discrete: Any) -> None:
        """Evaluate remotely, then record and report."""
        begin = time.perf_counter()
        super().compute(inputs, outputs, *discrete)
        self.remote_seconds += time.perf_counter() - begin
        self.evaluations += 1
        self.recorder.keep("compute", _named(inputs, FIELDS) + _named(outputs, outputs))
        values = {name: float(outputs[name][0]) for name in RESPONSES}
        report(evaluation=self.evaluations, **values)

    def compute_partials(self, inputs: Any, partials: Any, *discrete: Any) -> None:
        """Find the gradients remotely, then record."""
        begin = time.perf_counter()
        super().compute_partials(inputs, partials, *discrete)
        self.remote_seconds += time.perf_counter() - begin
        self.gradients += 1
        pairs = {f"d {of} / d {wrt}": (of, wrt) for of in RESPONSES for wrt in ("height", "width")}
        gradients = [(name, partials[pair].ravel()) for name, pair in pairs.items()]
        self.recorder.keep("compute_partials", _named(inputs, FIELDS) + gradients)


class Schedule(om.ExplicitComponent):  # type: ignore[misc] # openmdao has no types
    """Spreads a few control points over the stations by cubic B-splines."""

    def __init__(self, stations: int) -> None:
        super().__init__()
        middles = (np.arange(stations) + 0.5) / stations
        inner = np.linspace(0.0, 1.0, CONTROL_POINTS - 2)
        knots = np.concatenate(([0.0] * 3, inner, [1.0] * 3))
        self._basis = BSpline.design_matrix(middles, knots, 3).toarray()

    def setup(self) -> None:
        """Declare height and width, each a constant matrix times its control points."""
        stations = self._basis.shape[0]
        for name, root, tip in (("height", 0.30, 0.12), ("width", 0.12, 0.06)):
            start = np.linspace(root, tip, CONTROL_POINTS)
            self.add_input(f"{name}_points", start, units="m")
            self.add_output(name, shape=(stations,), units="m")
            self.declare_partials(name, f"{name}_points", val=self._basis)

    def compute(self, inputs: Any, outputs: Any) -> None:
        """Spread the control points."""
        for name in ("height", "width"):
            outputs[name] = self._basis @ inputs[f"{name}_points"]


def _named(vector: Any, names: Any) -> list[tuple[str, Any]]:
    return [(name, vector[name]) for name in names]


def report(**message: object) -> None:
    """Print a message for the parent process: one line of JSON."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def build(spar: RecordedSpar, stations: int) -> om.Problem:
    """Build the optimisation: least mass, with the deflection and the stress bounded."""
    prob = om.Problem(reports=False)
    model = prob.model
    model.add_subsystem("schedule", Schedule(stations), promotes=["*"])
    model.add_subsystem("spar", spar, promotes=["*"])
    model.set_input_defaults("lift", elliptic_lift(stations), units="N/m")
    model.add_design_var("height_points", lower=0.05, upper=0.35, ref=0.1)
    model.add_design_var("width_points", lower=0.02, upper=0.25, ref=0.1)
    model.add_objective("mass", ref=1000.0)
    model.add_constraint("deflection", upper=MAX_DEFLECTION)
    model.add_constraint("peak_stress", upper=1.0)
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", maxiter=100, tol=1e-6, disp=False)
    # Three responses against twenty variables: reverse costs fewer solves.
    prob.setup(mode="rev")
    return prob


def optimum(prob: om.Problem) -> Mapping[str, list[float]]:
    """Return the design and its responses."""
    names = ("height_points", "width_points", *RESPONSES)
    return {name: [float(value) for value in prob.get_val(name).ravel()] for name in names}


def main(address: str, stations: int, record: Path) -> None:
    """Run the optimisation against the server at ``address``; write every call to ``record``."""
    follow_parent()
    with grpc.insecure_channel(address) as channel:
        spar = RecordedSpar(channel)
        prob = build(spar, stations)
        prob.final_setup()
        begin = time.perf_counter()
        result = prob.run_driver()
        seconds = time.perf_counter() - begin
    design = optimum(prob)
    spar.recorder.keep("optimum", [(name, np.array(value)) for name, value in design.items()])
    spar.recorder.save(record)
    report(
        finished=True,
        converged=bool(result.success),
        accelerated=philote_fast.installed(),
        seconds=seconds,
        remote_seconds=spar.remote_seconds,
        evaluations=spar.evaluations,
        gradients=spar.gradients,
        optimum={name: design[name][0] for name in RESPONSES},
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
