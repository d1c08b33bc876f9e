"""What a call, a future and an error are: classes, methods and texts."""

import re
import threading

import grpc
import pytest

from .implementations import NATIVE, PATIENCE
from .service import both, echo

CODE = grpc.StatusCode
TERMINATED = r"<\w+ of RPC that terminated with:\n\tstatus = StatusCode\.{}\n\tdetails = \"{}\"\n"


def failing(request, context):
    context.abort(CODE.DATA_LOSS, "no luck")


def failing_stream(request, context):
    yield b"1"
    context.abort(CODE.DATA_LOSS, "no luck")


def failed(remote):
    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(failing)(b"")
    return caught.value


def test_an_error_is_a_call(remote):
    error = failed(remote)
    assert isinstance(error, grpc.Call)
    assert isinstance(error, grpc.RpcError)
    assert (error.code(), error.details()) == (CODE.DATA_LOSS, "no luck")
    assert list(error.initial_metadata()) == []
    assert list(error.trailing_metadata()) == []
    assert error.cancelled() is False
    assert error.done() is True
    assert error.running() is False
    assert "no luck" in error.debug_error_string()
    with pytest.raises(grpc.RpcError) as again:
        error.result()
    assert again.value is error
    assert error.exception() is error
    assert error.cancel() is False


@pytest.mark.parametrize("text", [str, repr])
def test_an_error_as_text(remote, text):
    assert re.match(TERMINATED.format("DATA_LOSS", "no luck"), text(failed(remote)))
    call = remote.unary_stream(failing_stream)(b"")
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert re.match(TERMINATED.format("DATA_LOSS", "no luck"), text(caught.value))


def test_a_call_as_text(remote):
    call = remote.unary_stream(lambda request, context: iter([b""]))(b"")
    assert list(call) == [b""]
    assert re.match(r"<\w+ of RPC that terminated with:\n\tstatus = StatusCode.OK\n", repr(call))
    go = threading.Event()
    future = remote.unary_unary(lambda request, context: go.wait(PATIENCE) and b"").future(b"")
    assert re.match(r"<\w+ object>", repr(future))
    go.set()
    assert future.result(PATIENCE) == b""


def test_the_error_of_a_stream_is_the_call(remote):
    call = remote.unary_stream(failing_stream)(b"")
    assert next(call) == b"1"
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    assert caught.value is call
    assert isinstance(call, grpc.Future)
    with pytest.raises(grpc.RpcError):
        next(call)
    assert call.exception() is call
    with pytest.raises(grpc.RpcError):
        call.result()


def test_the_error_of_a_future(remote):
    future = remote.unary_unary(failing).future(b"")
    error = future.exception(timeout=PATIENCE)
    assert isinstance(error, grpc.RpcError)
    assert (error.code(), error.details()) == (CODE.DATA_LOSS, "no luck")
    assert future.traceback(timeout=PATIENCE) is not None
    with pytest.raises(grpc.RpcError):
        future.result()
    assert (future.done(), future.running(), future.cancelled()) == (True, False, False)


def test_a_future_that_is_not_done(remote):
    go = threading.Event()
    future = remote.unary_unary(lambda request, context: go.wait(PATIENCE) and b"b").future(b"")
    assert (future.done(), future.running(), future.cancelled()) == (False, True, False)
    for ask in (future.result, future.exception, future.traceback):
        with pytest.raises(grpc.FutureTimeoutError):
            ask(timeout=0.05)
    assert future.is_active()
    go.set()
    assert future.result(PATIENCE) == b"b"
    assert not future.is_active()


def test_a_cancelled_future(remote):
    go = threading.Event()
    future = remote.unary_unary(lambda request, context: go.wait(PATIENCE) and b"b").future(b"")
    future.cancel()
    for ask in (future.result, future.exception, future.traceback):
        with pytest.raises(grpc.FutureCancelledError):
            ask(timeout=PATIENCE)
    assert (future.done(), future.running(), future.cancelled()) == (True, False, True)
    go.set()


def test_callbacks_of_a_future(remote):
    go, called = threading.Event(), []
    future = remote.unary_unary(lambda request, context: go.wait(PATIENCE) and b"b").future(b"")
    done = threading.Event()
    future.add_done_callback(called.append)
    future.add_done_callback(lambda _: done.set())
    assert called == []
    go.set()
    assert done.wait(PATIENCE)
    assert called == [future]
    future.add_done_callback(called.append)
    assert called == [future, future]


