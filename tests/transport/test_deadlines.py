"""Timeouts, waiting for a peer, and cancelling."""

import threading
import time

import grpc
import pytest

from .implementations import PATIENCE
from .service import KINDS, connected, echo, serving

CODE = grpc.StatusCode


class Waiting:
    """A behaviour of any kind that waits until it is let go, and tells how its call ended."""

    def __init__(self, kind):
        self.entered, self.released, self.ended = (threading.Event() for _ in range(3))
        self.active_at_end = None
        self.behaviour = self._stream if kind.endswith("stream") else self._unary

    def _wait(self, context):
        def at_end():
            self.active_at_end = context.is_active()
            self.ended.set()

        assert context.add_callback(at_end)
        self.entered.set()
        self.released.wait(PATIENCE)
        return b""

    def _unary(self, request, context):
        return self._wait(context)

    def _stream(self, request, context):
        yield self._wait(context)


@pytest.fixture(params=KINDS)
def waiting(request, remote):
    """Give a function that calls a waiting method, its behaviour, and what waits for the end."""
    kind = request.param
    server_side = Waiting(kind)
    method = remote.method(kind, server_side.behaviour)
    start = method if kind.endswith("stream") else method.future

    def call(**keywords):
        return start(iter([b"a"]) if kind.startswith("stream") else b"a", **keywords)

    yield call, server_side, list if kind.endswith("stream") else _result
    server_side.released.set()


def outcome(call, end=list):
    """The code and details with which a call ends."""
    with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
        end(call)
    return call.code(), call.details()


def _result(future):
    return future.result(PATIENCE)


def test_a_deadline(waiting, remote):
    call, server_side, end = waiting
    running = call(timeout=0.3)
    assert outcome(running, end) == (CODE.DEADLINE_EXCEEDED, "Deadline Exceeded")
    assert not running.is_active()
    assert server_side.ended.wait(PATIENCE), "the server is to notice it while its handler waits"
    assert server_side.active_at_end is False
    remote.check()


def test_a_deadline_of_a_blocking_call(remote):
    server_side = Waiting("unary_unary")
    for make in (remote.unary_unary, remote.stream_unary):
        method = make(server_side.behaviour)
        request = b"" if make == remote.unary_unary else iter([b""])
        with pytest.raises(grpc.RpcError) as caught:
            method(request, timeout=0.2)
        assert caught.value.code() is CODE.DEADLINE_EXCEEDED
        assert caught.value.details() == "Deadline Exceeded"
    server_side.released.set()
    remote.check()


@pytest.mark.parametrize("timeout", [-1e-3, -1, -1e9])
def test_a_deadline_that_has_passed(remote, timeout):
    called = []
    method = remote.unary_unary(lambda request, context: called.append(1) or b"")
    with pytest.raises(grpc.RpcError) as caught:
        method(b"", timeout=timeout)
    assert caught.value.code() is CODE.DEADLINE_EXCEEDED
    assert caught.value.details() == "Deadline Exceeded"
    call = remote.unary_stream(lambda request, context: iter([b""]))(b"", timeout=timeout)
    assert outcome(call) == (CODE.DEADLINE_EXCEEDED, "Deadline Exceeded")
    remote.check()


@pytest.mark.parametrize("timeout", [1e5, 1e8])
def test_a_distant_deadline(remote, timeout):
    left = []
    method = remote.unary_unary(
        lambda request, context: left.append(context.time_remaining()) or b""
    )
    assert method(b"", timeout=timeout) == b""
    assert 0 < left[0] <= timeout * 1.01


def test_one_deadline_for_a_whole_stream(remote):
    """It is not begun anew by each message."""

    def behaviour(request, context):
        while context.is_active():
            yield b"tick"
            time.sleep(0.05)

    call = remote.unary_stream(behaviour)(b"", timeout=0.5)
    assert outcome(call) == (CODE.DEADLINE_EXCEEDED, "Deadline Exceeded")


