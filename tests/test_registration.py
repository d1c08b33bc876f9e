"""Registering a servicer: real servers; stock shows the fault, patched the repair."""

import logging
import threading
from concurrent import futures
from unittest import mock

import grpc
import numpy as np
import pytest
from google.protobuf.empty_pb2 import Empty
from philote_mdo.general import (
    DisciplineServer,
    ExplicitServer,
    ImplicitServer,
)
from philote_mdo.generated import data_pb2 as data
from philote_mdo.generated import disciplines_pb2_grpc as disc

import philote_fast
from philote_fast.patches import registration

from .servicers import (
    IMPATIENCE,
    PATIENCE,
    Explicit,
    Implicit,
    compute,
    error_of,
    inputs,
    serving,
    setup,
)


@pytest.fixture(autouse=True)
def installed():
    philote_fast.install()
    yield
    philote_fast.install()


@pytest.fixture(params=["stock", "fast"])
def implementation(request):
    if request.param == "stock":
        philote_fast.uninstall()
    return request.param


# GetInfo


def test_get_info(implementation):
    with serving(ExplicitServer(Explicit())) as channel:
        stub = disc.DisciplineServiceStub(channel)
        if implementation == "stock":
            assert error_of(stub.GetInfo, Empty(), timeout=PATIENCE)[0] is grpc.StatusCode.INTERNAL
            return
        for _ in range(3):
            answer = stub.GetInfo(Empty(), timeout=PATIENCE)
            assert answer == data.DisciplineProperties()


def test_get_info_of_a_subclass_that_returns():
    class Returning(ExplicitServer):
        def GetInfo(self, request, context):  # noqa: N802
            return data.DisciplineProperties(continuous=True)

    with serving(Returning(Explicit())) as channel:
        answer = disc.DisciplineServiceStub(channel).GetInfo(Empty(), timeout=PATIENCE)
        assert answer.continuous


def test_get_info_that_gives_nothing_or_fails():
    class Nothing(ExplicitServer):
        def GetInfo(self, request, context):  # noqa: N802
            yield from ()

    for server in (Nothing(Explicit()), ExplicitServer(None)):
        with serving(server) as channel:
            code, details = error_of(
                disc.DisciplineServiceStub(channel).GetInfo, Empty(), timeout=PATIENCE
            )
            assert code is grpc.StatusCode.UNKNOWN
            assert details.startswith("Exception calling application: ")


def test_get_info_called_directly_is_still_a_generator(implementation):
    answers = ExplicitServer(Explicit()).GetInfo(Empty(), mock.Mock())
    assert list(answers) == [data.DisciplineProperties()]


# SystemExit and its kind


FATAL = [SystemExit(3), KeyboardInterrupt(), GeneratorExit("done"), BaseException("base")]


@pytest.mark.parametrize("fault", FATAL, ids=lambda e: type(e).__name__)
def test_a_fatal_error_is_an_answer(fault):
    text = f"failed: {type(fault).__name__}: {fault}"
    with serving(ExplicitServer(Explicit(fault, "compute"))) as channel:
        setup(channel)
        for _ in range(2):
            code, details = error_of(compute, channel)
            assert (code, details) == (grpc.StatusCode.INTERNAL, "ComputeFunction " + text)
        assert compute(channel, method="ComputeGradient")
    with serving(ExplicitServer(Explicit(fault, "compute_partials"))) as channel:
        setup(channel)
        assert error_of(compute, channel, method="ComputeGradient")[1] == "ComputeGradient " + text
        assert compute(channel)
    with serving(ExplicitServer(Explicit(fault, "setup"))) as channel:
        assert error_of(setup, channel) == (grpc.StatusCode.INTERNAL, "Setup " + text)
    with serving(ExplicitServer(Explicit(fault, "set_options"))) as channel:
        stub = disc.DisciplineServiceStub(channel)
        got = error_of(stub.SetOptions, data.DisciplineOptions(), timeout=PATIENCE)
        assert got == (grpc.StatusCode.INTERNAL, "SetOptions " + text)
        setup(channel)


def test_a_fatal_error_in_an_implicit_discipline():
    with serving(ImplicitServer(Implicit(SystemExit("enough")))) as channel:
        setup(channel)
        stub = disc.ImplicitServiceStub(channel)
        for name in ("ComputeResiduals", "SolveResiduals", "ComputeResidualGradients"):
            call = getattr(stub, name)
            code, details = error_of(lambda call=call: list(call(inputs(1), timeout=PATIENCE)))
            assert code is grpc.StatusCode.INTERNAL
            assert details == f"{name} failed: SystemExit: enough"


def test_stock_leaves_the_client_waiting():
    philote_fast.uninstall()
    with serving(ExplicitServer(Explicit(SystemExit(3)))) as channel:
        setup(channel)
        assert error_of(compute, channel, IMPATIENCE)[0] is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_fatal_error_is_logged(caplog):
    with (
        caplog.at_level(logging.ERROR, "philote_fast"),
        serving(ExplicitServer(Explicit(SystemExit(3)))) as channel,
    ):
        setup(channel)
        error_of(compute, channel)
    assert "ComputeFunction: SystemExit in a discipline" in caplog.text


def test_a_cancelled_call_closes_the_handler():
    closed = threading.Event()

    class Endless(ExplicitServer):
        def ComputeFunction(self, request_iterator, context):  # noqa: N802
            try:
                while True:
                    yield data.VariableMessage()
            except GeneratorExit:
                closed.set()
                raise

    with serving(Endless(Explicit()), workers=2) as channel:
        setup(channel)
        call = disc.ExplicitServiceStub(channel).ComputeFunction(inputs(), timeout=PATIENCE)
        next(call)
        call.cancel()
        assert closed.wait(PATIENCE)
        setup(channel)


