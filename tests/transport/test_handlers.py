"""What becomes of exceptions in the server's functions."""

import threading

import grpc
import pytest

from .implementations import NATIVE, PATIENCE
from .service import KINDS, both, echo

CODE = grpc.StatusCode


def error_of(remote, kind, behaviour, **serializers):
    method = remote.method(kind, behaviour, **serializers)
    request = iter([b"a"]) if kind.startswith("stream") else b"a"
    with pytest.raises(grpc.RpcError) as caught:
        list(method(request, timeout=PATIENCE))
    return caught.value.code(), caught.value.details()


class OddError(Exception):
    def __str__(self):
        return "odd"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("v"), "v"),
        (KeyError("k"), "'k'"),
        (OddError(), "odd"),
        (MemoryError(), ""),
        (StopIteration("s"), "s"),
        (RuntimeError(), ""),
    ],
    ids=repr,
)
def test_an_exception(remote, kind, error, text):
    def behaviour(request, context):
        raise error

    expected = (CODE.UNKNOWN, f"Exception calling application: {text}")
    if isinstance(error, StopIteration) and kind.endswith("stream"):
        pytest.skip("the function is not an iterator")
    assert error_of(remote, kind, behaviour) == expected
    remote.check()


@pytest.mark.parametrize("kind", ["unary_stream", "stream_stream"])
def test_an_exception_within_a_stream(remote, kind):
    def behaviour(request, context):
        yield b"1"
        raise ValueError("v")

    expected = (CODE.UNKNOWN, "Exception iterating responses: v")
    assert error_of(remote, kind, behaviour) == expected
    remote.check()


def test_a_code_set_before_an_exception(remote):
    def behaviour(request, context):
        context.set_code(CODE.NOT_FOUND)
        context.set_details("details")
        raise ValueError("v")

    assert error_of(remote, "unary_unary", behaviour)[0] in (CODE.NOT_FOUND, CODE.UNKNOWN)
    remote.check()


def bad(message):
    raise ValueError("bad")


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream"])
def test_a_request_that_cannot_be_deserialized(remote, kind):
    found = error_of(remote, kind, echo, serve=(bad, None))
    assert found == (CODE.INTERNAL, "Exception deserializing request!")
    remote.check()


@pytest.mark.parametrize("kind", ["stream_unary", "stream_stream"])
def test_a_stream_of_requests_that_cannot_be_deserialized(client, server, kind):
    if server is not NATIVE:
        pytest.skip("grpcio's server answers the same, and can never be stopped afterwards")

    def unary(requests, context):
        return b"".join(requests)

    def stream(requests, context):
        yield from requests

    behaviour = unary if kind == "stream_unary" else stream
    with both(client, server) as remote:
        found = error_of(remote, kind, behaviour, serve=(bad, None))
        assert found == (CODE.INTERNAL, "Exception deserializing request!")
        remote.check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_reply_that_cannot_be_serialized(remote, kind):
    def unary(request, context):
        return b""

    def stream(request, context):
        yield b""

    behaviour = unary if kind.endswith("unary") else stream
    found = error_of(remote, kind, behaviour, serve=(None, bad))
    assert found == (CODE.INTERNAL, "Failed to serialize response!")
    remote.check()


def test_a_reply_of_none(remote):
    found = error_of(remote, "unary_unary", lambda request, context: None)
    assert found[0] in (CODE.UNKNOWN, CODE.INTERNAL)
    remote.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [SystemExit("s"), KeyboardInterrupt("k"), GeneratorExit("g")])
def test_a_base_exception(client, server, kind, error):
    """grpcio's client waits for ever, and its worker is lost: a native server answers INTERNAL."""
    if server is not NATIVE:
        pytest.skip("grpcio's server never answers")

    def behaviour(request, context):
        raise error

    with both(client, server, workers=1) as remote:
        code, details = error_of(remote, kind, behaviour)
        assert code is CODE.INTERNAL
        assert str(error) in details
        remote.check()


def test_an_abort_is_an_exception(remote):
    """It ends the function, which may clean up but not answer any more."""
    caught = []

    def behaviour(request, context):
        try:
            context.abort(CODE.ABORTED, "away")
        except Exception as error:
            caught.append(type(error))
            raise
        finally:
            caught.append("cleaned up")

    assert error_of(remote, "unary_unary", behaviour) == (CODE.ABORTED, "away")
    assert caught == [Exception, "cleaned up"]


def test_an_abort_that_is_caught(remote):
    def behaviour(request, context):
        with pytest.raises(Exception):  # noqa: B017, PT011 - grpcio raises an Exception
            context.abort(CODE.ABORTED, "away")
        return b"not sent"

    assert error_of(remote, "unary_unary", behaviour) == (CODE.ABORTED, "away")


def test_an_abort_with_ok(remote):
    def behaviour(request, context):
        context.abort(CODE.OK, "fine")

    code, _ = error_of(remote, "unary_unary", behaviour)
    assert code is CODE.UNKNOWN
    remote.check()


def test_an_abort_with_a_status(remote):
    class Status(grpc.Status):
        code = CODE.OUT_OF_RANGE
        details = "far"
        trailing_metadata = (("key", "value"),)

    def behaviour(request, context):
        context.abort_with_status(Status)

    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(behaviour)(b"")
    assert (caught.value.code(), caught.value.details()) == (CODE.OUT_OF_RANGE, "far")
    assert [tuple(pair) for pair in caught.value.trailing_metadata()] == [("key", "value")]


@pytest.mark.parametrize("code", [5, "NOT_FOUND", None], ids=repr)
def test_an_abort_with_a_code_of_the_wrong_type(remote, code):
    def behaviour(request, context):
        context.abort(code, "details")

    found, details = error_of(remote, "unary_unary", behaviour)
    assert isinstance(found, grpc.StatusCode)
    assert found is not CODE.OK
    assert isinstance(details, str)
    remote.check()


def test_a_generator_is_closed_when_its_client_goes(remote):
    closed, entered = threading.Event(), threading.Event()

    def behaviour(request, context):
        try:
            while context.is_active():
                yield b""
                entered.set()
        finally:
            closed.set()

    call = remote.unary_stream(behaviour)(b"")
    next(call)
    assert entered.wait(PATIENCE)
    call.cancel()
    assert closed.wait(PATIENCE)
    remote.check()


def test_requests_end_when_the_client_goes(remote):
    """A handler that waits for the next request of a cancelled call is let go."""
    outcome, ended = [], threading.Event()

    def behaviour(requests, context):
        try:
            for _ in requests:
                yield b""
            outcome.append("end")
        except BaseException as error:
            outcome.append(type(error))
            raise
        finally:
            ended.set()

    def requests():
        yield b""
        ended.wait(PATIENCE)

    call = remote.stream_stream(behaviour)(requests())
    next(call)
    call.cancel()
    assert ended.wait(PATIENCE)
    assert outcome in ([grpc.RpcError], ["end"], [GeneratorExit])
    remote.check()
