"""The server: its thread pool, its ports, its limits, and how it stops."""

import logging
import socket
import threading
import time
from concurrent import futures

import grpc
import pytest

from .implementations import GRPCIO, PATIENCE
from .service import Service, both, connected, echo, serving

CODE = grpc.StatusCode


class Counting:
    """A behaviour that counts how many of its calls run at once."""

    def __init__(self, expected):
        self.now = self.most = 0
        self._lock = threading.Lock()
        self._expected = expected
        self.full = threading.Event()
        self.threads = set()

    def __call__(self, request, context):
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.threads.add(threading.current_thread().name)
            if self.now == self._expected:
                self.full.set()
        self.full.wait(0.2)
        time.sleep(0.005)
        with self._lock:
            self.now -= 1
        return request


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_no_more_handlers_than_workers(client, server, workers):
    counting = Counting(workers)
    with both(client, server, workers=workers) as remote:
        method = remote.unary_unary(counting)
        calls = [method.future(str(n).encode()) for n in range(25)]
        assert [call.result(PATIENCE) for call in calls] == [str(n).encode() for n in range(25)]
    assert counting.most == workers
    assert len(counting.threads) <= workers


def test_no_more_streams_than_workers(client, server):
    """Also while an answer is being iterated, and while a handler waits for requests."""
    counting = Counting(2)

    def behaviour(requests, context):
        for request in requests:
            yield counting(request, context)

    with both(client, server, workers=2) as remote:
        method = remote.stream_stream(behaviour)
        calls = [method(iter([b"1", b"2"])) for _ in range(6)]
        assert [list(call) for call in calls] == [[b"1", b"2"]] * 6
    assert counting.most == 2


def test_the_threads_of_the_pool(client, server):
    """Handlers run in the user's own pool: its initializer and the names of its threads hold."""
    local, seen = threading.local(), []

    def initialize(value):
        local.value = value

    def behaviour(request, context):
        seen.append((threading.current_thread().name, local.value))
        return b""

    pool = futures.ThreadPoolExecutor(3, "mine", initialize, ("set",))
    with both(client, server, pool=pool) as remote:
        method = remote.unary_unary(behaviour)
        for call in [method.future(b"") for _ in range(20)]:
            call.result(PATIENCE)
        assert pool.submit(lambda: local.value).result(PATIENCE) == "set"
    pool.shutdown()
    assert {value for _, value in seen} == {"set"}
    assert all(name.startswith("mine_") for name, _ in seen)


def test_a_pool_that_is_used_for_other_work_too(client, server):
    """The server does not keep the pool's threads for itself."""
    pool = futures.ThreadPoolExecutor(1)
    with both(client, server, pool=pool) as remote:
        for _ in range(20):
            remote.check()
            assert pool.submit(int, "7").result(PATIENCE) == 7
    assert pool.submit(int, "8").result(PATIENCE) == 8
    pool.shutdown()


class OwnExecutor(futures.Executor):
    """An executor of the user's own: a thread for each task."""

    def __init__(self):
        self.tasks = 0

    def submit(self, function, /, *arguments, **keywords):
        self.tasks += 1
        future = futures.Future()

        def work():
            try:
                future.set_result(function(*arguments, **keywords))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work).start()
        return future


def test_a_pool_of_another_kind(client, server):
    pool = OwnExecutor()
    with both(client, server, pool=pool) as remote:
        for _ in range(10):
            remote.check()
        assert list(remote.stream_stream(lambda r, c: r)(iter([b"1"] * 5))) == [b"1"] * 5
    assert pool.tasks >= 11


def test_other_calls_are_answered_while_one_computes(client, server):
    go, entered = threading.Event(), threading.Event()

    def behaviour(request, context):
        entered.set()
        go.wait(PATIENCE)
        return b"at last"

    with both(client, server, workers=2) as remote, connected(client, remote.service) as other:
        slow = remote.unary_unary(behaviour).future(b"")
        assert entered.wait(PATIENCE)
        for _ in range(5):
            remote.check()
            other.check()
        go.set()
        assert slow.result(PATIENCE) == b"at last"


def test_a_call_waits_for_a_worker(client, server):
    go, entered = threading.Event(), threading.Event()

    def behaviour(request, context):
        entered.set()
        go.wait(PATIENCE)
        return b""

    with both(client, server, workers=1) as remote:
        slow = remote.unary_unary(behaviour).future(b"")
        assert entered.wait(PATIENCE)
        waiting = remote.unary_unary(echo)
        late = waiting.future(b"late")
        with pytest.raises(grpc.RpcError) as caught:
            waiting(b"", timeout=0.2)
        assert caught.value.code() is CODE.DEADLINE_EXCEEDED
        cancelled = waiting.future(b"")
        cancelled.cancel()
        go.set()
        assert slow.result(PATIENCE) == b""
        assert late.result(PATIENCE) == b"late"
        remote.check()


def test_pings_are_answered_while_all_workers_compute(client, server):
    """A channel that pings keeps its connection, however long a handler takes."""
    options = [
        ("grpc.keepalive_time_ms", 200),
        ("grpc.keepalive_timeout_ms", 500),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    allowing = [
        ("grpc.http2.min_ping_interval_without_data_ms", 10),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10),
        ("grpc.http2.max_ping_strikes", 0),
    ]

    def behaviour(request, context):
        time.sleep(2)
        return b"done"

    with (
        serving(server, workers=1, options=allowing) as service,
        connected(client, service, options) as remote,
    ):
        assert remote.unary_unary(behaviour)(b"", timeout=PATIENCE) == b"done"


