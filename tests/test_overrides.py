"""What a subclass, an instance or a test double replaces is called, as it would be in stock."""

import inspect
from unittest import mock

import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.general import discipline_client, discipline_server, explicit_server

from . import local
from .made import Explicit, Implicit, output
from .peers import assert_identical, channel_to

FIVE = np.arange(1.0, 6.0)
X, Y = {"x": FIVE}, {"y": FIVE * 3}


def explicit():
    return Explicit(
        {"x": (5,)},
        {"y": (5,)},
        lambda inputs, outputs, *_: outputs.update(y=inputs["x"] * 2),
        [("y", "x")],
        lambda inputs, partials, *_: partials.update({("y", "x"): np.diag(inputs["x"])}),
    )


def implicit():
    return Implicit(
        {"x": (5,)},
        {"y": (5,)},
        lambda inputs, outputs, residuals: residuals.update(y=outputs["y"] - inputs["x"]),
        lambda inputs, outputs: outputs.update(y=inputs["x"] * 2),
        [("y", "x")],
        lambda inputs, outputs, partials: partials.update({("y", "x"): np.diag(outputs["y"])}),
    )


CALLS = {
    "run_compute": (X,),
    "run_compute_partials": (X,),
    "run_compute_residuals": (X, Y),
    "run_solve_residuals": (X,),
    "run_residual_gradients": (X, Y),
}
RPC_OF = {
    "run_compute": "ComputeFunction",
    "run_compute_partials": "ComputeGradient",
    "run_compute_residuals": "ComputeResiduals",
    "run_solve_residuals": "SolveResiduals",
    "run_residual_gradients": "ComputeResidualGradients",
}
RECOVER = {
    "run_compute": "_recover_outputs",
    "run_compute_partials": "_recover_partials",
    "run_compute_residuals": "_recover_residuals",
    "run_solve_residuals": "_recover_outputs",
    "run_residual_gradients": "_recover_partials",
}


def is_explicit(call):
    return call in ("run_compute", "run_compute_partials")


def classes(call):
    if is_explicit(call):
        return pmdo.ExplicitClient, pmdo.ExplicitServer
    return pmdo.ImplicitClient, pmdo.ImplicitServer


def pair(call, client=None, server=None):
    own_client, own_server = classes(call)
    make, discipline = (
        (local.explicit, explicit()) if is_explicit(call) else (local.implicit, implicit())
    )
    return make(discipline, client=client or own_client, server=server or own_server)


def result_of(call):
    """Return what the call gives where nothing is overridden."""
    with pair(call) as (client, _):
        return getattr(client, call)(*CALLS[call])


def subclass(base, log, *names):
    """Return a subclass whose named methods note that they were called, and call the base."""

    def method(name):
        def overridden(self, *args, **kwargs):
            given = list(args)
            # Messages come as an iterator: look at them and hand them on.
            if name in MESSAGES_FIRST:
                given[0] = list(given[0])
                assert all(isinstance(one, data.VariableMessage) for one in given[0])
                args = (iter(given[0]), *args[1:])
            result = getattr(base, name)(self, *args, **kwargs)
            log.append(name)
            return result

        return overridden

    return type("Overriding", (base,), {name: method(name) for name in names})


MESSAGES_FIRST = ("process_inputs", "_recover_outputs", "_recover_residuals", "_recover_partials")
PER_CLIENT = [
    (call, name) for call in CALLS for name in ("_assemble_input_messages", RECOVER[call], call)
]


@pytest.mark.parametrize(("call", "name"), PER_CLIENT)
@pytest.mark.parametrize("how", ["subclass", "instance", "mock of class", "mock of instance"])
def test_a_method_of_the_client(call, name, how, flavour):
    expected = result_of(call)
    base, _ = classes(call)
    log = []
    overriding = subclass(base, log, name)
    with pair(call, client=overriding if how == "subclass" else None) as (client, _):
        if how == "instance":
            setattr(client, name, getattr(overriding, name).__get__(client))
        target = {"mock of class": base, "mock of instance": client}.get(how)
        if target is None:
            assert_identical(getattr(client, call)(*CALLS[call]), expected)
            assert log == [name]
            return
        real = getattr(target, name)
        with mock.patch.object(target, name, autospec=True, side_effect=real) as double:
            assert_identical(getattr(client, call)(*CALLS[call]), expected)
        double.assert_called_once()
        assert_identical(getattr(client, call)(*CALLS[call]), expected)
        double.assert_called_once()


