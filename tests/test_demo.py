"""The parts of the demo: the spar's gradients, the record and its comparison, child processes."""

import sys

import numpy as np
import pytest

from philote_fast.cli.demo_discipline import SPAN, Spar, elliptic_lift
from philote_fast.cli.demo_record import Recorder, compare
from philote_fast.processes import ChildProcess, ServerProcess

STATIONS = 30
STOCK = {"accelerated": False}


def fields(scale=1.0):
    random = np.random.default_rng(7)
    height = np.linspace(0.3, 0.1, STATIONS) + 0.01 * random.random(STATIONS)
    width = np.full(STATIONS, 0.1) + 0.02 * random.random(STATIONS)
    return height, width, elliptic_lift(STATIONS, scale * 100.0e3)


@pytest.mark.parametrize("lift", [1.0, 0.0], ids=["lifting", "own weight alone"])
@pytest.mark.parametrize(
    ("response", "gradient"),
    [
        ("mass", "mass_gradient"),
        ("deflection", "deflection_gradient"),
        ("peak_stress", "stress_gradient"),
    ],
)
def test_gradients_against_central_differences(response, gradient, lift):
    height, width, load = fields(lift)
    by_height, by_width = getattr(Spar(height, width, load), gradient)()

    def difference(change_height, change_width):
        ahead = Spar(height + change_height, width + change_width, load)
        behind = Spar(height - change_height, width - change_width, load)
        return (getattr(ahead, response) - getattr(behind, response)) / 2e-6

    steps = 1e-6 * np.eye(STATIONS)
    for found, expected in (
        (by_height, [difference(step, 0.0) for step in steps]),
        (by_width, [difference(0.0, step) for step in steps]),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(found).max())


def test_deflection_of_a_uniform_beam():
    """Against the closed form for a uniform load: w L**4 / (8 E I)."""
    stations = 4000
    height, width = np.full(stations, 0.2), np.full(stations, 0.1)
    weight = 2.5 * 9.81 * 2800.0 * 0.02
    spar = Spar(height, width, np.full(stations, 1000.0 + weight))
    expected = 1000.0 * SPAN**4 / (8.0 * 70.0e9 * 0.1 * 0.2**3 / 12.0)
    assert spar.deflection == pytest.approx(expected, rel=1e-4)


def test_the_peak_is_never_below_the_largest_stress():
    spar = Spar(*fields())
    assert spar.stress_ratio.max() <= spar.peak_stress <= spar.stress_ratio.max() * 1.05


def recorded(path, *calls):
    recorder = Recorder()
    for name, arrays in calls:
        recorder.keep(name, arrays.items())
    recorder.save(path)
    return path


ODD = np.array([np.nan, -0.0, np.inf, 5e-324])


def test_equal_records(tmp_path):
    calls = [("compute", {"x": ODD}), ("compute", {"x": np.arange(6.0).reshape(2, 3)})]
    one, two = (recorded(tmp_path / f"{name}.npz", *calls) for name in "ab")
    assert compare(one, two) == (10, None)


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        (np.array([np.nan, 0.0, np.inf, 5e-324]), "[1]: stock -0.0, accelerated 0.0"),
        (np.array([np.nan, -0.0, np.inf, 0.0]), "[3]: stock 5e-324, accelerated 0.0"),
        (ODD[:3], ": float64(4,) against float64(3,)"),
        (ODD.reshape(2, 2), ": float64(4,) against float64(2, 2)"),
    ],
)
def test_a_difference_is_named(changed, where, tmp_path):
    one = recorded(tmp_path / "a.npz", ("compute", {"y": np.ones(2), "x": ODD}))
    two = recorded(tmp_path / "b.npz", ("compute", {"y": np.ones(2), "x": changed}))
    assert compare(one, two) == (2, f"call 1 (compute), x{where}")


def test_other_calls_are_a_difference(tmp_path):
    one = recorded(tmp_path / "a.npz", ("compute", {"x": ODD}), ("optimum", {"x": ODD}))
    two = recorded(tmp_path / "b.npz", ("compute", {"x": ODD}), ("compute", {"x": ODD}))
    short = recorded(tmp_path / "c.npz", ("compute", {"x": ODD}))
    assert "stock has 'call 2 (optimum), x' where accelerated" in compare(one, two).difference
    assert compare(one, short).difference == "stock recorded 2 arrays, accelerated 1"


def test_a_server_that_fails_tells_why():
    with pytest.raises(RuntimeError, match="no such discipline"):
        ServerProcess([sys.executable, "-c", "raise SystemExit('no such discipline')"], **STOCK)


def test_a_child_that_fails_tells_why():
    with ChildProcess([sys.executable, "-c", "print(1); raise SystemExit('lost')"], **STOCK) as c:
        lines = c.lines()
        assert next(lines) == "1\n"
        with pytest.raises(RuntimeError, match="lost"):
            next(lines)
    assert not c.running


def test_closing_ends_a_child_that_follows_its_parent(tmp_path):
    code = (
        "import threading; from philote_fast.processes import follow_parent; follow_parent()\n"
        "print('ready', flush=True); threading.Event().wait()"
    )
    # Elsewhere than in the checkout, whose philote_fast may have no compiled core.
    with ChildProcess([sys.executable, "-c", code], cwd=str(tmp_path), **STOCK) as child:
        assert next(child.lines()) == "ready\n"
        assert child.running
    assert not child.running
