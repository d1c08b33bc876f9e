"""The channel: its states, who is told of them, closing it, and the targets that it takes."""

import contextlib
import gc
import socket
import threading
import uuid
import warnings
from concurrent import futures

import grpc
import pytest

from .implementations import NATIVE, PATIENCE
from .service import calls_under_way, connected, echo, has_ipv6, serving

# One or the other text, by the kind of the call.
CLOSED = "Cannot invoke RPC on closed channel!|Cannot invoke RPC: Channel closed!"
CODE, STATE = grpc.StatusCode, grpc.ChannelConnectivity


class States:
    """Collects the states that a channel tells of; can wait for one."""

    def __init__(self):
        self.seen = []
        self._changed = threading.Condition()

    def __call__(self, state):
        with self._changed:
            self.seen.append(state)
            self._changed.notify_all()

    def wait(self, state):
        with self._changed:
            assert self._changed.wait_for(lambda: self.seen[-1:] == [state], PATIENCE), self.seen


@pytest.fixture
def closed_port():
    """A port on which nobody listens, kept so that nobody else can take it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


def test_is_a_channel(client):
    with client.insecure_channel("127.0.0.1:1") as channel:
        assert isinstance(channel, grpc.Channel)


def test_states(client, service):
    states = States()
    with client.insecure_channel(service.address) as channel:
        channel.subscribe(states)
        states.wait(STATE.IDLE)
        channel.subscribe(states, try_to_connect=True)
        states.wait(STATE.READY)
    assert set(states.seen) <= {STATE.IDLE, STATE.CONNECTING, STATE.READY, STATE.SHUTDOWN}


def test_a_call_connects(client, service):
    states = States()
    with connected(client, service) as remote:
        remote.channel.subscribe(states)
        states.wait(STATE.IDLE)
        remote.check()
        states.wait(STATE.READY)


def test_states_of_a_dead_peer(client, closed_port):
    states = States()
    with client.insecure_channel(closed_port) as channel:
        channel.subscribe(states, try_to_connect=True)
        states.wait(STATE.TRANSIENT_FAILURE)


def test_a_peer_that_goes(client, server):
    """An idle channel notices."""
    states = States()
    with serving(server) as service, connected(client, service) as remote:
        remote.channel.subscribe(states, try_to_connect=True)
        states.wait(STATE.READY)
        service.server.stop(None).wait(PATIENCE)
        states.wait(STATE.IDLE)


def test_unsubscribing(client, service):
    told, kept = States(), States()
    with connected(client, service) as remote:
        remote.channel.subscribe(told)
        remote.channel.subscribe(kept)
        told.wait(STATE.IDLE)
        remote.channel.unsubscribe(told)
        remote.channel.unsubscribe(told)
        remote.check()
        kept.wait(STATE.READY)
        assert told.seen == [STATE.IDLE]


def test_a_subscriber_that_raises(client, service):
    def bad(state):
        raise ValueError("in a callback")

    states = States()
    with connected(client, service) as remote:
        remote.channel.subscribe(bad, try_to_connect=True)
        remote.channel.subscribe(states, try_to_connect=True)
        states.wait(STATE.READY)
        remote.check()


def test_channel_ready_future(client, service, closed_port):
    with client.insecure_channel(service.address) as channel:
        ready = grpc.channel_ready_future(channel)
        assert ready.result(timeout=PATIENCE) is None
        assert ready.done()
    with client.insecure_channel(closed_port) as channel:
        ready = grpc.channel_ready_future(channel)
        with pytest.raises(grpc.FutureTimeoutError):
            ready.result(timeout=0.3)
        assert ready.cancel()


@pytest.mark.parametrize("how", ["close", "with", "twice"])
def test_use_after_close(client, service, how):
    channel = client.insecure_channel(service.address)
    path = service.add("unary_unary", echo)
    unary, stream = channel.unary_unary(path), channel.stream_stream(path)
    assert unary(b"a") == b"a"
    if how == "with":
        with channel:
            pass
    for _ in range(2 if how == "twice" else 1):
        channel.close()
    for call in (unary, unary.future, unary.with_call):
        with pytest.raises(ValueError, match=CLOSED):
            call(b"")
    with pytest.raises(ValueError, match=CLOSED):
        stream(iter([b""]))


def test_closing_ends_its_calls(client, service):
    with connected(client, service) as remote, calls_under_way(remote) as (future, call):
        remote.channel.close()
        with pytest.raises(grpc.RpcError):
            future.result(PATIENCE)
        with pytest.raises(grpc.RpcError):
            next(call)
        for ended in (future, call):
            assert (ended.code(), ended.details()) == (CODE.CANCELLED, "Channel closed!")
        assert not future.cancelled()


def test_closing_while_threads_wait(client, service):
    go, entered, caught = threading.Event(), threading.Semaphore(0), []

    def behaviour(request, context):
        entered.release()
        go.wait(PATIENCE)
        return b""

    with connected(client, service) as remote:
        method = remote.unary_unary(behaviour)

        def call():
            try:
                method(b"")
            except grpc.RpcError as error:
                caught.append((error.code(), error.details()))

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert entered.acquire(timeout=PATIENCE)
        remote.channel.close()
        for thread in threads:
            thread.join(PATIENCE)
        go.set()
    assert caught == [(CODE.CANCELLED, "Channel closed!")] * 4


def test_a_call_survives_a_channel_that_is_forgotten(client, service):
    path = service.add("unary_stream", lambda request, context: iter([b"1", b"2"]))
    channel = client.insecure_channel(service.address)
    call = channel.unary_stream(path)(b"")
    assert next(call) == b"1"
    del channel
    gc.collect()
    with contextlib.suppress(grpc.RpcError):
        assert list(call) == [b"2"]


@contextlib.contextmanager
def check_target(client, server, address, target):
    """Serve at an address and call it by a target."""
    with serving(server, address=address) as service:
        port = service.address.rpartition(":")[2]
        path = service.add("unary_unary", echo)
        with client.insecure_channel(target.format(port=port)) as channel:
            assert channel.unary_unary(path)(b"a", timeout=PATIENCE) == b"a"
            yield channel


TARGETS = [
    "127.0.0.1:{port}",
    "localhost:{port}",
    "dns:localhost:{port}",
    "dns:///localhost:{port}",
    "dns:///127.0.0.1:{port}",
    "ipv4:127.0.0.1:{port}",
    "ipv4:///127.0.0.1:{port}",
    "ipv4:127.0.0.1:1,127.0.0.1:{port}",
]


@pytest.mark.parametrize("target", TARGETS)
def test_targets(client, service, target):
    port = service.address.rpartition(":")[2]
    path = service.add("unary_unary", echo)
    with client.insecure_channel(target.format(port=port)) as channel:
        assert channel.unary_unary(path)(b"a", timeout=PATIENCE) == b"a"


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
@pytest.mark.parametrize("target", ["[::1]:{port}", "ipv6:[::1]:{port}", "dns:///[::1]:{port}"])
def test_ipv6_targets(client, server, target):
    with check_target(client, server, "[::1]:0", target):
        pass


@pytest.mark.parametrize("form", ["unix:{}", "unix://{}"])
def test_a_unix_socket(client, server, tmp_path, form):
    address = form.format(tmp_path / "a socket")
    with check_target(client, server, address, address):
        pass


def test_a_unix_socket_by_a_relative_path(client, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with check_target(client, server, "unix:socket", "unix:socket"):
        pass


def test_an_abstract_socket(client, server):
    address = f"unix-abstract:philote-fast-{uuid.uuid4()}"
    with check_target(client, server, address, address):
        pass


@pytest.mark.parametrize("target", ["", ":", "host:port:more", "dns:", "unix:", "nothing://x"])
def test_a_bad_target(client, target):
    """Refused at once, or by each call: never by waiting."""
    with contextlib.suppress(ValueError, UnicodeError):
        with client.insecure_channel(target) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/a/b")(b"", timeout=PATIENCE)
        assert caught.value.code() is not CODE.DEADLINE_EXCEEDED


def test_a_hundred_channels(client, service):
    with contextlib.ExitStack() as stack:
        remotes = [stack.enter_context(connected(client, service)) for _ in range(100)]
        for remote in remotes:
            remote.check()


def test_calls_while_others_close(client, service):
    """A channel that is closed takes nothing from another to the same server."""
    with connected(client, service) as kept:
        for _ in range(30):
            with connected(client, service) as closing:
                closing.check()
                future = kept.unary_unary(echo).future(b"a")
            assert future.result(PATIENCE) == b"a"


def test_options_with_unusual_values(client, service):
    options = [
        ("grpc.keepalive_time_ms", 2**31 - 1),
        ("grpc.default_authority", "somebody.example"),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", -1),
    ]
    with connected(client, service, options) as remote:
        remote.check()


def _set_up_channel(options):
    NATIVE.insecure_channel("127.0.0.1:1", options).close()


def _set_up_server(options):
    with futures.ThreadPoolExecutor(1) as pool:
        NATIVE.server(pool, options=options).stop(None)


@pytest.mark.parametrize("set_up", [_set_up_channel, _set_up_server])
def test_options_that_are_not_honoured_are_named_once(native, set_up):
    name = f"test.{uuid.uuid4()}"
    with pytest.warns(RuntimeWarning, match=name):
        set_up([(name, 1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_up([(name, 1)])
