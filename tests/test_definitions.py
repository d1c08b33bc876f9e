"""What a server lists of itself comes in a row, and errors are told as stock tells them."""

import threading

import grpc
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from google.protobuf.empty_pb2 import Empty
from grpc import _channel

from philote_fast.patches import grpcio_client, grpcio_server

from . import local, peers
from .interrupting import at_any_point
from .test_grpcio_streams import Raising

MANY = 300


class Many(pmdo.ExplicitDiscipline):
    """Declares many variables and partials."""

    def setup(self):
        for k in range(MANY):
            self.add_input(f"x{k}", shape=(k + 1,), units="m")
            self.add_output(f"y{k}", shape=(2, 3))
        self.add_discrete_input("mode")

    def setup_partials(self):
        for k in range(MANY):
            self.declare_partials(f"y{k}", f"x{k}")


class Words(pmdo.ExplicitServer):
    """Lists something of its own, and waits between two of it."""

    def __init__(self, discipline):
        super().__init__(discipline)
        self.go_on = threading.Event()

    def GetVariableDefinitions(self, request, context):  # noqa: N802
        yield data.VariableMetaData(name="first")
        assert self.go_on.wait(30)
        yield data.VariableMetaData(name="last")


def listed(client):
    lists = client._var_meta, client._discrete_var_meta, client._partials_meta
    return [[meta.SerializeToString() for meta in metas] for metas in lists]


def declared(discipline):
    lists = discipline._var_meta, discipline._discrete_var_meta, discipline._partials_meta
    return [[meta.SerializeToString() for meta in metas] for metas in lists]


def test_all_is_listed(flavour):
    with local.explicit(Many()) as (client, servicer):
        assert listed(client) == declared(servicer._discipline)
        assert [len(metas) for metas in listed(client)] == [2 * MANY, 1, MANY]


def test_nothing_is_listed(flavour):
    with local.explicit(pmdo.ExplicitDiscipline()) as (client, _):
        assert listed(client) == [[], [], []]


def test_it_comes_in_a_row_on_grpcio_s_own_channel_and_server(monkeypatch):
    calls = []

    def noting(owner, name):
        real = getattr(owner, name)

        def noted(self, *arguments):
            calls.append(name)
            return real(self, *arguments)

        monkeypatch.setattr(owner, name, noted)

    noting(grpcio_client.Listing, "__init__")
    noting(grpcio_server._Responses, "send")
    with peers.client_side("patched"), local.explicit(Many()):
        assert sorted(calls) == ["__init__", "__init__", "send", "send"]


def failing(call):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    error = caught.value
    assert isinstance(error, _channel._MultiThreadedRendezvous)
    assert isinstance(error, grpc.Call)
    assert error.trailing_metadata() == ()
    return error.code(), error.details()


def test_an_unreachable_server(flavour):
    with peers.channel_to("127.0.0.1:1") as channel:
        code, details = failing(pmdo.ExplicitClient(channel).get_variable_definitions)
    assert code is grpc.StatusCode.UNAVAILABLE
    assert "127.0.0.1:1" in details


def test_a_closed_channel(flavour):
    with peers.channel_to("127.0.0.1:1") as channel:
        client = pmdo.ExplicitClient(channel)
    with pytest.raises(ValueError, match=r"(?i)channel closed|closed channel"):
        client.get_partials_definitions()


def test_a_reply_that_is_no_metadata(flavour):
    handler = grpc.unary_stream_rpc_method_handler(lambda *_: iter([b"\xff"]))
    service = grpc.method_handlers_generic_handler(
        "philote.DisciplineService", {"GetVariableDefinitions": handler}
    )
    with local.generic_server(service) as address, peers.channel_to(address) as channel:
        found = failing(pmdo.ExplicitClient(channel).get_variable_definitions)
    assert found == (grpc.StatusCode.INTERNAL, "Exception deserializing response!")


def test_an_entry_that_is_no_metadata(flavour):
    with local.explicit(Many()) as (client, servicer):
        servicer._discipline._var_meta = [data.VariableMetaData(name="x"), "no metadata"]
        found = failing(client.get_variable_definitions)
    assert found == (grpc.StatusCode.INTERNAL, "Failed to serialize response!")


def test_a_list_that_fails(flavour):
    def entries():
        yield data.VariableMetaData(name="x")
        raise ValueError("no more")

    class Failing:
        def __iter__(self):
            return entries()

    with local.explicit(Many()) as (client, servicer):
        servicer._discipline._var_meta = Failing()
        code, details = failing(client.get_variable_definitions)
    assert code is grpc.StatusCode.UNKNOWN
    assert details == "Exception iterating responses: no more"


def test_a_servicer_s_own_method_sends_as_it_goes(flavour):
    servicer = Words(pmdo.ExplicitDiscipline())
    with local.served(servicer) as address, peers.channel_to(address) as channel:
        replies = pmdo.ExplicitClient(channel)._disc_stub.GetVariableDefinitions(Empty())
        assert next(replies).name == "first"
        servicer.go_on.set()
        assert [reply.name for reply in replies] == ["last"]


@at_any_point
def test_an_interruption_at_any_point_ends_the_call(monkeypatch, method, at, after):
    create = grpcio_client._create
    servicer = pmdo.ExplicitServer(discipline=Many())
    # With a single worker a call that is not ended stops all others.
    with local.served(servicer, workers=1) as address, peers.channel_to(address) as channel:
        client = pmdo.ExplicitClient(channel)
        local.set_up(client)
        before = listed(client)
        with monkeypatch.context() as patch, peers.client_side("patched"):
            patch.setattr(grpcio_client, "_create", lambda m: Raising(create(m), method, at, after))
            with pytest.raises(KeyboardInterrupt):
                client.get_variable_definitions()
        assert listed(client) == before
        local.set_up(client)
        assert listed(client) == before