def test_the_time_that_remains(remote):
    seen = []

    def behaviour(request, context):
        seen.append(context.time_remaining())
        yield b""

    method = remote.unary_stream(behaviour)
    call = method(b"", timeout=100)
    assert 0 < call.time_remaining() <= 100
    list(call)
    assert 0 < seen[0] <= 101
    call = method(b"")
    list(call)
    assert call.time_remaining() is None
    # None by the documentation; grpcio gives the time to its infinite future.
    assert seen[1] is None or seen[1] > 1e9


def test_cancelled_by_the_client(waiting, remote):
    call, server_side, end = waiting
    running = call()
    assert server_side.entered.wait(PATIENCE)
    running.cancel()
    assert running.code() is CODE.CANCELLED
    assert outcome(running, end) == (CODE.CANCELLED, "Locally cancelled by application!")
    assert running.cancelled()
    assert running.done()
    assert not running.is_active()
    assert server_side.ended.wait(PATIENCE)
    assert server_side.active_at_end is False
    remote.check()


def test_cancelled_from_another_thread(waiting, remote):
    call, _, end = waiting
    running = call()
    timer = threading.Timer(0.2, running.cancel)
    timer.start()
    assert outcome(running, end) == (CODE.CANCELLED, "Locally cancelled by application!")
    timer.join()
    remote.check()


def test_cancelled_after_the_end(remote):
    future = remote.unary_unary(echo).future(b"a")
    assert future.result(PATIENCE) == b"a"
    assert not future.cancel()
    assert not future.cancelled()
    assert future.code() is CODE.OK
    assert future.result() == b"a"


def test_a_stream_cancelled_in_its_middle(remote):
    closed = threading.Event()

    def behaviour(request, context):
        try:
            while True:
                yield b"more" * 1000
        finally:
            closed.set()

    call = remote.unary_stream(behaviour)(b"")
    assert next(call) == b"more" * 1000
    call.cancel()
    with pytest.raises(grpc.RpcError) as caught:
        list(call)
    assert caught.value.code() is CODE.CANCELLED
    assert caught.value.details() == "Locally cancelled by application!"
    remote.check()
    assert closed.wait(PATIENCE), "what a handler yields from is closed"


def test_a_stream_that_nobody_keeps(remote):
    """A call that is dropped is cancelled: the server's handler does not wait for ever."""
    ended = threading.Event()

    def behaviour(request, context):
        context.add_callback(ended.set)
        yield b"1"
        ended.wait(PATIENCE)

    assert next(remote.unary_stream(behaviour)(b"")) == b"1"
    assert ended.wait(PATIENCE)


@pytest.mark.parametrize("count", [300])
def test_many_cancels_on_one_connection(remote, count):
    """That is normal use, and no attack."""
    method = remote.unary_stream(lambda request, context: iter([b"1", b"2"]))
    for _ in range(count):
        call = method(b"")
        call.cancel()
    remote.check()


def test_waiting_for_a_server(client, server):
    """With ``wait_for_ready`` a call waits until there is one, within its timeout."""
    with serving(server) as first:
        address = first.address
    with client.insecure_channel(address, [("grpc.initial_reconnect_backoff_ms", 100)]) as channel:
        method = channel.unary_unary("/test.Service/Method0")
        with pytest.raises(grpc.RpcError) as caught:
            method(b"", timeout=0.3, wait_for_ready=True)
        assert caught.value.code() is CODE.DEADLINE_EXCEEDED
        future = method.future(b"a", timeout=PATIENCE, wait_for_ready=True)
        assert not future.done()
        with serving(server, address=address) as second:
            assert second.address == address
            assert second.add("unary_unary", echo) == "/test.Service/Method0"
            assert future.result(PATIENCE) == b"a"


def test_wait_for_ready_false(client, service):
    with connected(client, service) as remote:
        assert remote.unary_unary(echo)(b"a", wait_for_ready=False) == b"a"
