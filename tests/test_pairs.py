"""Every pair of a stock, patched and native client and server agrees on every RPC."""

import contextlib

import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PhiloteServerError

from .peers import assert_identical, channel_to

# Of doubles in a chunk, and in a variable. Stock takes 100 us for each message.
CHUNKS_AND_SIZES = [
    (1, 1),
    (1, 60),
    (7, 1),
    (7, 7),
    (7, 100),
    (1000, 999),
    (1000, 2001),
    (1000, 50_000),
    (100_000, 1),
    (100_000, 100_001),
    (100_000, 1_000_000),
]


@pytest.fixture
def connect(pair, servers):
    """Give a function that opens a client of a discipline, which has taken options."""
    with contextlib.ExitStack() as stack:

        def open_client(discipline, kind, chunk=1000, **options):
            address = servers.address(f"pairing:{discipline}", pair[1])
            client = kind(stack.enter_context(channel_to(address)))
            client._stream_options.num_double = chunk
            client.send_stream_options()
            client.send_options({"fault": "", **options})
            client.run_setup()
            client._var_meta.clear()
            client._partials_meta.clear()
            client.get_variable_definitions()
            client.get_partials_definitions()
            return client

        yield open_client


def values(size):
    """Doubles whose bits are all needed, and the special ones."""
    x = np.random.default_rng(size).standard_normal(size)
    x[: min(size, 4)] = [1.5, -0.0, np.inf, 5e-324][: min(size, 4)]
    return x


def explicit_inputs(size):
    return {"x": values(size), "m": np.arange(6.0).reshape(2, 3), "ünits": np.array([3.0])}


@pytest.mark.parametrize(("chunk", "size"), CHUNKS_AND_SIZES)
def test_compute(connect, chunk, size):
    client = connect("Explicit", pmdo.ExplicitClient, chunk, size=size)
    inputs = explicit_inputs(size)
    for discrete in ({"list": [1, 2.5, None, True, "ü"]}, "text", 7):
        outputs, received = client.run_compute(inputs, {"d": discrete})
        assert_identical(outputs["y"], inputs["x"] * 3)
        assert_identical(outputs["s"], np.array([inputs["x"][0] + 15.0]))
        assert received == {"e": {"got": discrete}}


@pytest.mark.parametrize(("chunk", "size"), CHUNKS_AND_SIZES)
def test_gradient(connect, chunk, size):
    client = connect("Explicit", pmdo.ExplicitClient, chunk, size=size)
    inputs = explicit_inputs(size)
    partials = client.run_compute_partials(inputs, {"d": 1})
    assert_identical(partials["y", "ünits"].ravel(), inputs["x"])
    assert_identical(partials["s", "x"].ravel(), inputs["x"] * 2)
    assert_identical(partials["s", "m"].ravel(), np.arange(6.0) * 3)


@pytest.mark.parametrize(("chunk", "size"), CHUNKS_AND_SIZES)
def test_implicit(connect, chunk, size, pair):
    if pair == ("stock", "stock"):
        pytest.skip("stock's implicit client cannot read all that stock's server sends")
    client = connect("Implicit", pmdo.ImplicitClient, chunk, size=size)
    inputs, outputs = {"a": np.array([4.0]), "x": values(size)}, {"y": values(size)[::-1].copy()}
    with np.errstate(invalid="ignore"):
        residuals = inputs["a"] * outputs["y"] - inputs["x"]
    assert_identical(client.run_compute_residuals(inputs, outputs)["y"], residuals)
    assert_identical(client.run_solve_residuals(inputs)["y"], inputs["x"] / 4)
    partials = client.run_residual_gradients(inputs, outputs)
    assert_identical(partials["y", "a"].ravel(), outputs["y"])


def test_definitions(connect):
    client = connect("Explicit", pmdo.ExplicitClient, size=5)
    found = [(v.name, v.type, list(v.shape), v.units) for v in client._var_meta]
    assert [each for each in found if each[0] not in "de"] == [
        ("x", data.kInput, [5], "m"),
        ("m", data.kInput, [2, 3], ""),
        ("ünits", data.kInput, [1], "kg/m**3"),
        ("y", data.kOutput, [5], "N"),
        ("s", data.kOutput, [1], ""),
    ]
    pairs = [(partial.name, partial.subname) for partial in client._partials_meta]
    assert pairs == [("y", "ünits"), ("s", "x"), ("s", "m")]


def test_options(connect):
    client = connect("Explicit", pmdo.ExplicitClient)
    client.get_available_options()
    assert client.options_list == {"size": "int", "fault": "str"}


def test_information(connect, pair):
    if "stock" in pair:
        pytest.skip("neither side of stock's GetInfo works")
    client = connect("Explicit", pmdo.ExplicitClient)
    client.get_discipline_info()
    assert (client._is_continuous, client._is_differentiable) == (False, False)


@pytest.mark.parametrize("where", ["compute", "compute_partials"])
def test_errors_of_explicit_disciplines(connect, where):
    client = connect("Explicit", pmdo.ExplicitClient, size=3, fault=where)
    call = client.run_compute if where == "compute" else client.run_compute_partials
    with pytest.raises(PhiloteServerError) as caught:
        call(explicit_inputs(3), {"d": 1})
    assert f"{where} fails: 50 %\nof µ" in str(caught.value)
    client.send_options({"fault": ""})
    assert client.run_compute(explicit_inputs(3), {"d": 1})[0]["s"].tolist() == [16.5]


@pytest.mark.parametrize("where", ["compute_residuals", "solve_residuals", "residual_partials"])
def test_errors_of_implicit_disciplines(connect, where):
    client = connect("Implicit", pmdo.ImplicitClient, size=3, fault=where)
    inputs, outputs = {"a": np.array([4.0]), "x": np.ones(3)}, {"y": np.ones(3)}
    calls = {
        "compute_residuals": lambda: client.run_compute_residuals(inputs, outputs),
        "solve_residuals": lambda: client.run_solve_residuals(inputs),
        "residual_partials": lambda: client.run_residual_gradients(inputs, outputs),
    }
    with pytest.raises(PhiloteServerError) as caught:
        calls[where]()
    assert f"{where} fails: 50 %\nof µ" in str(caught.value)


def test_an_error_of_the_setup(connect):
    client = connect("Explicit", pmdo.ExplicitClient)
    client.send_options({"fault": "setup"})
    with pytest.raises(Exception, match="setup fails"):
        client.run_setup()
    client.send_options({"fault": ""})
    client.run_setup()


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_dynamic_shapes(pair, servers, count):
    with channel_to(servers.address("pairing:Dynamic", pair[1])) as channel:
        client = pmdo.ExplicitClient(channel)
        client.run_setup()
        client.get_variable_definitions()
        shapes = {"x": (count,), "z": (2, count)}
        client.send_variable_shapes(
            [client.set_variable_shape(name, shape) for name, shape in shapes.items()]
            + [
                client.set_variable_shape(f"{name}2", shape, data.kOutput)
                for name, shape in shapes.items()
            ]
        )
        inputs = {name: values(np.prod(shape)).reshape(shape) for name, shape in shapes.items()}
        outputs = client.run_compute(inputs)
    for name in shapes:
        assert_identical(outputs[f"{name}2"], np.square(inputs[name]))
