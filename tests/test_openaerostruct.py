"""The OpenAeroStruct wing of philote-examples, aerodynamics and structure coupled, over Philote."""

import functools

import numpy as np
import openmdao.api as om
import philote_mdo.general as pmdo
import pytest
from philote_mdo.openmdao import RemoteExplicitComponent

from .examples import prepared
from .peers import MAIN_PAIRS, REFERENCE, assert_identical, channel_to, client_side, start_server

DISCIPLINE = "philote_examples.oas:OasAerostructDiscipline"

# A cruise condition of the OpenAeroStruct documentation, at three angles of attack.
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
    "empty_cg": [0.0, 0.0, 0.0],
}
ANGLES = (-1.0, 2.0, 5.0)


def run(pair, analyse):
    client_flavour, server_flavour = pair
    # A server of its own for each run: this discipline maps its variables in setup, and only once.
    with (
        client_side(client_flavour),
        start_server(DISCIPLINE, server_flavour) as server,
        channel_to(server.address) as channel,
    ):
        return analyse(channel)


def sweep(channel):
    """Call at each angle of attack."""
    client = prepared(pmdo.ExplicitClient(channel))
    results = []
    for alpha in ANGLES:
        values = {**CRUISE, "alpha": alpha}
        point = {name: np.atleast_1d(np.asarray(value)) for name, value in values.items()}
        results.append((client.run_compute(point), client.run_compute_partials(point)))
    return results


class Recorded(RemoteExplicitComponent):
    """Keeps what goes through its calls."""

    log = ()

    def compute(self, inputs, outputs, *discrete):
        super().compute(inputs, outputs, *discrete)
        self.log += ((inputs.asarray(copy=True), outputs.asarray(copy=True)),)

    def compute_partials(self, inputs, partials, *discrete):
        super().compute_partials(inputs, partials, *discrete)
        self.log += ((inputs.asarray(copy=True), np.array(partials["CD", "alpha"])),)


def optimise(channel):
    """Find the angle of attack of least drag for a lift; returns every evaluation."""
    component = Recorded(channel=channel)
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("wing", component, promotes=["*"])
    prob.model.add_design_var("alpha", lower=-5.0, upper=10.0)
    prob.model.add_objective("CD", ref=0.01)
    prob.model.add_constraint("CL", equals=0.5)
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False, tol=1e-9)
    prob.setup()
    for name, value in {**CRUISE, "alpha": 1.0}.items():
        prob.set_val(name, value)
    prob.run_driver()
    assert abs(prob.get_val("CL")[0] - 0.5) < 1e-6
    return component.log


@pytest.fixture(scope="module")
def reference():
    return run(REFERENCE, sweep)


@pytest.fixture(scope="module")
def optimised():
    """What stock does, found once, in the directory of the test that asks first."""
    return functools.cache(lambda: run(REFERENCE, optimise))


@pytest.fixture(autouse=True)
def _output_directory(tmp_path, monkeypatch):
    """OpenMDAO writes a directory beside the script; keep it out of the checkout."""
    monkeypatch.chdir(tmp_path)


def test_the_stock_answer_is_a_wing(reference):
    """Lift rises with the angle of attack, and the partials say so: the run is a real analysis."""
    lift = [outputs["CL"][0] for outputs, _ in reference]
    assert lift == sorted(lift)
    assert all(partials["CL", "alpha"][0] > 0.0 for _, partials in reference)
    assert all(outputs["structural_mass"][0] > 0.0 for outputs, _ in reference)


@pytest.mark.parametrize("pair", MAIN_PAIRS[1:], ids="-".join)
def test_same_bits_as_stock(pair, reference):
    assert_identical(run(pair, sweep), reference)


@pytest.mark.parametrize("pair", MAIN_PAIRS[1:], ids="-".join)
def test_same_iterates_as_stock(pair, optimised):
    assert len(optimised()) > 5
    assert_identical(run(pair, optimise), optimised())
