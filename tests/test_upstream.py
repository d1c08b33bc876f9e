"""philote-mdo 0.8.0's own test suite passes with the patches, however they came to be installed."""

from importlib.metadata import version

import pytest

from .upstream import suite

EXCLUSIVE_END = (
    "pins the exclusive `end` that stock's implicit server sends against the Philote standard, by "
    "which an implicit variable of more than one chunk cannot be received; repaired"
)
# What is changed on purpose. Each is replaced by a test of ours in test_repaired_pins.py.
CHANGED = {
    "test_discipline_client.py::TestDisciplineClient::test_init": (
        "pins the default chunk of 1,000 doubles; ours has 100,000"
    ),
    "test_implicit_server.py::TestImplicitServer::test_compute_residuals": EXCLUSIVE_END,
    "test_implicit_server.py::TestImplicitServer::test_residual_gradients": EXCLUSIVE_END,
    "test_implicit_server.py::TestImplicitServer::test_solve_residuals": EXCLUSIVE_END,
}
ALL = 278


@pytest.fixture(scope="module")
def sdist(request):
    assert version("philote-mdo") == "0.8.0", "the suite belongs to philote-mdo 0.8.0"
    return suite.fetch(request.config.cache.mkdir("philote_mdo_sdist"))


def test_the_control(sdist, tmp_path):
    """Unpatched, every test passes: what fails below would be our doing."""
    outcome = suite.run(sdist, tmp_path, when="never")
    assert (outcome.passed, outcome.failed, outcome.skipped) == (ALL, 0, 0), outcome.output
    assert not outcome.report["imported"]


@pytest.mark.parametrize("when", ["first", "last"])
def test_patched(when, sdist, tmp_path):
    outcome = suite.run(sdist, tmp_path, when=when, deselect=CHANGED)
    counted = (outcome.passed, outcome.failed, outcome.skipped)
    assert counted == (ALL - len(CHANGED), 0, 0), outcome.output
    assert outcome.report["patched"] > 0
    assert outcome.report["stock"] == []


def test_on_the_native_transport(sdist, tmp_path):
    """Under ``philote-fast run`` every channel and server of the suite is native."""
    outcome = suite.run(sdist, tmp_path, when="run", deselect=CHANGED)
    counted = (outcome.passed, outcome.failed, outcome.skipped)
    assert counted == (ALL - len(CHANGED), 0, 0), outcome.output
    assert outcome.report["stock"] == []
    assert set(outcome.report["made"]) == {
        "channels of philote_fast",
        "servers of philote_fast",
    }


def test_each_change_is_one(sdist, tmp_path):
    """The deselected tests do fail with the patches: none is left out without need."""
    outcome = suite.run(sdist, tmp_path, when="first", only=CHANGED)
    assert (outcome.passed, outcome.failed) == (0, len(CHANGED)), outcome.output
