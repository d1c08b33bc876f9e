"""Bad input to a server: refused with a clear text, and the same connection goes on."""

import contextlib

import grpc
import numpy as np
import philote_mdo.generated.data_pb2 as data
import pytest

from . import local
from .made import Explicit, Implicit, array, output, raw, refusal, serialized
from .peers import client_side

EXTREME = 2**63 - 1
LEAST = -(2**63)
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def explicit():
    return Explicit(
        {"x": (5,), "m": (2, 3)},
        {"y": (5,)},
        lambda inputs, outputs: outputs.update(y=inputs["x"] * 2),
        [("y", "x")],
        lambda inputs, partials: partials.update({("y", "x"): np.diag(inputs["x"])}),
    )


def implicit():
    def residuals(inputs, outputs, residuals):
        residuals["y"] = outputs["y"] - inputs["x"]

    def solve(inputs, outputs):
        outputs["y"] = inputs["x"].copy()

    def partials(inputs, outputs, partials):
        partials["y", "y"] = np.diag(outputs["y"])

    return Implicit({"x": (5,), "m": (2, 3)}, {"y": (5,)}, residuals, solve, [("y", "y")], partials)


@pytest.fixture(scope="module")
def channels():
    """One patched server of each kind, and one channel to each, for all of these tests."""
    with (
        local.explicit(explicit()) as (_, explicit_server),
        local.implicit(implicit()) as (_, implicit_server),
        local.served(explicit_server) as one,
        local.served(implicit_server) as two,
        grpc.insecure_channel(one) as to_explicit,
        grpc.insecure_channel(two) as to_implicit,
    ):
        yield {"explicit": to_explicit, "implicit": to_implicit}


EXPLICIT_RPCS = ("ComputeFunction", "ComputeGradient")
IMPLICIT_RPCS = ("ComputeResiduals", "SolveResiduals", "ComputeResidualGradients")
GOOD = array("x", [1, 2, 3, 4, 5])
RPCS = EXPLICIT_RPCS + IMPLICIT_RPCS


def channel_for(channels, rpc):
    return channels["explicit" if rpc in EXPLICIT_RPCS else "implicit"]


def assert_still_serving(channel, rpc):
    request = serialized(GOOD, output("y", [1, 2, 3, 4, 5]))[: 1 if rpc in EXPLICIT_RPCS else 2]
    replies = list(raw(channel, rpc)(iter(request)))
    assert len(replies) == 1
    assert data.VariableMessage.FromString(replies[0]).continuous.name == "y"


def assert_refused(channels, rpc, messages, *texts):
    channel = channel_for(channels, rpc)
    error = refusal(channel, rpc, *messages)
    assert error.code() == INVALID, error
    for text in texts:
        assert text in error.details()
    assert_still_serving(channel, rpc)


RANGES = {
    "past the end": ([0.0, 1, 2], 3, 5),
    "far past the end": ([0.0], 5, 5),
    "at the largest": ([0.0], EXTREME, EXTREME),
    "end wraps": ([0.0, 1], EXTREME, LEAST),
    "at the least": ([0.0], LEAST, LEAST),
    "start negative": ([0.0, 1], -1, 0),
    "numpy would count from the end": ([0.0, 1], -2, -1),
    "longer than the variable": ([0.0] * 6, 0, 5),
    "a range of everything": ([0.0] * 5, LEAST, EXTREME),
}
LENGTHS = {
    "too few": ([0.0, 1], 0, 4),
    "one for five": ([7.0], 0, 4),
    "too many": ([0.0, 1, 2], 0, 0),
    "end before start": ([0.0], 3, 1),
    "end at the largest": ([0.0], 0, EXTREME),
    "end at the least": ([0.0], 0, LEAST),
}


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("case", [*RANGES, *LENGTHS])
def test_a_range_that_is_wrong(channels, rpc, case):
    values, start, end = {**RANGES, **LENGTHS}[case]
    bad = array("x", values, start=start, end=end)
    texts = ("'x'", f"range {start} to {end}", f"{len(values)} values received", "with 5 values")
    assert_refused(channels, rpc, [bad], *texts)
    # Also behind messages that are good.
    assert_refused(channels, rpc, [GOOD, bad], *texts)


@pytest.mark.parametrize("rpc", IMPLICIT_RPCS)
@pytest.mark.parametrize("case", [*RANGES, *LENGTHS])
def test_an_output_whose_range_is_wrong(channels, rpc, case):
    values, start, end = {**RANGES, **LENGTHS}[case]
    texts = ("output 'y'", f"range {start} to {end}", "with 5 values")
    assert_refused(channels, rpc, [output("y", values, start=start, end=end)], *texts)


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("name", ["q", "", "y", "x\0", "X", "\u00e9"])
def test_an_unknown_name(channels, rpc, name):
    assert_refused(channels, rpc, [array(name, [1.0])], f"'{name}'", "range 0 to 0", "not declared")


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("kind", [6, 17, -1, 2**31 - 1, -(2**31)])
def test_an_unknown_type(channels, rpc, kind):
    bad = array("x", [1.0] * 5)
    bad.continuous.type = kind
    assert_refused(channels, rpc, [bad], "'x'", "range 0 to 4", f"type {kind}")


