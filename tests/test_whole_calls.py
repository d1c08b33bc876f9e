"""Calls that are written and read whole, on a native channel to a server of grpcio's."""

import contextlib
import re
import threading
import tracemalloc
from concurrent import futures

import grpc
import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PhiloteServerError, PhiloteValidationError

import philote_fast
from philote_fast import _core, wire
from philote_fast.errors import MalformedMessageError

from . import local, made
from .made import Explicit, output

#: More than is kept before it is sent.
LARGE = 6_000_000


@pytest.fixture
def hostile():
    """A server that answers what it is told, and a client of it with two inputs and an output."""
    with made.hostile() as (address, replies), philote_fast.insecure_channel(address) as channel:
        client = pmdo.ExplicitClient(channel)
        client._var_meta[:] = [
            data.VariableMetaData(type=data.kInput, name="a", shape=[2]),
            data.VariableMetaData(type=data.kInput, name="b", shape=[2]),
            data.VariableMetaData(type=data.kOutput, name="f", shape=[2]),
        ]
        yield client, replies


def ones(**sizes):
    return {name: np.ones(size) for name, size in sizes.items()}


def test_a_call_and_its_reply(hostile):
    client, replies = hostile
    replies.append(output("f", [3.0, 4.0]))
    assert client.run_compute(ones(a=2, b=2))["f"].tolist() == [3.0, 4.0]
    (request,) = replies.requests
    assert [message.continuous.name for message in request] == ["a", "b"]


def test_no_inputs_are_a_request_too(hostile):
    client, replies = hostile
    assert client.run_compute({})["f"].tolist() == [0.0, 0.0]
    assert replies.requests == [[]]


@pytest.mark.parametrize(
    ("second", "error"),
    [
        (np.ones(3), PhiloteValidationError),
        ([1.0, 2.0], PhiloteValidationError),
        (np.array([1j, 1j]), TypeError),
    ],
    ids=["size", "list", "complex"],
)
def test_an_error_in_the_second_variable_has_sent_nothing(hostile, second, error):
    client, replies = hostile
    with pytest.raises(error, match="b"):
        client.run_compute({"a": np.ones(2), "b": second})
    replies.append(output("f", [1.0, 1.0]))
    client.run_compute(ones(a=2, b=2))
    assert len(replies.requests) == 1


@pytest.mark.parametrize(
    ("reply", "error", "text"),
    [
        (b"\xff", MalformedMessageError, "Exception deserializing response!"),
        (output("f", [1.0]), PhiloteValidationError, "'f'"),
        (output("g", [1.0, 1.0]), PhiloteValidationError, "'g'"),
    ],
    ids=["malformed", "incomplete", "undeclared"],
)
def test_a_reply_that_is_refused(hostile, reply, error, text):
    client, replies = hostile
    replies.append(reply)
    with pytest.raises(error, match=text):
        client.run_compute(ones(a=2, b=2))
    replies[:] = [output("f", [1.0, 1.0])]
    assert client.run_compute(ones(a=2, b=2))["f"].tolist() == [1.0, 1.0]


def test_a_reply_over_the_limit_and_the_call_after_it(hostile):
    client, replies = hostile
    replies.append(b"\x0a" * (4 << 20) + b"\x0a")
    text = re.escape("larger than max (4194305 vs. 4194304)")
    with pytest.raises(PhiloteServerError, match=text) as info:
        client.run_compute(ones(a=2, b=2))
    assert info.value.__cause__.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    replies[:] = [output("f", [1.0, 1.0])]
    client.run_compute(ones(a=2, b=2))


def test_a_request_over_the_limit_is_not_sent():
    options = [("grpc.max_send_message_length", 1000)]
    with (
        made.hostile() as (address, replies),
        philote_fast.insecure_channel(address, options) as channel,
    ):
        client = pmdo.ExplicitClient(channel)
        with pytest.raises(PhiloteServerError, match="Sent message larger than max") as info:
            client.run_compute(ones(a=2, b=200))
        assert info.value.__cause__.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert replies.requests == []


class Begun(made.Replies):
    """Counts the calls of which anything has come, and keeps nothing of them."""

    count = 0

    def answer(self, requests, context):
        self.count += 1
        for _ in requests:
            pass
        yield from made.serialized(*self)


