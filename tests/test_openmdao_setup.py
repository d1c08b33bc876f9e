"""What happens at the setup of a remote component: options, shapes, as often as it is set up."""

import numpy as np
import openmdao.api as om
import pytest
from philote_mdo.openmdao import RemoteExplicitComponent
from philote_mdo.utils.validation import PhiloteValidationError

from .openmdao_models import totals, values
from .peers import assert_identical, channel_to, client_side, start_server

POWERS = "openmdao_disciplines:Powers"


@pytest.fixture(autouse=True)
def _output_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def channel(request):
    """A channel to a server of the discipline that the test names, of its own."""
    with start_server(request.param) as server, channel_to(server.address) as channel:
        yield channel


def problem(component):
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("remote", component, promotes=["*"])
    return prob


# Options


@pytest.mark.parametrize("channel", [POWERS], indirect=True)
def test_options_set_after_construction(channel, flavour):
    """Stock declares them, takes them, and never sends them."""
    component = RemoteExplicitComponent(channel=channel, size=3)
    component.options["gain"] = 5.0
    prob = problem(component)
    prob.setup()
    prob.set_val("x", [1.0, 2.0, 3.0])
    prob.run_model()
    gain = 1.0 if flavour == "stock" else 5.0
    assert_identical(prob.get_val("y"), gain * np.array([1.0, 8.0, 27.0]))


@pytest.mark.parametrize("channel", [POWERS], indirect=True)
def test_options_are_sent_once_for_each_change(channel):
    """As stock sends those of the constructor: a discipline may do much for it."""
    component = RemoteExplicitComponent(channel=channel, size=2, gain=2.0)
    prob = problem(component)
    told = []
    for options in ({}, {}, {"gain": 2.0}, {"gain": 3.0}, {"size": 4}, {}):
        for name, value in options.items():
            component.options[name] = value
        prob.setup()
        prob.set_val("x", 2.0)
        prob.run_model()
        told.append((prob.get_val("told").item(), prob.get_val("y").tolist()))
    assert told == [
        (1.0, [16.0] * 2),
        (1.0, [16.0] * 2),
        (1.0, [16.0] * 2),
        (2.0, [24.0] * 2),
        (3.0, [24.0] * 4),
        (3.0, [24.0] * 4),
    ]


@pytest.mark.parametrize("channel", [POWERS], indirect=True)
def test_options_sent_by_hand_are_known(channel):
    component = RemoteExplicitComponent(channel=channel)
    component.options["gain"] = 7.0
    component._client.send_options({"gain": 7.0})
    prob = problem(component)
    prob.setup()
    prob.run_model()
    assert prob.get_val("told").item() == 2.0


@pytest.mark.parametrize("channel", [POWERS], indirect=True)
def test_a_component_made_before_the_patches(channel):
    with client_side("stock"):
        component = RemoteExplicitComponent(channel=channel, size=2)
    component.options["gain"] = 3.0
    with client_side("patched"):
        prob = problem(component)
        prob.setup()
        prob.set_val("x", 1.0)
        prob.run_model()
        assert prob.get_val("y").tolist() == [3.0, 3.0]


# Setup again and again


@pytest.mark.parametrize("channel", [POWERS], indirect=True)
def test_a_setup_with_other_shapes(channel):
    component = RemoteExplicitComponent(channel=channel)
    prob = problem(component)
    for size in (3, 1, 5, 5):
        component.options["size"] = size
        prob.setup()
        x = np.arange(1.0, size + 1.0)
        prob.set_val("x", x)
        prob.run_model()
        assert_identical(prob.get_val("y"), x**3)
        assert (totals(prob, ["y"], ["x"])["y", "x"] == np.diag(3 * x**2)).all()


@pytest.mark.parametrize(
    "channel", ["philote_mdo.examples.flexible:FlexibleDiscipline"], indirect=True
)
def test_a_setup_with_other_dynamic_shapes(channel):
    remote = RemoteExplicitComponent(channel=channel)
    results = []
    for size in (4, 2, 7):
        prob = om.Problem(reports=False)
        prob.model.add_subsystem("source", om.IndepVarComp("x", np.arange(float(size)), units="m"))
        prob.model.add_subsystem("remote", remote)
        prob.model.add_subsystem("sink", om.ExecComp("s = sum(y)", y={"shape": size, "units": "m"}))
        prob.model.connect("source.x", "remote.x")
        prob.model.connect("remote.y", "sink.y")
        for _ in range(2):
            prob.setup()
            prob.run_model()
            results.append((size, prob.get_val("remote.y"), totals(prob, ["sink.s"], ["source.x"])))
    for size, y, jacobian in results:
        assert y.shape == (size,)
        assert jacobian["sink.s", "source.x"].shape == (1, size)
    assert_identical(results[0][1:], results[1][1:])


@pytest.mark.parametrize("channel", ["openmdao_disciplines:Scalar"], indirect=True)
def test_scalars(channel, flavour):
    """OpenMDAO gives a variable of the shape () as a float, which stock's client refuses."""
    prob = problem(RemoteExplicitComponent(channel=channel))
    prob.setup()
    prob.set_val("x", 3.0)
    prob.set_val("w", [1.0, 2.0])
    if flavour == "stock" and _gives_floats(prob):
        with pytest.raises(PhiloteValidationError, match="'x' must be a numpy ndarray, got float"):
            prob.run_model()
        return
    prob.run_model()
    assert float(prob.get_val("y")) == 12.0
    jacobian = totals(prob, ["y"], ["x", "w"])
    assert {key: value.ravel().tolist() for key, value in jacobian.items()} == {
        ("y", "x"): [6.0],
        ("y", "w"): [1.0, 1.0],
    }


def _gives_floats(prob):
    prob.final_setup()
    return isinstance(prob.model.remote._inputs["x"], float)


@pytest.mark.parametrize("channel", ["openmdao_disciplines:Mixed"], indirect=True)
def test_a_copy_finds_out_anew(channel):
    """What was found out about one component's vectors is of no use to a copy of it."""
    import copy
    import pickle

    from philote_fast.patches.openmdao_vectors import lanes_of

    prob = problem(RemoteExplicitComponent(channel=channel))
    prob.setup()
    prob.run_model()
    lanes = lanes_of(prob.model.remote)
    assert lanes.vectors
    assert not copy.deepcopy(lanes).vectors
    assert not pickle.loads(pickle.dumps(lanes)).vectors
    assert values(prob, "f")["f"].shape == (2,)
