"""Bad input to a client: from the user, and from a server that sends what it should not."""

import collections

import grpc
import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PhiloteServerError, PhiloteValidationError

from . import local, made
from .made import Explicit, array, output
from .peers import channel_to, client_side

EXTREME = 2**63 - 1


def variable(kind, name, shape):
    return data.VariableMetaData(type=kind, name=name, shape=shape)


META = [
    variable(data.kInput, "x", [5]),
    variable(data.kOutput, "y", [5]),
    variable(data.kResidual, "y", [5]),
]


def residual(name, values, **fields):
    return array(name, values, kind=data.kResidual, **fields)


def partial(name, values, subname="x", **fields):
    return array(name, values, kind=data.kPartial, subname=subname, **fields)


class Call:
    """One of the client's five calls: how it is made, and chunks of the type that it reads."""

    def __init__(self, client, method, chunk, noun, with_outputs):
        self.client, self.method, self.chunk = client, method, chunk
        self.noun, self.with_outputs, self.size = noun, with_outputs, 25 if noun == "partial" else 5

    def __call__(self, channel):
        client = self.client(channel)
        client._var_meta = list(META)
        client._partials_meta = [data.PartialsMetaData(name="y", subname="x")]
        values = [{"x": np.ones(5)}, {"y": np.ones(5)}]
        return getattr(client, self.method)(*values[: 1 + self.with_outputs])


CALLS = [
    Call(pmdo.ExplicitClient, "run_compute", output, "output", False),
    Call(pmdo.ExplicitClient, "run_compute_partials", partial, "partial", False),
    Call(pmdo.ImplicitClient, "run_compute_residuals", residual, "residual", True),
    Call(pmdo.ImplicitClient, "run_solve_residuals", output, "output", False),
    Call(pmdo.ImplicitClient, "run_residual_gradients", partial, "partial", True),
]


@pytest.fixture(params=CALLS, ids=lambda call: call.method)
def call(request):
    return request.param


@pytest.fixture(scope="module")
def server():
    with made.hostile() as (address, replies), channel_to(address) as channel:
        yield channel, replies


@pytest.mark.parametrize(
    ("values", "start", "end"),
    [
        (2, 24, 25),
        (1, -1, -1),
        (1, EXTREME, EXTREME),
        (1, -EXTREME - 1, -EXTREME - 1),
        (2, EXTREME, -EXTREME - 1),
        (1, 0, 4),
        (26, 0, 25),
        (3, 0, 0),
    ],
)
def test_a_range_that_is_wrong(server, call, values, start, end):
    channel, replies = server
    good = call.chunk("y", np.arange(call.size))
    replies[:] = [good, call.chunk("y", [1.0] * values, start=start, end=end)]
    with pytest.raises(PhiloteValidationError) as caught:
        call(channel)
    expected = (f"{call.noun} 'y'", f"range {start} to {end}", f"with {call.size} values")
    for text in expected:
        assert text in str(caught.value)
    assert_goes_on(server, call)


def assert_goes_on(server, call):
    channel, replies = server
    replies[:] = [call.chunk("y", np.arange(float(call.size)))]
    (value,) = call(channel).values()
    assert value.ravel().tolist() == list(range(call.size))


def test_messages_of_nothing_are_passed_over(server, call, flavour):
    channel, replies = server
    whole = call.chunk("y", np.ones(call.size))
    replies[:] = [b"", whole, data.VariableMessage()]
    (value,) = call(channel).values()
    assert value.ravel().tolist() == [1.0] * call.size


def test_an_unknown_name(server, call):
    channel, replies = server
    replies[:] = [call.chunk("q", [1.0])]
    with pytest.raises(PhiloteValidationError, match=f"{call.noun} 'q'.*not declared"):
        call(channel)
    assert_goes_on(server, call)


def test_a_partial_by_something_else(server):
    channel, replies = server
    replies[:] = [partial("y", [1.0], subname="q")]
    with pytest.raises(PhiloteValidationError, match="partial 'y' with respect to 'q'"):
        CALLS[1](channel)


