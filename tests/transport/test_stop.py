"""How a server stops: at once, with grace, while it is waited for, and when it is forgotten."""

import gc
import threading
import weakref
from concurrent import futures

import grpc
import pytest

from .implementations import PATIENCE
from .service import connected, echo, serving

CODE = grpc.StatusCode


class Slow:
    """A behaviour that waits until it is let go."""

    def __init__(self):
        self.entered, self.released, self.ended = (threading.Event() for _ in range(3))

    def __call__(self, request, context):
        context.add_callback(self.ended.set)
        self.entered.set()
        self.released.wait(PATIENCE)
        return b"done"


@pytest.fixture
def slow(client, server):
    """Give a service in which a call is running, the call, and its behaviour."""
    behaviour = Slow()
    with serving(server) as service, connected(client, service) as remote:
        call = remote.unary_unary(behaviour).future(b"")
        assert behaviour.entered.wait(PATIENCE)
        yield remote, call, behaviour
        behaviour.released.set()


def test_at_once(slow):
    remote, call, behaviour = slow
    stopped = remote.service.server.stop(None)
    with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
        call.result(PATIENCE)
    assert call.code() in (CODE.UNAVAILABLE, CODE.CANCELLED)
    assert behaviour.ended.wait(PATIENCE), "its callbacks run although its handler goes on"
    behaviour.released.set()
    assert stopped.wait(PATIENCE)


def test_with_grace_for_all_that_is_needed(slow):
    remote, call, behaviour = slow
    stopped = remote.service.server.stop(PATIENCE)
    assert not stopped.is_set()
    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(echo)(b"", timeout=PATIENCE)
    assert caught.value.code() in (CODE.UNAVAILABLE, CODE.CANCELLED)
    assert not call.done()
    behaviour.released.set()
    assert call.result(PATIENCE) == b"done"
    assert stopped.wait(PATIENCE)


def test_with_too_little_grace(slow):
    remote, call, behaviour = slow
    stopped = remote.service.server.stop(0.3)
    with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
        call.result(PATIENCE)
    assert call.code() in (CODE.UNAVAILABLE, CODE.CANCELLED)
    assert behaviour.ended.wait(PATIENCE)
    behaviour.released.set()
    assert stopped.wait(PATIENCE)


def test_a_shorter_grace_after_a_longer_one(slow):
    remote, call, behaviour = slow
    first = remote.service.server.stop(10 * PATIENCE)
    second = remote.service.server.stop(0.1)
    with pytest.raises((grpc.RpcError, grpc.FutureCancelledError)):
        call.result(PATIENCE)
    behaviour.released.set()
    assert first.wait(PATIENCE)
    assert second.wait(PATIENCE)


def test_again_and_without_a_start(server):
    one = server.server(futures.ThreadPoolExecutor(1))
    one.add_insecure_port("127.0.0.1:0")
    assert one.stop(None).wait(PATIENCE)
    with serving(server) as service:
        assert service.server.stop(None).wait(PATIENCE)
        assert service.server.stop(1).wait(PATIENCE)
        assert service.server.stop(None).wait(PATIENCE)


def test_wait_for_termination(server):
    with serving(server) as service:
        assert service.server.wait_for_termination(timeout=0.05) is True, "the time is over"
        timer = threading.Timer(0.2, service.server.stop, (None,))
        timer.start()
        assert service.server.wait_for_termination(timeout=PATIENCE) is False
        assert service.server.wait_for_termination() is False
        timer.join()


def test_wait_for_termination_in_several_threads(server):
    found = []
    with serving(server) as service:
        threads = [
            threading.Thread(target=lambda: found.append(service.server.wait_for_termination()))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        service.server.stop(None)
        for thread in threads:
            thread.join(PATIENCE)
    assert found == [False] * 3


def test_the_port_is_free_afterwards(client, server):
    with serving(server) as first:
        address = first.address
    for _ in range(3):
        with (
            serving(server, address=address, options=[("grpc.so_reuseport", 0)]) as again,
            connected(client, again) as remote,
        ):
            remote.check()


def test_a_server_that_is_forgotten(client, server):
    """A server that nobody holds stops by itself."""
    pool = futures.ThreadPoolExecutor(1)
    one = server.server(pool)
    port = one.add_insecure_port("127.0.0.1:0")
    one.start()
    with client.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/not/there")
        with pytest.raises(grpc.RpcError) as caught:
            call(b"", timeout=PATIENCE)
        assert caught.value.code() is CODE.UNIMPLEMENTED
        del one
        gc.collect()
        pool.shutdown()
        for _ in range(600):
            with pytest.raises(grpc.RpcError) as caught:
                call(b"", timeout=PATIENCE)
            if caught.value.code() is CODE.UNAVAILABLE:
                break
            threading.Event().wait(0.05)
        assert caught.value.code() is CODE.UNAVAILABLE


def test_a_stopped_server_keeps_nothing(client, server):
    """The pool and its threads go with the server: no garbage collector is needed."""
    pool = futures.ThreadPoolExecutor(1)
    known = weakref.ref(pool)
    gc.collect()
    gc.disable()
    try:
        one = server.server(pool)
        handler = grpc.unary_unary_rpc_method_handler(echo)
        one.add_registered_method_handlers("test.Service", {"Echo": handler})
        port = one.add_insecure_port("127.0.0.1:0")
        one.start()
        with client.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert channel.unary_unary("/test.Service/Echo")(b"a", timeout=PATIENCE) == b"a"
        one.stop(None).wait(PATIENCE)
        del pool, one
        for _ in range(100):
            if known() is None:
                break
            threading.Event().wait(0.05)
        assert known() is None
    finally:
        gc.enable()


def test_a_handler_may_stop_its_server(client, server):
    with serving(server) as service, connected(client, service) as remote:

        def behaviour(request, context):
            service.server.stop(PATIENCE)
            return b"goodbye"

        assert remote.unary_unary(behaviour)(b"", timeout=PATIENCE) == b"goodbye"
        assert service.server.wait_for_termination(timeout=PATIENCE) is False