@pytest.mark.parametrize("rpc", RPCS)
def test_no_data(channels, rpc):
    """Stock's text, and what was declared."""
    stock = "Expected continuous variables but arrays were empty for variable x."
    assert_refused(channels, rpc, [array("x", [], end=4)], stock, "range 0 to 4", "with 5 values")
    assert_refused(channels, rpc, [array("q", [])], "empty for variable q.")


PARTS = {
    "the first values": ([array("x", [1.0, 2, 3])], 3, 4),
    "the last values": ([array("x", [4.0, 5], start=3)], 0, 2),
    "a gap": ([array("x", [5.0], start=4), array("x", [1.0, 2])], 2, 3),
    "the same values twice": ([array("x", [1.0, 2, 3])] * 2, 3, 4),
}


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("case", PARTS)
def test_a_part_of_a_variable(channels, rpc, case):
    """Stock pads it with zeros: three values for five would be silent wrong numbers."""
    messages, first, last = PARTS[case]
    text = f"input 'x' is declared with 5 values, but values {first} to {last} were not received"
    assert_refused(channels, rpc, messages, text)


@pytest.mark.parametrize("rpc", RPCS)
def test_chunks_in_any_order(channels, rpc):
    chunks = [array("x", [float(at)], start=at) for at in (4, 0, 2, 1, 3, 2)]
    channel = channel_for(channels, rpc)
    assert len(list(raw(channel, rpc)(iter(serialized(*chunks))))) == 1


@pytest.mark.parametrize("rpc", RPCS)
def test_messages_of_nothing_are_passed_over(channels, rpc):
    channel = channel_for(channels, rpc)
    request = serialized(b"", GOOD, data.VariableMessage())
    assert len(list(raw(channel, rpc)(iter(request)))) == 1


@pytest.mark.parametrize("rpc", EXPLICIT_RPCS)
def test_an_output_to_an_explicit_server(channels, rpc):
    texts = ("output 'y'", "range 0 to 4", "no output")
    assert_refused(channels, rpc, [GOOD, output("y", [1.0] * 5)], *texts)


MALFORMED = {
    "not a message": b"\xff\xff\xff",
    "field number 0": b"\x00\x01",
    "a claimed length": b"\x0a\xff\xff\xff\xff\x0f",
    "text that is not UTF-8": b"\x0a\x04\x0a\x02\xff\xfe",
    "not a multiple of eight": b"\x0a\x08\x0a\x01x\x32\x03\0\0\0",
    "a varint without end": b"\x0a\x0c\x18" + b"\xff" * 11,
}


@pytest.mark.parametrize("rpc", RPCS)
@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_buffer(channels, rpc, case):
    assert_refused(channels, rpc, [MALFORMED[case]])
    assert_refused(channels, rpc, [GOOD, MALFORMED[case]])


@pytest.mark.parametrize("rpc", ["ComputeFunction", "ComputeResiduals"])
def test_a_buffer_cut_anywhere(channels, rpc):
    """Whatever the protobuf runtime refuses is refused; nothing else ends the connection."""
    whole = GOOD.SerializeToString()
    channel = channel_for(channels, rpc)
    for length in range(1, len(whole)):
        assert refusal(channel, rpc, whole[:length]).code() == INVALID
    assert_still_serving(channel, rpc)


def test_stock_gives_silent_wrong_numbers():
    """The faults are real: where a chunk does not fit, stock computes with other numbers."""
    with client_side("stock"), local.explicit(explicit()) as (client, servicer):
        found = {}
        for case, (values, start, end) in {**RANGES, **LENGTHS}.items():
            servicer._discipline.seen.clear()
            replies = client._expl_stub.ComputeFunction(
                iter([array("x", values, start=start, end=end)])
            )
            with contextlib.suppress(grpc.RpcError):
                found[case] = list(next(replies).continuous.data)
    assert found["one for five"] == [14.0] * 5
    for case in ("far past the end", "at the largest", "at the least"):
        assert found[case] == [0.0] * 5


def test_a_partial_that_was_not_declared():
    """A gradient that sets one is refused by name."""

    def undeclared(inputs, partials):
        partials["y", "m"] = np.zeros((5, 6))

    discipline = explicit()
    discipline.functions = (discipline.functions[0], undeclared)
    with local.explicit(discipline) as (client, _):
        with pytest.raises(Exception, match=r"partial 'y' with respect to 'm'.*not declare"):
            client.run_compute_partials({"x": np.ones(5)})
        assert client.run_compute({"x": np.ones(5)})["y"].tolist() == [2.0] * 5
