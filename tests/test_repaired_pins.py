"""In place of the four upstream tests that pin what is changed on purpose: see test_upstream.py."""

from unittest.mock import Mock

import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest

from .disciplines import LinearImplicit
from .examples import prepared
from .peers import FLAVOURS, channel_to, client_side

DEFAULT_NUM_DOUBLE = {"stock": 1_000, "patched": 100_000, "native": 100_000}


def test_default_chunk_of_the_client(flavour):
    client = pmdo.DisciplineClient(Mock())
    assert client._stream_options.num_double == DEFAULT_NUM_DOUBLE[flavour]


@pytest.mark.parametrize("server_class", [pmdo.ExplicitServer, pmdo.ImplicitServer])
def test_default_chunk_of_the_server(server_class, flavour):
    assert server_class()._stream_opts.num_double == DEFAULT_NUM_DOUBLE[flavour]


def test_a_chunk_size_that_the_user_sets_is_kept(flavour):
    client = pmdo.ExplicitClient(Mock())
    client._stream_options.num_double = 17
    server = pmdo.ExplicitServer()
    server.SetStreamOptions(client._stream_options, Mock())
    assert client._stream_options.num_double == server._stream_opts.num_double == 17


def requests():
    return [
        data.VariableMessage(
            continuous=data.Array(name=name, start=0, end=4, type=kind, data=[1.0, 2, 3, 4, 5])
        )
        for name, kind in (("b", data.kInput), ("x", data.kOutput))
    ]


@pytest.mark.parametrize("method", ["ComputeResiduals", "SolveResiduals"])
@pytest.mark.parametrize("context", [None, Mock()], ids=["no context", "mock context"])
def test_inclusive_end_called_directly(method, context, flavour):
    """Stock sends an exclusive `end`, and the repaired server an inclusive one."""
    server = pmdo.ImplicitServer(discipline=LinearImplicit())
    server._discipline.setup()
    server._stream_opts.num_double = 2
    responses = [message.continuous for message in getattr(server, method)(requests(), context)]
    excess = 1 if flavour == "stock" else 0
    expected = [(0, 1 + excess), (2, 3 + excess), (4, 4 + excess)]
    assert [(array.start, array.end) for array in responses] == expected
    kind = data.kResidual if method == "ComputeResiduals" else data.kOutput
    assert {(array.name, array.subname, array.type) for array in responses} == {("x", "", kind)}
    assert [len(array.data) for array in responses] == [2, 2, 1]


def test_inclusive_end_of_gradients_called_directly(flavour):
    server = pmdo.ImplicitServer(discipline=LinearImplicit())
    server._discipline.setup()
    server._discipline.setup_partials()
    server._stream_opts.num_double = 20
    messages = server.ComputeResidualGradients(requests(), Mock())
    responses = [message.continuous for message in messages]
    excess = 1 if flavour == "stock" else 0
    assert [(a.name, a.subname, a.start, a.end) for a in responses] == [
        ("x", subname, start, end + excess)
        for subname in ("b", "x")
        for start, end in ((0, 19), (20, 24))
    ]


@pytest.mark.parametrize("server", FLAVOURS)
@pytest.mark.parametrize("num_double", [1, 2, 4])
def test_an_implicit_variable_of_many_chunks_by_the_wire(num_double, server, servers):
    """A repaired client reads either server; what stock's own client makes of a stock one fails."""
    with (
        client_side("patched"),
        channel_to(servers.address("disciplines:LinearImplicit", server)) as channel,
    ):
        client = prepared(pmdo.ImplicitClient(channel), num_double=num_double)
        check_linear(client)


@pytest.mark.parametrize("num_double", [1, 2, 4])
def test_a_stock_client_reads_a_repaired_server(num_double, servers):
    with (
        client_side("stock"),
        channel_to(servers.address("disciplines:LinearImplicit", "patched")) as channel,
    ):
        client = prepared(pmdo.ImplicitClient(channel), num_double=num_double)
        check_linear(client)


def test_stock_fails_on_its_own(servers):
    """The fault is real: with both sides stock, two chunks of one variable are not received."""
    with (
        client_side("stock"),
        channel_to(servers.address("disciplines:LinearImplicit", "stock")) as channel,
    ):
        client = prepared(pmdo.ImplicitClient(channel), num_double=2)
        with pytest.raises(ValueError, match="could not broadcast"):
            client.run_solve_residuals({"b": np.ones(5)})


def check_linear(client):
    local = LinearImplicit()
    inputs = {"b": np.arange(1.0, 6.0)}
    expected, residuals, partials = {}, {}, {}
    local.solve_residuals(inputs, expected)
    local.compute_residuals(inputs, expected, residuals)
    local.residual_partials(inputs, expected, partials)
    np.testing.assert_array_equal(client.run_solve_residuals(inputs)["x"], expected["x"])
    np.testing.assert_array_equal(
        client.run_compute_residuals(inputs, expected)["x"], residuals["x"]
    )
    received = client.run_residual_gradients(inputs, expected)
    assert set(received) == set(partials)
    for key, value in partials.items():
        np.testing.assert_array_equal(received[key], value)