# What a server is given


def calls_of(servicer, attach):
    server = mock.Mock()
    attach(servicer, server)
    return server.mock_calls


@pytest.mark.parametrize("kind", [DisciplineServer, ExplicitServer, ImplicitServer])
def test_a_server_sees_the_calls_that_stock_makes(kind):
    patched = calls_of(kind(), kind.attach_to_server)
    philote_fast.uninstall()
    stock = calls_of(kind(), kind.attach_to_server)
    assert [call[0] for call in patched] == [call[0] for call in stock]
    for ours, theirs in zip(patched, stock, strict=True):
        assert shape_of(ours.args) == shape_of(theirs.args)


def shape_of(args):
    if len(args) == 1:
        ((handler,),) = args
        assert isinstance(handler, grpc.GenericRpcHandler)
        return handler.service_name(), table_of(handler._method_handlers)
    service, handlers = args
    return service, table_of(handlers)


def table_of(handlers):
    """Everything about handlers but their behaviours."""
    return [
        (name, *handler[:4], *(behavior is None for behavior in handler[4:]))
        for name, handler in handlers.items()
    ]


class Plain(disc.DisciplineServiceServicer, disc.ExplicitServiceServicer):
    pass


@pytest.mark.parametrize("servicer", [Plain(), mock.Mock(DisciplineServer), mock.MagicMock()])
def test_a_servicer_that_is_not_philote_mdo_is_registered_by_stock(servicer):
    server = mock.Mock()
    disc.add_DisciplineServiceServicer_to_server(servicer, server)
    _, handlers = server.add_registered_method_handlers.call_args.args
    assert handlers["GetInfo"].unary_unary == servicer.GetInfo


def test_a_servicer_that_lacks_a_method(implementation):
    with pytest.raises(AttributeError, match="ComputeFunction"):
        disc.add_ExplicitServiceServicer_to_server(DisciplineServer(), mock.Mock())


class Watching(grpc.ServerInterceptor):
    """Keeps what it sees of the messages."""

    def __init__(self):
        self.requests, self.responses = [], []

    def intercept_service(self, continuation, handler_call_details):
        handler = continuation(handler_call_details)
        if not handler.stream_stream:
            return handler

        def watched(requests, context):
            for response in handler.stream_stream(map(self.saw, requests), context):
                self.responses.append(response)
                yield response

        return grpc.stream_stream_rpc_method_handler(
            watched, handler.request_deserializer, handler.response_serializer
        )

    def saw(self, request):
        self.requests.append(request)
        return request


def test_an_interceptor_sees_messages(implementation):
    watching = Watching()
    with serving(ExplicitServer(Explicit()), interceptors=(watching,)) as channel:
        setup(channel)
        (answer,) = compute(channel)
    assert list(answer.continuous.data) == [2.0] * 3
    assert [type(m) for m in watching.requests] == [data.VariableMessage]
    assert watching.responses == [answer]


# Behaviours in bytes


@pytest.fixture
def raw(monkeypatch):
    """A behaviour in bytes for ComputeFunction that echoes, and a record of its use."""
    used = []

    def factory(servicer):
        def echo(requests, context):
            for request in requests:
                assert type(request) is bytes
                used.append(servicer)
                yield request

        return echo

    monkeypatch.setitem(registration.RAW, "ComputeFunction", factory)
    monkeypatch.setattr(registration, "untouched", untouched)
    return used


def untouched(instance, *names):
    """Take the stock methods of this test for patched ones."""
    return all(getattr(type(instance), n) is getattr(ExplicitServer, n) for n in names)


def test_bytes_where_nobody_can_tell(raw):
    with serving(ExplicitServer(Explicit())) as channel:
        setup(channel)
        (answer,) = compute(channel)
        assert answer.continuous.type == data.kInput
    assert len(raw) == 1


def test_messages_where_somebody_looks(raw):
    class Overriding(ExplicitServer):
        def ComputeFunction(self, request_iterator, context):  # noqa: N802
            return super().ComputeFunction(request_iterator, context)

    class Proxy:
        def __init__(self, server):
            self.server = server

        def __getattr__(self, name):
            return getattr(self.server, name)

    with serving(Overriding(Explicit())) as channel:
        setup(channel)
        assert compute(channel)[0].continuous.type == data.kOutput
    with serving(ExplicitServer(Explicit()), interceptors=(Watching(),)) as channel:
        setup(channel)
        assert compute(channel)[0].continuous.type == data.kOutput
    real = grpc.server(futures.ThreadPoolExecutor(1))
    assert registration._takes_bytes(real)
    assert not registration._takes_bytes(Proxy(real))
    assert raw == []
    real.stop(None)


def test_results_are_those_of_stock(implementation):
    with serving(ExplicitServer(Explicit())) as channel:
        setup(channel)
        (answer,) = compute(channel)
        assert list(answer.continuous.data) == [2.0] * 3
        (gradient,) = compute(channel, method="ComputeGradient")
        assert np.array_equal(np.reshape(gradient.continuous.data, (3, 3)), 2 * np.eye(3))
        stub = disc.DisciplineServiceStub(channel)
        names = [m.name for m in stub.GetVariableDefinitions(Empty(), timeout=PATIENCE)]
        assert names == ["x", "y"]
