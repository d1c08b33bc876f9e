"""Registering a servicer: real servers and clients; stock shows the fault, patched the repair."""

import contextlib
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
    ExplicitDiscipline,
    ExplicitServer,
    ImplicitDiscipline,
    ImplicitServer,
)
from philote_mdo.generated import data_pb2 as data
from philote_mdo.generated import disciplines_pb2_grpc as disc
from philote_mdo.utils.validation import PhiloteValidationError

import philote_fast
from philote_fast.patches import registration
from philote_fast.patches.context import MESSAGE_LIMIT, SafeContext, cut

# Long enough for a loaded machine; a call that stock never answers takes the short one.
PATIENCE = 60
IMPATIENCE = 1.5


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


class Explicit(ExplicitDiscipline):
    """y = 2 x, unless told to fail."""

    def __init__(self, fault=None, where="compute"):
        super().__init__()
        self.fault, self.where = fault, where

    def fail(self, where):
        if self.fault is not None and where == self.where:
            raise self.fault

    def setup(self):
        self.fail("setup")
        self.add_input("x", shape=(3,))
        self.add_output("y", shape=(3,))

    def setup_partials(self):
        self.declare_partials("y", "x")

    def set_options(self, options):
        self.fail("set_options")

    def compute(self, inputs, outputs):
        self.fail("compute")
        outputs["y"] = 2 * inputs["x"]

    def compute_partials(self, inputs, partials):
        self.fail("compute_partials")
        partials["y", "x"] = np.eye(3) * 2