def test_a_callback_that_raises(remote):
    """It harms neither the other callbacks nor the channel."""
    go, done = threading.Event(), threading.Event()
    future = remote.unary_unary(lambda request, context: go.wait(PATIENCE) and b"b").future(b"")

    def bad(_):
        raise ValueError("in a callback")

    future.add_done_callback(bad)
    future.add_done_callback(lambda _: done.set())
    go.set()
    assert done.wait(PATIENCE)
    assert future.result(PATIENCE) == b"b"
    remote.check()


def test_callbacks_of_a_call(remote):
    ended = threading.Event()
    call = remote.unary_stream(lambda request, context: iter([b"1"]))(b"")
    assert call.add_callback(ended.set) in (True, False)
    list(call)
    assert call.code() is CODE.OK
    assert not call.add_callback(ended.set)
    future = remote.unary_unary(echo).future(b"")
    future.result(PATIENCE)
    assert not future.add_callback(ended.set)


def test_a_callback_may_make_a_call(remote):
    answers, done = [], threading.Event()

    def again(_):
        answers.append(remote.unary_unary(echo)(b"inner", timeout=PATIENCE))
        done.set()

    remote.unary_unary(echo).future(b"outer").add_done_callback(again)
    assert done.wait(PATIENCE)
    assert answers == [b"inner"]


def test_code_and_details_wait_for_the_end(remote):
    go = threading.Event()

    def behaviour(request, context):
        go.wait(PATIENCE)
        context.abort(CODE.DATA_LOSS, "late")
        yield b""

    call = remote.unary_stream(behaviour)(b"")
    timer = threading.Timer(0.2, go.set)
    timer.start()
    assert call.code() is CODE.DATA_LOSS
    assert call.details() == "late"
    assert list(call.trailing_metadata()) == []
    timer.join()


def test_a_request_that_cannot_be_serialized(remote):
    def bad(request):
        raise ValueError("unserializable")

    method = remote.unary_unary(echo, call=(bad, None))
    with pytest.raises(grpc.RpcError) as caught:
        method(b"")
    assert caught.value.code() is CODE.INTERNAL
    assert caught.value.details() == "Exception serializing request!"
    call = remote.stream_stream(lambda requests, context: requests, call=(bad, None))(iter([b""]))
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is CODE.INTERNAL
    assert caught.value.details() == "Exception serializing request!"
    remote.check()


def test_a_reply_that_cannot_be_deserialized(remote):
    def bad(reply):
        raise ValueError("undeserializable")

    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(echo, call=(None, bad))(b"")
    assert caught.value.code() is CODE.INTERNAL
    assert caught.value.details() == "Exception deserializing response!"
    call = remote.unary_stream(lambda request, context: iter([b"1"]), call=(None, bad))(b"")
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is CODE.INTERNAL
    assert caught.value.details() == "Exception deserializing response!"
    remote.check()


def test_requests_whose_iterator_raises(remote):
    def requests():
        yield b"1"
        raise ValueError("no more")

    with pytest.raises(grpc.RpcError) as caught:
        list(remote.stream_stream(lambda requests, context: requests)(requests()))
    assert caught.value.code() is CODE.UNKNOWN
    assert caught.value.details() == "Exception iterating requests!"
    with pytest.raises(grpc.RpcError) as caught:
        remote.stream_unary(lambda requests, context: b"".join(requests))(requests())
    assert caught.value.code() is CODE.UNKNOWN
    assert caught.value.details() == "Exception iterating requests!"
    remote.check()


@pytest.mark.parametrize("request_", [None, "text", 7], ids=repr)
def test_a_request_that_is_no_bytes(remote, request_):
    with pytest.raises((TypeError, grpc.RpcError)):
        remote.unary_unary(echo)(request_)
    remote.check()


@pytest.mark.parametrize("client", [NATIVE], ids=["native"])
def test_a_callback_that_exits(client):
    """Callbacks of other calls are called all the same, by the same thread."""
    called = threading.Event()

    def leave(future):
        raise SystemExit

    with both(client, NATIVE) as remote:
        method = remote.unary_unary(echo)
        method.future(b"", timeout=PATIENCE).add_done_callback(leave)
        method.future(b"", timeout=PATIENCE).add_done_callback(lambda future: called.set())
        assert called.wait(PATIENCE)


def test_a_future_that_another_thread_cancels_while_it_is_waited_for(remote):
    go = threading.Event()
    held = remote.unary_unary(lambda request, context: go.wait(PATIENCE) and b"")
    for _ in range(300):
        future = held.future(b"")
        thread = threading.Thread(target=future.cancel)
        thread.start()
        with pytest.raises(grpc.FutureCancelledError):
            future.result(PATIENCE)
        assert future.cancelled()
        thread.join()
    go.set()