@contextlib.contextmanager
def begun(*options):
    """A server that counts, and a client of it that knows the output alone."""
    replies = Begun()
    replies.append(output("f", [1.0, 1.0]))
    with (
        made.hostile(replies) as (address, _),
        philote_fast.insecure_channel(address, options) as channel,
    ):
        client = pmdo.ExplicitClient(channel)
        client._var_meta[:] = [data.VariableMetaData(type=data.kOutput, name="f", shape=[2])]
        yield client, replies


def test_of_a_large_request_over_the_limit_nothing_is_sent():
    with begun(("grpc.max_send_message_length", 500_000)) as (client, replies):
        with pytest.raises(PhiloteServerError, match="Sent message larger than max"):
            client.run_compute(ones(a=50_000, b=100_000))
        client.run_compute(ones(a=50_000, b=50_000))
        assert replies.count == 1


def test_of_many_arrays_that_are_converted_few_are_there_at_once():
    size, count = 500_000, 40
    given = np.ones(size, "f4")
    with begun() as (client, _):
        tracemalloc.start()
        try:
            client.run_compute({f"x{at}": given for at in range(count)})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < size * count * 8 / 2


@contextlib.contextmanager
def served(discipline):
    """Serve a discipline; gives a client on a native channel."""
    with (
        local.served(pmdo.ExplicitServer(discipline=discipline)) as address,
        philote_fast.insecure_channel(address) as channel,
    ):
        client = pmdo.ExplicitClient(channel)
        local.set_up(client)
        yield client


def large():
    """A discipline of one small and one large variable, and an event that its compute sets."""
    called = threading.Event()

    def compute(inputs, outputs):
        called.set()
        outputs.update(y=inputs["x"] * 2, z=inputs["w"])

    return Explicit({"x": (LARGE,), "w": (2,)}, {"y": (LARGE,), "z": (2,)}, compute), called


def test_more_than_is_kept_arrives_whole():
    discipline, _ = large()
    x = np.arange(float(LARGE))
    with served(discipline) as client:
        outputs = client.run_compute({"x": x, "w": np.ones(2)})
    assert np.array_equal(outputs["y"], 2 * x)
    assert outputs["z"].tolist() == [1.0, 1.0]


def test_an_error_after_some_of_it_was_sent_cancels_the_call():
    discipline, called = large()
    with served(discipline) as client:
        with pytest.raises(PhiloteValidationError, match="'w'"):
            client.run_compute(ones(x=LARGE, w=3))
        assert not called.is_set()
        assert client.run_compute(ones(x=LARGE, w=2))["z"].tolist() == [1.0, 1.0]


def test_only_a_native_call_can_be_written_to():
    table = _core.Tables().get([])
    with pytest.raises(TypeError, match="a native call is expected"):
        table.write_request({}, None, None, None, 100, object())
    with pytest.raises(TypeError, match="a native call is expected"):
        _core.write_messages([b""], object())
    assert _core.write_messages([b"", b"x"]) == [b"", b"x"]


def test_an_error_of_the_iterator_ends_the_reading():
    def replies():
        yield b""
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        _core.read_nothing(replies())


class Overridden(pmdo.ExplicitServer):
    """Receives by a method of its own, and so message by message."""

    began = threading.Event()

    def process_inputs(self, *args, **kwargs):
        self.began.set()
        return super().process_inputs(*args, **kwargs)


def test_a_caller_that_goes_in_the_middle_of_a_request_has_nothing_computed():
    computed, go = threading.Event(), threading.Event()

    class Doubled(pmdo.ExplicitDiscipline):
        def setup(self):
            self.add_input("x", shape=(1,))
            self.add_output("y", shape=(1,))

        def compute(self, inputs, outputs):
            computed.set()

    def requests():
        yield wire.encode_array(np.ones(1), name="x")
        go.wait(30)

    pool = futures.ThreadPoolExecutor(1)
    server = philote_fast.server(pool)
    Overridden(Doubled()).attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with philote_fast.insecure_channel(f"127.0.0.1:{port}") as channel:
        pmdo.ExplicitClient(channel).run_setup()
        call = channel.stream_stream("/philote.ExplicitService/ComputeFunction")(requests())
        assert Overridden.began.wait(30)
        call.cancel()
        go.set()
        server.stop(None).wait()
        pool.shutdown()
    assert not computed.is_set()