class Implicit(ImplicitDiscipline):
    """y - x = 0, unless told to fail."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def setup(self):
        self.add_input("x", shape=(1,))
        self.add_output("y", shape=(1,))

    def compute_residuals(self, inputs, outputs, residuals):
        raise self.fault

    def solve_residuals(self, inputs, outputs):
        raise self.fault

    def residual_partials(self, inputs, outputs, partials):
        raise self.fault


@contextlib.contextmanager
def serving(servicer, workers=1, interceptors=None):
    """Serve a servicer; by default with one worker, whose death nobody could make up for."""
    server = grpc.server(futures.ThreadPoolExecutor(workers), interceptors=interceptors)
    servicer.attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        server.stop(None)


def inputs(count=3):
    array = data.Array(name="x", start=0, end=count - 1, type=data.kInput, data=[1.0] * count)
    return iter([data.VariableMessage(continuous=array)])


def setup(channel):
    disc.DisciplineServiceStub(channel).Setup(Empty(), timeout=PATIENCE)


def compute(channel, timeout=PATIENCE, method="ComputeFunction", count=3):
    stub = disc.ExplicitServiceStub(channel)
    return list(getattr(stub, method)(inputs(count), timeout=timeout))


def error_of(call, *args, **keywords):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **keywords)
    return caught.value.code(), caught.value.details()


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


# Long error texts


def check_text(got, sent):
    """Check that a text arrived, whole if short, else with its head and its tail."""
    if got == sent:
        return
    head, _, rest = got.partition(" ... [")
    count, _, tail = rest.partition(" characters cut] ... ")
    assert sent.startswith(head)
    assert sent.endswith(tail)
    assert len(head) + int(count) + len(tail) == len(sent)
    assert len(head) > len(tail) > 50


TEXTS = {
    "short": "bad input",
    "controls": "line\nnext\ttab\r 100% %41 \x01\x7f",
    "unicode": "größer ± 名前 🦀",
    "6 KiB": "a" * 6000,
    "9 KiB": "".join(f"{i:07} " for i in range(1152)),
    "100 KiB": "".join(f"{i:07} " for i in range(12800)),
    "9 KiB of é": "é" * 4608,
    "9 KiB of crabs": "🦀" * 2304,
    "4 KiB of %": "%" * 4096,
    "mixed": "x%é名🦀\n" * 3000,
}


@pytest.mark.parametrize("sent", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize(
    ("fault", "code", "prefix"),
    [
        (ValueError, grpc.StatusCode.INTERNAL, "ComputeFunction failed: "),
        ("validation", grpc.StatusCode.INVALID_ARGUMENT, ""),
        (SystemExit, grpc.StatusCode.INTERNAL, "ComputeFunction failed: SystemExit: "),
    ],
)
def test_an_error_text_arrives(sent, fault, code, prefix):
    kind = PhiloteValidationError if fault == "validation" else fault
    with serving(ExplicitServer(Explicit(kind(sent)))) as channel:
        setup(channel)
        # A client may refuse headers between its soft and its hard limit at random.
        for _ in range(5):
            got_code, got = error_of(compute, channel)
            assert got_code is code
            check_text(got, prefix + sent)


def test_stock_loses_the_code_of_a_long_text():
    philote_fast.uninstall()
    with serving(ExplicitServer(Explicit(ValueError("a" * 100_000)))) as channel:
        setup(channel)
        code, details = error_of(compute, channel)
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "aaa" not in details


class Escaping(ExplicitServer):
    """Errors that leave the handler as they are."""

    text = ""
    metadata = ()

    def GetVariableDefinitions(self, request, context):  # noqa: N802
        yield data.VariableMetaData(name="x")
        raise ValueError(self.text)

    def GetAvailableOptions(self, request, context):  # noqa: N802
        context.set_trailing_metadata(self.metadata)
        raise ValueError(self.text)

    def SetStreamOptions(self, request, context):  # noqa: N802
        context.set_code(grpc.StatusCode.NOT_FOUND)
        context.set_details(self.text)
        return Empty()

    def SetOptions(self, request, context):  # noqa: N802
        status = mock.Mock(grpc.Status)
        status.code, status.details = grpc.StatusCode.ABORTED, self.text
        status.trailing_metadata = self.metadata
        context.abort_with_status(status)


@pytest.mark.parametrize("sent", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize(
    "metadata", [(), (("k", "v" * 1000),), (("k-bin", b"v" * 3000),)], ids=["none", "1k", "3k"]
)
def test_texts_that_escape_or_are_set(sent, metadata):
    server = Escaping(Explicit())
    server.text, server.metadata = sent, metadata
    escaped = "Exception calling application: " + sent
    with serving(server) as channel:
        stub = disc.DisciplineServiceStub(channel)
        code, got = error_of(lambda: list(stub.GetVariableDefinitions(Empty(), timeout=PATIENCE)))
        assert code is grpc.StatusCode.UNKNOWN
        check_text(got, "Exception iterating responses: " + sent)
        for _ in range(5):
            code, got = error_of(stub.GetAvailableOptions, Empty(), timeout=PATIENCE)
            assert code is grpc.StatusCode.UNKNOWN
            check_text(got, escaped)
        code, got = error_of(stub.SetStreamOptions, data.StreamOptions(), timeout=PATIENCE)
        assert code is grpc.StatusCode.NOT_FOUND
        check_text(got, sent)
        code, got = error_of(stub.SetOptions, data.DisciplineOptions(), timeout=PATIENCE)
        assert code is grpc.StatusCode.ABORTED
        check_text(got, sent)


def test_cut():
    assert cut("short") == "short"
    assert cut("a" * MESSAGE_LIMIT) == "a" * MESSAGE_LIMIT
    for text in TEXTS.values():
        for limit in (64, 512, 700, MESSAGE_LIMIT):
            assert encoded(cut(text, limit)) <= limit
    assert cut("a" * 100 + "b" * 100, 90).startswith("aaaa")
    assert cut("\ud800" * 9000).startswith("\ud800")


def encoded(text):
    plain = sum(0x20 <= b <= 0x7E and b != 0x25 for b in text.encode("utf-8", "surrogatepass"))
    return 3 * len(text.encode("utf-8", "surrogatepass")) - 2 * plain


# The context


def test_a_safe_context_is_the_real_one_otherwise():
    real = mock.create_autospec(grpc.ServicerContext, instance=True)
    real.extra = "extra"
    safe = SafeContext(real)
    assert isinstance(safe, grpc.ServicerContext)
    assert safe.extra == "extra"
    safe.user = "me"
    assert real.user == "me"
    with pytest.raises(AttributeError):
        _ = safe.unknown
    for name in (
        "is_active", "time_remaining", "cancel", "invocation_metadata", "peer", "peer_identities",
        "peer_identity_key", "auth_context", "trailing_metadata", "code", "details",
        "disable_next_message_compression",
    ):  # fmt: skip
        assert getattr(safe, name)() is getattr(real, name).return_value
    for name in (
        "add_callback", "set_compression", "send_initial_metadata", "set_trailing_metadata",
        "set_code", "set_details",
    ):  # fmt: skip
        getattr(safe, name)(name)
        getattr(real, name).assert_called_once_with(name)
    real.trailing_metadata.return_value = None
    safe.abort(grpc.StatusCode.ABORTED, b"bytes")
    real.abort.assert_called_once_with(grpc.StatusCode.ABORTED, b"bytes")
    status = mock.Mock(details="short", trailing_metadata=None)
    safe.abort_with_status(status)
    real.abort_with_status.assert_called_once_with(status)


def test_a_context_that_knows_no_details():
    class Bare(SafeContext):
        details = trailing_metadata = grpc.ServicerContext.details

    given = []
    real = mock.Mock(set_details=given.append)
    SafeContext(Bare(real)).explain("a" * 9000)
    assert len(given) == 1


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
