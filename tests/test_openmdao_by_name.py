"""A remote component's call that cannot go by whole vectors goes by name, and status() says why."""

from collections import Counter
from unittest import mock

import grpc
import numpy as np
import openmdao.api as om
import philote_mdo.general as pmdo
import pytest
from philote_mdo.openmdao import RemoteExplicitComponent, RemoteImplicitComponent, utils
from philote_mdo.utils.validation import PhiloteServerError

import philote_fast
from philote_fast.patches import openmdao_calls, openmdao_vectors

from .openmdao_models import A, C, totals, values
from .peers import assert_identical, channel_to, client_side

MIXED = "openmdao_disciplines:Mixed"
START = {"a": A, "b": 0.7, "c": C}


@pytest.fixture(autouse=True)
def _output_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def channel(servers):
    with channel_to(servers.address(MIXED, "patched")) as channel:
        yield channel


def all_fallbacks():
    return Counter({(f.what, f.why): f.times for f in philote_fast.status().fallbacks})


def fallbacks():
    return {key: times for key, times in all_fallbacks().items() if key[0].startswith("Remote")}


def reasons_of(run):
    """Run it patched, and return its result with the calls that went by name, and why."""
    with client_side("patched"):
        before = fallbacks()
        result = run()
        new = [key for key, times in fallbacks().items() if times != before.get(key)]
    return result, dict(new)


def same_by_name(run):
    """Assert that the result is stock's, bit for bit, and return the reasons."""
    with client_side("stock"):
        expected = run()
    result, reasons = reasons_of(run)
    assert_identical(result, expected)
    return reasons


def set_up(channel, component=RemoteExplicitComponent, **setup):
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("remote", component(channel=channel), promotes=["*"])
    prob.setup(**setup)
    return prob


def mixed(channel, component=RemoteExplicitComponent, **setup):
    prob = set_up(channel, component, **setup)
    for name, value in START.items():
        prob.set_val(name, value)
    prob.run_model()
    return [values(prob, "f", "g"), totals(prob, ["f", "g"], ["a", "b", "c"])]


COMPUTE = "RemoteExplicitComponent.compute"
PARTIALS = "RemoteExplicitComponent.compute_partials"


def test_room_for_complex_numbers(channel):
    reasons = same_by_name(lambda: mixed(channel, force_alloc_complex=True))
    why = "the vectors have room for complex numbers (force_alloc_complex)"
    assert reasons == {COMPUTE: why, PARTIALS: why}


def test_a_complex_step_is_refused(channel):
    def check():
        prob = om.Problem(reports=False)
        prob.model.add_subsystem("remote", RemoteExplicitComponent(channel=channel))
        prob.setup(force_alloc_complex=True)
        prob.run_model()
        prob.check_partials(method="cs", out_stream=None)

    with client_side("patched"):
        before = fallbacks().get((COMPUTE, "a complex step"), 0)
        with pytest.raises(TypeError, match="a complex step cannot pass through"):
            check()
        assert fallbacks()[COMPUTE, "a complex step"] > before


def test_a_subclass_that_hands_on_dicts(channel):
    class Doubled(RemoteExplicitComponent):
        def compute(self, inputs, outputs, *discrete):
            found = {}
            super().compute({name: inputs[name] * 2 for name in ("a", "b", "c")}, found)
            for name, value in found.items():
                outputs[name] = value

    reasons = same_by_name(lambda: mixed(channel, Doubled))
    assert reasons == {COMPUTE: "it was given a dict, not an OpenMDAO DefaultVector"}


def test_a_subclass_with_variables_of_its_own(channel):
    """It may go by vectors: those of the discipline are found among the others."""

    class More(RemoteExplicitComponent):
        def setup(self):
            self.add_input("first", shape=5)
            self.add_output("before", shape=2)
            super().setup()
            self.add_input("last", shape=())
            self.add_output("after")

        def compute(self, inputs, outputs, *discrete):
            super().compute(inputs, outputs)
            outputs["before"] = inputs["first"][:2]
            outputs["after"] = inputs["last"]

    assert same_by_name(lambda: mixed(channel, More)) == {}