HOW = ("subclass", "instance", "mock of class", "mock of instance")
PER_SERVER = [
    (call, name, how)
    for call in CALLS
    for name in ("preallocate_inputs", "process_inputs", "preallocate_partials", RPC_OF[call])
    for how in HOW
    if name != "preallocate_partials" or RECOVER[call] == "_recover_partials"
    # A server looks its RPCs up when it is attached.
    if name != RPC_OF[call] or not how.startswith("mock")
]


@pytest.mark.parametrize(("call", "name", "how"), PER_SERVER)
def test_a_method_of_the_server(call, name, how, flavour):
    expected = result_of(call)
    _, base = classes(call)
    log = []
    overriding = subclass(base, log, name)
    with pair(call, server=overriding if how == "subclass" else None) as (client, servicer):
        if how == "instance":
            setattr(servicer, name, getattr(overriding, name).__get__(servicer))
        target = {"mock of class": base, "mock of instance": servicer}.get(how)
        if target is None:
            if how == "instance" and name == RPC_OF[call]:
                # Attached before: stock's server does not see it either.
                assert_identical(getattr(client, call)(*CALLS[call]), expected)
                assert log == []
                return
            assert_identical(getattr(client, call)(*CALLS[call]), expected)
            assert log == [name]
            return
        real = getattr(target, name)
        with mock.patch.object(target, name, autospec=True, side_effect=real) as double:
            assert_identical(getattr(client, call)(*CALLS[call]), expected)
        double.assert_called_once()
        assert_identical(getattr(client, call)(*CALLS[call]), expected)
        double.assert_called_once()


@pytest.mark.parametrize("call", CALLS)
def test_an_rpc_set_on_the_instance_before_it_is_attached(call, flavour):
    expected = result_of(call)
    own_client, own_server = classes(call)
    servicer = own_server(discipline=explicit() if is_explicit(call) else implicit())
    log = []
    overriding = subclass(own_server, log, RPC_OF[call])
    setattr(servicer, RPC_OF[call], getattr(overriding, RPC_OF[call]).__get__(servicer))
    with local.served(servicer) as address, channel_to(address) as channel:
        client = own_client(channel)
        local.set_up(client)
        assert_identical(getattr(client, call)(*CALLS[call]), expected)
    assert log == [RPC_OF[call]]


def test_an_override_may_change_the_messages(flavour):
    """Inputs doubled on the way out, outputs of one more message, residue of nothing fast."""

    class Client(pmdo.ExplicitClient):
        def _assemble_input_messages(self, inputs, *args, **kwargs):
            messages = super()._assemble_input_messages(inputs, *args, **kwargs)
            for message in messages:
                message.continuous.data[:] = [2 * v for v in message.continuous.data]
            return messages

        def _recover_outputs(self, responses):
            return super()._recover_outputs([*responses, output("y", [-1.0], start=4)])

    class Server(pmdo.ExplicitServer):
        def process_inputs(self, request_iterator, flat_inputs, *args, **kwargs):
            result = super().process_inputs(request_iterator, flat_inputs, *args, **kwargs)
            flat_inputs["x"][0] = 100
            return result

        def ComputeFunction(self, request_iterator, context):  # noqa: N802
            yield from super().ComputeFunction(request_iterator, context)
            yield output("y", [50.0], start=1)

    with local.explicit(explicit(), client=Client, server=Server) as (client, _):
        assert client.run_compute(X)["y"].tolist() == [200.0, 50, 12, 16, -1]


def test_preallocation_with_other_arrays(flavour):
    """Float32 and non-contiguous arrays of a subclass's own are filled as by stock."""

    class Server(pmdo.ExplicitServer):
        def preallocate_inputs(self, inputs, flat_inputs, outputs=None, flat_outputs=None):
            inputs["x"] = np.zeros(5, "f4")
            flat_inputs["x"] = inputs["x"][:]

        def preallocate_partials(self):
            partials = super().preallocate_partials()
            partials["y", "x"] += 7
            return partials

    discipline = explicit()
    discipline.functions = (discipline.functions[0], None)
    with local.explicit(discipline, server=Server) as (client, servicer):
        result = client.run_compute({"x": FIVE + 1e-9})["y"]
        assert result.tolist() == [2.0, 4, 6, 8, 10]
        assert servicer._discipline.seen[0][0]["x"].dtype == "f4"
        assert np.all(client.run_compute_partials(X)["y", "x"] == 7)


