"""Doubles, interceptors and direct calls: each sees ``VariableMessage`` objects, as in stock."""

import contextlib
from unittest import mock

import grpc
import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import philote_mdo.generated.disciplines_pb2_grpc as disc
import pytest
from philote_mdo.utils import PhiloteServerError, PhiloteValidationError

import philote_fast

from . import local
from .made import array, output
from .peers import assert_identical, channel_to
from .test_overrides import CALLS, RPC_OF, classes, explicit, implicit, is_explicit, pair

FIVE = np.arange(1.0, 6.0)
X = {"x": FIVE}


def partial(values, **fields):
    return array("y", values, subname="x", kind=data.kPartial, **fields)


REPLIES = {
    "run_compute": output("y", FIVE),
    "run_compute_partials": partial(np.arange(25.0)),
    "run_compute_residuals": array("y", FIVE, kind=data.kResidual),
    "run_solve_residuals": output("y", FIVE),
    "run_residual_gradients": partial(np.arange(25.0)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("what", ["stub", "method of the stub"])
def test_a_stub_replaced(call, what, flavour):
    with pair(call) as (client, _):
        attribute = "_expl_stub" if is_explicit(call) else "_impl_stub"
        seen = []

        def fake(messages):
            seen.extend(messages)
            return iter([REPLIES[call]])

        if what == "stub":
            setattr(client, attribute, mock.Mock(**{RPC_OF[call]: fake}))
        else:
            setattr(getattr(client, attribute), RPC_OF[call], fake)
        (value,) = getattr(client, call)(*CALLS[call]).values()
    assert value.ravel().tolist() == list(REPLIES[call].continuous.data)
    assert {type(message) for message in seen} == {data.VariableMessage}
    assert [message.continuous.name for message in seen] == ["x", "y"][: len(CALLS[call])]


@pytest.mark.parametrize("call", CALLS)
def test_a_client_of_a_mock_channel(call, flavour):
    """As philote-mdo's own tests make them."""
    client = classes(call)[0](mock.Mock())
    client._var_meta = [
        data.VariableMetaData(name=name, type=kind, shape=[5])
        for name, kind in (("x", data.kInput), ("y", data.kOutput), ("y", data.kResidual))
    ]
    client._partials_meta = [data.PartialsMetaData(name="y", subname="x")]
    stub = client._expl_stub if is_explicit(call) else client._impl_stub
    getattr(stub, RPC_OF[call]).return_value = [REPLIES[call]]
    (value,) = getattr(client, call)(*CALLS[call]).values()
    assert value.ravel().tolist() == list(REPLIES[call].continuous.data)
    getattr(stub, RPC_OF[call]).assert_called_once()


def test_errors_of_a_double(flavour):
    """An RpcError of a double is reported with its details, anything else passes."""

    class Failure(grpc.RpcError):
        def details(self):
            return "out of order"

    with pair("run_compute") as (client, _):
        client._expl_stub = mock.Mock()
        client._expl_stub.ComputeFunction.side_effect = Failure()
        with pytest.raises(
            PhiloteServerError, match=r"^Server error during run_compute: out of order$"
        ) as caught:
            client.run_compute(X)
        assert isinstance(caught.value.__cause__, Failure)
        client._expl_stub.ComputeFunction.side_effect = ZeroDivisionError
        with pytest.raises(ZeroDivisionError):
            client.run_compute(X)


@pytest.mark.parametrize("call", CALLS)
def test_a_stub_called_directly(call, flavour):
    with pair(call) as (client, _):
        expected = getattr(client, call)(*CALLS[call])
        stub = client._expl_stub if is_explicit(call) else client._impl_stub
        request = client._assemble_input_messages(*CALLS[call])
        assert {type(message) for message in request} == {data.VariableMessage}
        replies = list(getattr(stub, RPC_OF[call])(iter(request), timeout=30))
        # And with a stub of one's own.
        channel_of = disc.ExplicitServiceStub if is_explicit(call) else disc.ImplicitServiceStub
        with local.served(_) as address, channel_to(address) as channel:
            again = list(getattr(channel_of(channel), RPC_OF[call])(iter(request)))
    (value,) = expected.values()
    for answer in (replies, again):
        assert {type(message) for message in answer} == {data.VariableMessage}
        assert [list(m.continuous.data) for m in answer] == [value.ravel().tolist()]


class ClientInterceptor(grpc.StreamStreamClientInterceptor, grpc.UnaryStreamClientInterceptor):
    def __init__(self):
        self.sent, self.received = [], []

    def intercept_stream_stream(self, continuation, details, requests):
        def noted():
            for request in requests:
                self.sent.append(request)
                yield request

        for reply in continuation(details, noted()):
            self.received.append(reply)
            yield reply

    def intercept_unary_stream(self, continuation, details, request):
        return continuation(details, request)


@pytest.mark.parametrize("call", CALLS)
def test_an_interceptor_of_the_client(call, flavour):
    with pair(call) as (client, servicer):
        expected = getattr(client, call)(*CALLS[call])
        with local.served(servicer) as address, channel_to(address) as channel:
            interceptor = ClientInterceptor()
            other = classes(call)[0](grpc.intercept_channel(channel, interceptor))
            local.set_up(other)
            before = len(interceptor.received)
            assert_identical(getattr(other, call)(*CALLS[call]), expected)
    assert {type(m) for m in interceptor.sent} == {data.VariableMessage}
    assert {type(m) for m in interceptor.received[before:]} == {data.VariableMessage}
    if flavour != "stock":
        key = (f"the client's {RPC_OF[call]}", "its stub is a grpc._interceptor")
        reasons = [r for r in philote_fast.status().fallbacks if r[0] == key[0]]
        assert any(why.startswith(key[1]) for _, why, *_ in reasons)
        assert f"the client's {RPC_OF[call]}" in str(philote_fast.status())


class ServerInterceptor(grpc.ServerInterceptor):
    def __init__(self):
        self.requests, self.replies = [], []

    def intercept_service(self, continuation, details):
        handler = continuation(details)
        if handler is None or not (handler.request_streaming and handler.response_streaming):
            return handler

        def behaviour(requests, context):
            def noted():
                for request in requests:
                    self.requests.append(request)
                    yield request

            for reply in handler.stream_stream(noted(), context):
                self.replies.append(reply)
                yield reply

        return grpc.stream_stream_rpc_method_handler(
            behaviour, handler.request_deserializer, handler.response_serializer
        )


@pytest.mark.parametrize("call", CALLS)
def test_an_interceptor_of_the_server(call, flavour):
    with pair(call) as (client, servicer):
        expected = getattr(client, call)(*CALLS[call])
        interceptor = ServerInterceptor()
        with (
            local.served(servicer, interceptors=(interceptor,)) as address,
            channel_to(address) as channel,
        ):
            other = classes(call)[0](channel)
            local.set_up(other)
            assert_identical(getattr(other, call)(*CALLS[call]), expected)
    assert {type(m) for m in interceptor.requests} == {data.VariableMessage}
    assert {type(m) for m in interceptor.replies} == {data.VariableMessage}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("as_iterator", [True, False])
def test_a_servicer_called_directly(call, as_iterator, flavour):
    """With a list of messages and a mock context, as philote-mdo's own tests do."""
    servicer = classes(call)[1](discipline=explicit() if is_explicit(call) else implicit())
    servicer.Setup(None, mock.Mock())
    messages = [array("x", FIVE), output("y", FIVE * 3)][: len(CALLS[call])]
    context = mock.create_autospec(grpc.ServicerContext, instance=True)
    method = getattr(servicer, RPC_OF[call])
    replies = list(method(iter(messages) if as_iterator else messages, context))
    assert {type(m) for m in replies} == {data.VariableMessage}
    assert [m.continuous.name for m in replies] == ["y"]
    context.abort.assert_not_called()


@pytest.mark.parametrize("call", CALLS)
def test_a_servicer_called_directly_with_what_it_refuses(call, flavour):
    servicer = classes(call)[1](discipline=explicit() if is_explicit(call) else implicit())
    servicer.Setup(None, mock.Mock())
    context = mock.create_autospec(grpc.ServicerContext, instance=True)
    assert list(getattr(servicer, RPC_OF[call])([array("x", [], end=4)], context)) == []
    (code, text), _ = context.abort.call_args
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "arrays were empty for variable x." in text
    context.abort.side_effect = RuntimeError("aborted")
    with pytest.raises(RuntimeError, match="aborted"):
        list(getattr(servicer, RPC_OF[call])([array("x", [], end=4)], context))


def test_a_discipline_that_fails_called_directly(flavour):
    discipline = explicit()
    discipline.functions = (lambda *_: 1 / 0, None)
    servicer = pmdo.ExplicitServer(discipline=discipline)
    servicer.Setup(None, mock.Mock())
    context = mock.Mock()
    list(servicer.ComputeFunction([array("x", FIVE)], context))
    context.abort.assert_called_once_with(
        grpc.StatusCode.INTERNAL, "ComputeFunction failed: division by zero"
    )


class Fake:
    """A message of attributes alone."""

    def __init__(self, name, values):
        kind = data.kInput
        fields = {"subname": "", "start": 0, "end": len(values) - 1, "type": kind, "data": values}
        self.continuous = mock.Mock(**fields)
        self.continuous.name = name

    def WhichOneof(self, _):  # noqa: N802
        return "continuous"


def test_messages_that_are_doubles(flavour):
    """A mock with the attributes that stock reads is read."""
    servicer = pmdo.ExplicitServer(discipline=explicit())
    servicer.Setup(None, mock.Mock())
    (reply,) = servicer.ComputeFunction([Fake("x", [1.0, 2, 3, 4, 5])], mock.Mock())
    assert list(reply.continuous.data) == [2.0, 4, 6, 8, 10]


def test_stream_options_that_are_doubles(flavour):
    """Reading does not ask for them, writing refuses them."""
    with pair("run_compute") as (client, servicer):
        servicer._stream_opts = mock.Mock()
        with pytest.raises(PhiloteServerError, match="chunk_size must be a positive integer"):
            client.run_compute(X)
        client._stream_options = mock.Mock()
        assert client._recover_outputs([output("y", FIVE)])["y"].tolist() == FIVE.tolist()
        with pytest.raises(PhiloteValidationError, match="chunk_size must be a positive integer"):
            client.run_compute(X)


@pytest.mark.parametrize("name", ["_recover_outputs", "_recover_residuals", "_recover_partials"])
def test_recovering_is_called_directly_with_a_generator_that_fails(name, flavour):
    client = pmdo.ExplicitClient(mock.Mock())

    def responses():
        yield data.VariableMessage()
        raise KeyError("in the middle")

    with pytest.raises(KeyError, match="in the middle"):
        getattr(client, name)(responses())


def test_installed_and_uninstalled_around_a_live_client_and_server():
    """A server attached while patched, or not, serves before and after the switch."""
    for first in (philote_fast.install, philote_fast.uninstall):
        first()
        with contextlib.ExitStack() as stack:
            stack.callback(philote_fast.install)
            client, _ = stack.enter_context(pair("run_compute"))
            for switch in (philote_fast.uninstall, philote_fast.install, philote_fast.uninstall):
                switch()
                assert client.run_compute(X)["y"].tolist() == (2 * FIVE).tolist()
                with pytest.raises(PhiloteValidationError):
                    client.run_compute({"x": [1.0]})