def test_a_subclass_with_another_shape(channel):
    """OpenMDAO's own error, as with stock."""

    class Other(RemoteExplicitComponent):
        def add_output(self, name, shape, **meta):
            return super().add_output(name, shape=(3,) if name == "f" else shape, **meta)

        def setup_partials(self):
            pass

    def run():
        with pytest.raises(ValueError, match="Failed to set value of 'f'"):
            mixed(channel, Other)

    assert reasons_of(run)[1] == {COMPUTE: "its variables are not those of the discipline"}


def test_a_sparse_partial(channel):
    class Sparse(RemoteExplicitComponent):
        def setup_partials(self):
            rows, columns = np.divmod(np.arange(12), 4)
            super().setup_partials()
            self.declare_partials("g", "c", rows=rows[::-1], cols=columns[::-1])

        def compute_partials(self, inputs, partials, *discrete):
            found = {}
            super().compute_partials(inputs, found)
            for key, value in found.items():
                partials[key] = value[::-1, ::-1].ravel() if key == ("g", "c") else value

    reasons = same_by_name(lambda: mixed(channel, Sparse))
    assert reasons == {PARTIALS: "it was given a dict, not an OpenMDAO Jacobian"}


def test_a_partial_with_rows_and_columns(channel):
    class Rows(RemoteExplicitComponent):
        def setup_partials(self):
            super().setup_partials()
            self.declare_partials("f", "b", rows=[0, 1], cols=[0, 0])

    reasons = same_by_name(lambda: mixed(channel, Rows))
    assert reasons == {PARTIALS: "a partial is declared with rows and columns"}


def test_a_partial_that_is_not_declared(channel):
    class Fewer(RemoteExplicitComponent):
        def setup_partials(self):
            self._client.get_partials_definitions()
            self.declare_partials("f", "a")

    def run():
        with pytest.raises(KeyError, match="must first be declared"):
            mixed(channel, Fewer)

    assert reasons_of(run)[1] == {PARTIALS: "a partial of the discipline is not declared"}


def test_functions_of_utils_that_are_replaced(channel):
    for name in ("create_local_inputs", "assign_global_outputs"):
        real = getattr(utils, name)
        with mock.patch.object(utils, name, side_effect=real) as double:
            _, reasons = reasons_of(lambda: mixed(channel))
            assert double.called
        assert set(reasons.values()) == {f"philote_mdo.openmdao.utils.{name} is replaced"}


def test_a_function_of_utils_that_is_put_back_meanwhile(channel, monkeypatch):
    """By another thread, after the call has seen the double and before it asks which one it was."""
    monkeypatch.setattr(openmdao_calls, "_utils_untouched", lambda: False)
    names = "create_local_inputs, create_local_discrete_inputs, assign_global_outputs"
    why = f"philote_mdo.openmdao.utils.one of {names} is replaced"
    assert same_by_name(lambda: mixed(channel)) == {COMPUTE: why, PARTIALS: why}


def test_blocks_that_are_made_anew_in_the_same_jacobian(channel):
    """One call goes by name, and the next finds the new ones."""
    prob = set_up(channel)
    prob.run_model()
    prob.model.run_linearize()
    component = prob.model.remote
    jacobian = component._jacobian
    pairs = [("f", "a"), ("g", "c")]

    def linearize():
        for pair in pairs:
            jacobian[pair] = 7.0
        component.compute_partials(component._inputs, jacobian)
        return [np.array(jacobian[pair]) for pair in pairs]

    expected, reasons = reasons_of(linearize)
    assert reasons == {}
    make_blocks_anew(jacobian)
    found, reasons = reasons_of(linearize)
    assert_identical(found, expected)
    why = "a partial is not a dense block of real numbers as the discipline's is"
    assert reasons == {PARTIALS: why}
    found, reasons = reasons_of(linearize)
    assert_identical(found, expected)
    assert reasons == {}


def make_blocks_anew(jacobian):
    infos = jacobian._subjacs_info
    for key, info in infos.items():
        infos[key] = {**info, "val": np.array(info["val"])}
    # Newer versions have an object for each that keeps the description too.
    for key, block in (getattr(jacobian, "_subjacs", None) or {}).items():
        block.info = infos[key]


def test_a_client_with_a_method_of_its_own(channel):
    class Client(pmdo.ExplicitClient):
        def run_compute(self, inputs, discrete_inputs=None):
            outputs = super().run_compute(inputs, discrete_inputs)
            return {name: value + 1 for name, value in outputs.items()}

    class Remote(RemoteExplicitComponent):
        def setup(self):
            self._client = Client(channel)
            super().setup()

    reasons = same_by_name(lambda: mixed(channel, Remote))
    assert reasons == {COMPUTE: "its client does not call in bytes"}


