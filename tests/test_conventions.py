"""``end`` is inclusive in the standard and exclusive in stock's implicit servers: both are read.

All four pairs of a client and a server are in test_repaired_pins.py; here are the messages.
"""

import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PhiloteServerError, PhiloteValidationError

from . import local, made
from .made import Implicit, array, raw, serialized
from .peers import channel_to
from .test_bad_replies import CALLS

VALUES = np.arange(1.0, 8.0)


def implicit():
    return Implicit(
        {"x": (7,)},
        {"y": (7,), "z": (1,)},
        lambda inputs, outputs, residuals: residuals.update(
            y=outputs["y"] - inputs["x"], z=outputs["z"] * 2
        ),
    )


def chunked(name, values, size, kind, excess, subname=""):
    starts = range(0, len(values), size)
    parts = [(start, values[start : start + size]) for start in starts]
    return [
        array(name, part, start=at, end=at + len(part) - 1 + excess, kind=kind, subname=subname)
        for at, part in parts
    ]


@pytest.mark.parametrize("excess", [0, 1], ids=["inclusive", "exclusive"])
@pytest.mark.parametrize("size", [1, 2, 5, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_server_reads_both(excess, size, reverse):
    request = [
        *chunked("x", VALUES, size, data.kInput, excess),
        *chunked("y", VALUES * 10, size, data.kOutput, excess),
        *chunked("z", np.array([4.0]), 1, data.kOutput, excess),
    ]
    if reverse:
        request.reverse()
    with (
        local.implicit(implicit()) as (_, servicer),
        local.served(servicer) as address,
        channel_to(address) as channel,
    ):
        replies = list(raw(channel, "ComputeResiduals")(iter(serialized(*request))))
    found = [data.VariableMessage.FromString(reply).continuous for reply in replies]
    assert [(a.name, a.start, a.end, list(a.data)) for a in found] == [
        ("y", 0, 6, (VALUES * 9).tolist()),
        ("z", 0, 0, [8.0]),
    ]


@pytest.mark.parametrize("excess", [0, 1], ids=["inclusive", "exclusive"])
@pytest.mark.parametrize("size", [1, 2, 24])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.method)
def test_a_client_reads_both(excess, size, call):
    values = np.arange(float(call.size))
    kind = call.chunk("y", [1.0]).continuous.type
    subname = "x" if kind == data.kPartial else ""
    with made.hostile() as (address, replies), channel_to(address) as channel:
        replies[:] = chunked("y", values, size, kind, excess, subname)
        (found,) = call(channel).values()
        assert found.ravel().tolist() == values.tolist()
        replies.reverse()
        (found,) = call(channel).values()
        assert found.ravel().tolist() == values.tolist()


def test_a_later_chunk_wins():
    call = CALLS[0]
    with made.hostile() as (address, replies), channel_to(address) as channel:
        replies[:] = [call.chunk("y", np.zeros(5)), call.chunk("y", [7.0, 8.0], start=2)]
        assert call(channel)["y"].tolist() == [0.0, 0, 7, 8, 0]


@pytest.mark.parametrize("count", [2, 7])
def test_neither_convention(count):
    """An ``end`` that is two past the last value is no convention."""
    call = CALLS[0]
    with made.hostile() as (address, replies), channel_to(address) as channel:
        replies[:] = [call.chunk("y", [1.0, 2], end=count + 1)]
        with pytest.raises(PhiloteValidationError, match="number of values is not that of"):
            call(channel)


@pytest.mark.parametrize("num_double", [1, 2, 5, 1000])
def test_what_a_client_sends(num_double, flavour):
    """Messages in the order of the dicts, chunk by chunk, ``end`` inclusive."""
    with made.hostile() as (address, replies), channel_to(address) as channel:
        client = pmdo.ImplicitClient(channel)
        client._stream_options.num_double = num_double
        client.run_compute_residuals({"b": VALUES, "a": VALUES[:2]}, {"y": VALUES})
    (request,) = replies.requests
    expected = [
        *chunked("b", VALUES, num_double, data.kInput, 0),
        *chunked("a", VALUES[:2], num_double, data.kInput, 0),
        *chunked("y", VALUES, num_double, data.kOutput, 0),
    ]
    assert request == expected


def test_an_error_of_stocks_server_is_read_by_a_patched_client(servers):
    with channel_to(servers.address("disciplines:LinearImplicit", "stock")) as channel:
        client = pmdo.ImplicitClient(channel)
        client.run_setup()
        with pytest.raises(PhiloteServerError, match="ComputeResiduals failed: 'q'"):
            client.run_compute_residuals({"q": np.ones(2)}, {"x": np.ones(5)})