def test_the_limit_of_concurrent_calls(client, server):
    go, entered = threading.Event(), threading.Event()

    def behaviour(request, context):
        entered.set()
        go.wait(PATIENCE)
        return b""

    with both(client, server, maximum_concurrent_rpcs=1) as remote:
        first = remote.unary_unary(behaviour).future(b"")
        assert entered.wait(PATIENCE)
        for _ in range(3):
            with pytest.raises(grpc.RpcError) as caught:
                remote.unary_unary(echo)(b"", timeout=PATIENCE)
            assert caught.value.code() is CODE.RESOURCE_EXHAUSTED
            assert caught.value.details() == "Concurrent RPC limit exceeded!"
        go.set()
        assert first.result(PATIENCE) == b""
        if server is GRPCIO:
            wait_until_counted_out(remote)
        remote.check()


def wait_until_counted_out(remote):
    """grpcio's server counts a call until a while after its reply has left."""
    end = time.monotonic() + PATIENCE
    while remote.unary_unary(echo).future(b"").code() is CODE.RESOURCE_EXHAUSTED:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_ports(client, server):
    """Several ports, each of any form; zero is a free port, the same for all its addresses."""
    with serving(server) as service:
        path = service.add("unary_unary", echo)
    other = server.server(futures.ThreadPoolExecutor(2), handlers=[service])
    ports = [other.add_insecure_port(each) for each in ("localhost:0", "127.0.0.1:0", "0.0.0.0:0")]
    assert all(ports)
    assert len(set(ports)) == 3
    other.start()
    for port in ports:
        with client.insecure_channel(f"localhost:{port}") as channel:
            assert channel.unary_unary(path)(b"a", timeout=PATIENCE) == b"a"
    other.stop(None).wait(PATIENCE)


@pytest.mark.parametrize("address", ["", "no-such-host.invalid:1", "unix:/no/where"])
def test_a_bad_address(server, address):
    one = server.server(futures.ThreadPoolExecutor(1))
    with pytest.raises(RuntimeError, match="Failed to bind to address"):
        one.add_insecure_port(address)
    one.stop(None)


def test_a_port_that_is_taken(server):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        one = server.server(futures.ThreadPoolExecutor(1))
        with pytest.raises(RuntimeError, match=f"Failed to bind to address {address}"):
            one.add_insecure_port(address)
        one.stop(None)


def test_servers_may_share_a_port_or_not(client, server):
    """As with grpcio, by default they do (SO_REUSEPORT)."""
    pool = futures.ThreadPoolExecutor(1)
    with serving(server) as service:
        again = server.server(pool)
        assert again.add_insecure_port(service.address) == int(service.address.split(":")[1])
        again.stop(None)
    with serving(server, options=[("grpc.so_reuseport", 0)]) as service:
        again = server.server(pool, options=[("grpc.so_reuseport", 0)])
        with pytest.raises(RuntimeError, match="Failed to bind to address"):
            again.add_insecure_port(service.address)
        again.stop(None)


def test_is_a_server(server):
    one = server.server(futures.ThreadPoolExecutor(1))
    assert isinstance(one, grpc.Server)
    one.stop(None)


def test_a_second_start(server):
    with (
        serving(server) as service,
        pytest.raises(ValueError, match="Cannot start already-started"),
    ):
        service.server.start()


def test_handlers_of_the_wrong_type(server):
    with pytest.raises(AttributeError):
        server.server(futures.ThreadPoolExecutor(1), handlers=[object()])


def test_handlers_added_before_and_after_the_start(client, server):
    """The first handler that knows a method has it; registered methods come before all."""
    late = Service()
    path = late.add("unary_unary", lambda request, context: b"late")
    with both(client, server) as remote:
        remote.service.server.add_generic_rpc_handlers((late,))
        unknown = late.add("unary_stream", lambda request, context: iter([b"only late"]))
        assert list(remote.channel.unary_stream(unknown)(b"", timeout=PATIENCE)) == [b"only late"]
        assert remote.service.add("unary_unary", lambda request, context: b"first") == path
        assert remote.channel.unary_unary(path)(b"", timeout=PATIENCE) == b"first"


def test_registered_methods(client, server):
    pool = futures.ThreadPoolExecutor(2)
    one = server.server(pool)
    one.add_registered_method_handlers(
        "test.Registered", {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    )
    port = one.add_insecure_port("127.0.0.1:0")
    one.start()
    with client.insecure_channel(f"127.0.0.1:{port}") as channel:
        method = channel.unary_unary("/test.Registered/Echo", _registered_method=True)
        assert method(b"a", timeout=PATIENCE) == b"a"
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/test.Registered/Other")(b"", timeout=PATIENCE)
        assert caught.value.code() is CODE.UNIMPLEMENTED
    one.stop(None).wait(PATIENCE)
    pool.shutdown()


def test_a_handler_that_raises_while_it_is_asked(client, server):
    class Raising(grpc.GenericRpcHandler):
        def service(self, details):
            raise ValueError("in service()")

    with both(client, server) as remote:
        remote.service.server.add_generic_rpc_handlers((Raising(),))
        with pytest.raises(grpc.RpcError) as caught:
            remote.channel.unary_unary("/not/there")(b"", timeout=PATIENCE)
        assert caught.value.code() is CODE.UNKNOWN
        assert caught.value.details() == "Error in service handler!"
        remote.check()


def test_exceptions_are_logged(remote, server, caplog):
    def behaviour(request, context):
        raise ValueError("logged")

    name = "grpc._server" if server is GRPCIO else None
    with caplog.at_level(logging.ERROR), pytest.raises(grpc.RpcError):
        remote.unary_unary(behaviour)(b"")
    (record,) = (each for each in caplog.records if "logged" in each.getMessage())
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "Exception calling application: logged"
    assert record.exc_info[0] is ValueError
    assert name is None or record.name == name