class Interceptor(grpc.StreamStreamClientInterceptor):
    """Hands everything on."""

    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(details, requests)


def test_an_intercepted_channel(channel):
    """The component says what the client says, and each call is counted once for each of them."""
    between = grpc.intercept_channel(channel, Interceptor())
    with client_side("stock"):
        expected = mixed(between)
    with client_side("patched"):
        before = all_fallbacks()
        assert_identical(mixed(between), expected)
        new = all_fallbacks() - before
    why = "its stub is a grpc._interceptor._StreamStreamMultiCallable"
    asked = (COMPUTE, PARTIALS, "the client's ComputeFunction", "the client's ComputeGradient")
    assert new == dict.fromkeys(((what, why) for what in asked), 1)


def test_a_version_of_openmdao_that_is_not_known(channel, monkeypatch):
    monkeypatch.setattr(openmdao_vectors.openmdao, "__version__", "9.1.0-dev")
    why = openmdao_vectors._unknown_version()
    assert why == "OpenMDAO 9.1.0-dev is not 3.30 to 3.45"
    monkeypatch.setattr(openmdao_vectors, "_UNKNOWN_VERSION", why)
    assert same_by_name(lambda: mixed(channel)) == {COMPUTE: why, PARTIALS: why}


def test_more_than_one_process(channel):
    """Told from the communicator: there is no MPI here."""
    prob = set_up(channel)
    prob.run_model()
    component = prob.model.remote
    component.comm = mock.Mock(size=2)

    def compute():
        component.compute(component._inputs, component._outputs)

    assert reasons_of(compute)[1] == {COMPUTE: "the component runs under MPI"}


def test_a_vector_that_is_read_only(channel):
    prob = set_up(channel)
    prob.run_model()
    component = prob.model.remote
    component._outputs.read_only = True

    def compute():
        with pytest.raises(ValueError, match="read only"):
            component.compute(component._inputs, component._outputs)

    assert reasons_of(compute)[1] == {COMPUTE: "the vector is read-only"}


def test_the_implicit_component_too(servers):
    with channel_to(servers.address("openmdao_disciplines:Circle", "patched")) as channel:

        def run():
            prob = set_up(channel, RemoteImplicitComponent, force_alloc_complex=True)
            prob.set_val("r", [1.0, 2.0, 3.0])
            prob.run_model()
            prob.model.run_apply_nonlinear()
            residuals = prob.model._residuals.asarray(copy=True)
            return values(prob, "u", "v"), residuals, totals(prob, ["u"], ["r"])

        methods = ("apply_nonlinear", "solve_nonlinear", "linearize")
        assert set(same_by_name(run)) == {f"RemoteImplicitComponent.{name}" for name in methods}


# Not by name, and as it should be all the same


def test_a_call_that_fails_leaves_the_outputs_alone(servers):
    with channel_to(servers.address("openmdao_disciplines:Fails", "patched")) as channel:
        prob = set_up(channel)
        prob.set_val("x", [1.0, 2.0, 3.0])
        prob.run_model()
        prob.set_val("x", [1.0, -2.0, 3.0])
        with pytest.raises(PhiloteServerError, match="x is negative"):
            prob.run_model()
        assert prob.get_val("y").tolist() == [2.0, 3.0, 4.0]
        prob.set_val("x", 0.0)
        prob.run_model()
        assert prob.get_val("y").tolist() == [1.0, 1.0, 1.0]


def test_metadata_edited_between_two_calls(channel):
    """The table of the first call must not judge the second."""

    def run():
        prob = set_up(channel)
        for name, value in START.items():
            prob.set_val(name, value)
        prob.run_model()
        results = [values(prob, "f", "g")]
        # An input that the client does not know is not sent, and the server takes it for zero.
        metadata = prob.model.remote._client._var_meta
        metadata[:] = [v for v in metadata if v.name != "c"]
        for _ in range(2):
            prob.run_model()
            results.append(values(prob, "f", "g"))
        assert (results[1]["g"] != results[0]["g"]).all()
        return results

    assert same_by_name(run) == {}