HOOKS = [
    ("run_compute", "philote_mdo.utils.get_chunk_indices"),
    ("run_compute", "philote_mdo.general.explicit_server.get_chunk_indices"),
    ("run_compute", "philote_mdo.general.discipline_client.validate_is_dict"),
    ("run_compute", "philote_mdo.general.discipline_client.validate_numpy_array"),
    ("run_compute", "philote_mdo.general.explicit_client.validate_is_dict"),
    ("run_solve_residuals", "philote_mdo.general.implicit_client.validate_is_dict"),
    ("run_compute", "philote_mdo.general.discipline_server.get_flattened_view"),
    ("run_compute", "philote_mdo.utils.get_flattened_view"),
    ("run_compute_partials", "philote_mdo.general.explicit_server.get_chunk_indices"),
    ("run_compute_partials", "philote_mdo.general.discipline_server.PairDict"),
    ("run_compute_partials", "philote_mdo.utils.PairDict"),
    ("run_compute_residuals", "philote_mdo.general.implicit_server.get_chunk_indices"),
    ("run_solve_residuals", "philote_mdo.general.implicit_server.get_chunk_indices"),
    ("run_residual_gradients", "philote_mdo.general.implicit_server.get_chunk_indices"),
]


@pytest.mark.parametrize(("call", "path"), HOOKS)
def test_a_function_of_a_module(call, path, flavour):
    expected = result_of(call)
    with pair(call) as (client, _):
        module, _, name = path.rpartition(".")
        real = getattr(__import__(module, fromlist=[name]), name)
        with mock.patch(path, side_effect=real) as double:
            assert_identical(dict(getattr(client, call)(*CALLS[call])), dict(expected))
        assert double.called
        assert_identical(getattr(client, call)(*CALLS[call]), expected)


CONVERSIONS = [
    (discipline_client, "_python_to_value"),
    (discipline_client, "_value_to_python"),
    (discipline_server, "_value_to_python"),
    (explicit_server, "_python_to_value"),
]


@pytest.mark.parametrize(("module", "name"), CONVERSIONS)
def test_a_discrete_conversion(module, name, flavour):
    discipline = explicit()
    discipline.discrete = (("d",), ("e",))
    discipline.functions = (lambda i, o, di, do: do.update(e=di["d"]), None)
    with local.explicit(discipline) as (client, _):
        with mock.patch.object(module, name, side_effect=getattr(module, name)) as double:
            assert client.run_compute(X, {"d": "a"})[1] == {"e": "a"}
        double.assert_called_once()
        assert client.run_compute(X, {"d": "a"})[1] == {"e": "a"}
        double.assert_called_once()


def test_the_signatures(flavour):
    """Doubles made of the patched classes are those of the stock ones."""
    for call in CALLS:
        for kind in classes(call):
            names = {call, RPC_OF[call], RECOVER[call], "_assemble_input_messages"}
            for name in names & set(dir(kind)):
                assert str(inspect.signature(getattr(kind, name))) == SIGNATURES[name]
            double = mock.create_autospec(kind, instance=True)
            with pytest.raises(TypeError, match=r"required|missing"):
                getattr(double, call if hasattr(kind, call) else RPC_OF[call])()
    run = pmdo.ExplicitClient.run_compute
    assert (run.__module__, run.__qualname__) == (
        "philote_mdo.general.explicit_client",
        "ExplicitClient.run_compute",
    )


BOTH = "(self, inputs, outputs, discrete_inputs=None, discrete_outputs=None)"
SIGNATURES = {
    "run_compute": "(self, inputs, discrete_inputs=None)",
    "run_compute_partials": "(self, inputs, discrete_inputs=None)",
    "run_compute_residuals": BOTH,
    "run_solve_residuals": "(self, inputs, discrete_inputs=None)",
    "run_residual_gradients": BOTH,
    "_assemble_input_messages": BOTH.replace("outputs,", "outputs=None,"),
    **dict.fromkeys(RECOVER.values(), "(self, responses)"),
    **dict.fromkeys(RPC_OF.values(), "(self, request_iterator, context)"),
}