def test_no_data(server, call):
    """Stock's text, and the variable."""
    channel, replies = server
    replies[:] = [call.chunk("y", [], end=4)]
    with pytest.raises(PhiloteValidationError, match=f"^Expected continuous .*{call.noun} 'y'"):
        call(channel)
    assert_goes_on(server, call)


@pytest.mark.parametrize("kind", [6, -1])
def test_an_unknown_type(server, call, kind):
    channel, replies = server
    replies[:] = [array("y", [1.0], kind=data.kOutput)]
    replies[0].continuous.type = kind
    with pytest.raises(PhiloteValidationError, match=f"'y'.*type {kind}"):
        call(channel)
    assert_goes_on(server, call)


def test_other_types_are_overlooked_as_by_stock(server, call, flavour):
    channel, replies = server
    others = [output, residual, partial, array]
    replies[:] = [other("y", [7.0] * 5) for other in others if other is not call.chunk]
    (value,) = call(channel).values()
    assert value.ravel().tolist() == [0.0] * call.size


MALFORMED = [
    b"\xff\xff\xff",
    b"\0\1",
    b"\x0a\x08\x0a\x01y\x32\x03\0\0\0",
    b"\x0a\x04\x0a\x02\xff\xfe",
]


@pytest.mark.parametrize("buffer", MALFORMED)
def test_a_malformed_buffer(server, call, buffer, flavour):
    """Stock's grpcio makes an error of the server's of it, and so it is one here too."""
    channel, replies = server
    replies[:] = [call.chunk("y", [1.0] * call.size), buffer]
    expected = (PhiloteServerError, PhiloteValidationError)[: 1 + (flavour != "stock")]
    for kind in expected:
        with pytest.raises(kind):
            call(channel)
    assert_goes_on(server, call)


def test_a_reply_cut_anywhere(server, call):
    channel, replies = server
    whole = call.chunk("y", [1.0, 2, 3]).SerializeToString()
    for length in range(1, len(whole)):
        replies[:] = [whole[:length]]
        with pytest.raises(PhiloteValidationError):
            call(channel)
    assert_goes_on(server, call)


def test_a_refusal_ends_the_rest_of_the_reply():
    """A server that never stops sending is told to, once the client has seen enough."""
    stopped = []

    class Endless(made.Replies):
        def answer(self, requests, context):
            context.add_callback(lambda: stopped.append(True))
            while context.is_active():
                yield output("q", [1.0]).SerializeToString()

    with made.hostile(Endless()) as (address, _), channel_to(address) as channel:
        for _ in range(3):
            with pytest.raises(PhiloteValidationError, match="'q'"):
                CALLS[0](channel)
    assert len(stopped) == 3


def test_a_part_of_a_variable(server, call):
    channel, replies = server
    replies[:] = [call.chunk("y", np.ones(call.size - 2))]
    text = f"{call.noun} 'y'.* with {call.size} values, but values {call.size - 2} to"
    with pytest.raises(PhiloteValidationError, match=text):
        call(channel)
    assert_goes_on(server, call)


def test_what_is_not_sent_stays_zero(server, call, flavour):
    channel, replies = server
    replies[:] = []
    (value,) = call(channel).values()
    assert value.ravel().tolist() == [0.0] * call.size


def test_silent_wrong_numbers_of_stock(server, flavour):
    """Stock spreads one value over five, and drops what lies past the end."""
    channel, replies = server
    for chunk, silent in (
        (output("y", [7.0], end=4), [7.0] * 5),
        (output("y", [7.0], start=9), [0.0] * 5),
    ):
        replies[:] = [chunk]
        if flavour == "stock":
            assert CALLS[0](channel)["y"].tolist() == silent
        else:
            with pytest.raises(PhiloteValidationError):
                CALLS[0](channel)


class PairlessDict(dict):
    pass


def echo():
    return Explicit({"x": (5,)}, {"y": (5,)}, lambda inputs, out: out.update(y=inputs["x"]))


