"""The OpenAeroStruct wing of philote-examples, aerodynamics and structure coupled, over Philote."""

import numpy as np
import philote_mdo.general as pmdo
import pytest

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


def run(pair):
    client_flavour, server_flavour = pair
    # A server of its own for each run: this discipline maps its variables in setup, and only once.
    with (
        client_side(client_flavour),
        start_server(DISCIPLINE, server_flavour) as server,
        channel_to(server.address) as channel,
    ):
        client = prepared(pmdo.ExplicitClient(channel))
        results = []
        for alpha in ANGLES:
            values = {**CRUISE, "alpha": alpha}
            point = {name: np.atleast_1d(np.asarray(value)) for name, value in values.items()}
            results.append((client.run_compute(point), client.run_compute_partials(point)))
        return results


@pytest.fixture(scope="module")
def reference():
    return run(REFERENCE)


def test_the_stock_answer_is_a_wing(reference):
    """Lift rises with the angle of attack, and the partials say so: the run is a real analysis."""
    lift = [outputs["CL"][0] for outputs, _ in reference]
    assert lift == sorted(lift)
    assert all(partials["CL", "alpha"][0] > 0.0 for _, partials in reference)
    assert all(outputs["structural_mass"][0] > 0.0 for outputs, _ in reference)


@pytest.mark.parametrize("pair", MAIN_PAIRS[1:], ids="-".join)
def test_same_bits_as_stock(pair, reference):
    assert_identical(run(pair), reference)