WRONG_DTYPES = {
    "text": np.array(["1"] * 5),
    "bytes": np.array([b"1"] * 5),
    "dates": np.zeros(5, "M8[s]"),
    "spans": np.zeros(5, "m8[s]"),
    "structured": np.zeros(5, [("a", "f8")]),
    "complex": np.full(5, 1 + 1e-30j),
    "an object array with None": np.array([1, 2, None, 4, 5], dtype=object),
    "an object array with text": np.array([1, 2, "3", 4, 5], dtype=object),
}


@pytest.mark.parametrize("setup", [True, False], ids=["metadata", "no metadata"])
@pytest.mark.parametrize("case", WRONG_DTYPES)
def test_a_wrong_dtype(case, setup):
    """An error of both kinds before anything is sent; the variable is named."""
    with local.explicit(echo(), setup=setup) as (client, servicer):
        client.run_setup()
        with pytest.raises(TypeError, match=r"variable 'x'|complex step.*'x'") as caught:
            client.run_compute({"x": WRONG_DTYPES[case]})
        assert isinstance(caught.value, PhiloteValidationError)
        assert servicer._discipline.seen == []
        client.get_variable_definitions()
        client.run_compute({"x": np.ones(5)})


def test_dtypes_that_stock_makes_wrong_numbers_of():
    """Stock cuts objects at the None, spreads the one before it, and drops imaginary parts."""
    with client_side("stock"), local.explicit(echo()) as (client, _):
        objects = np.array([7, None, 2, 3, 4], dtype=object)
        assert client.run_compute({"x": objects})["y"].tolist() == [7.0] * 5
        with pytest.warns(np.exceptions.ComplexWarning):
            found = client.run_compute({"x": WRONG_DTYPES["complex"]})["y"]
        assert found.tolist() == [1.0] * 5


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 10])
def test_a_wrong_size_where_the_metadata_is_known(count):
    with local.explicit(echo()) as (client, servicer):
        with pytest.raises(PhiloteValidationError) as caught:
            client.run_compute({"x": np.ones(count)})
        text = str(caught.value)
        assert "'x'" in text
        assert "(5,)" in text
        assert f"({count},)" in text
        assert servicer._discipline.seen == []
        assert client.run_compute({"x": np.ones(5)})["y"].tolist() == [1.0] * 5


@pytest.mark.parametrize("count", [1, 3, 6, 10])
def test_a_wrong_size_where_the_metadata_is_not_known(count):
    """The server knows, and refuses."""
    with local.explicit(echo(), setup=False) as (client, _):
        client.run_setup()
        with pytest.raises(PhiloteServerError, match=r"'x'.* with 5 values") as caught:
            client.run_compute({"x": np.ones(count)})
        assert caught.value.__cause__.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("value", [[1.0] * 5, 3.0, np.float64(3), None, (1, 2), "12345"])
def test_no_array(value, flavour):
    with local.explicit(echo()) as (client, _):
        kind = type(value).__name__
        with pytest.raises(
            PhiloteValidationError, match=f"^Variable 'x' must be a numpy ndarray, got {kind}.$"
        ):
            client.run_compute({"x": value})


class Computed(dict):
    """A dict whose items are made when they are asked for."""

    def items(self):
        return [("x", np.arange(5.0))]


@pytest.mark.parametrize(
    "inputs",
    [Computed(), collections.OrderedDict(x=np.arange(5.0)), PairlessDict(x=np.arange(5.0))],
)
def test_dicts_of_other_classes(inputs, flavour):
    with local.explicit(echo()) as (client, _):
        assert client.run_compute(inputs)["y"].tolist() == [0.0, 1, 2, 3, 4]


@pytest.mark.parametrize("inputs", [None, [], "x", [("x", np.ones(5))]])
def test_no_dict(inputs, flavour):
    with (
        local.explicit(echo()) as (client, _),
        pytest.raises(PhiloteValidationError, match=r"run_compute \(inputs\): expected a dict"),
    ):
        client.run_compute(inputs)
