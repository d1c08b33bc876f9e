"""Peers that are not there, go away and come back; methods that are not there."""

import contextlib
import re
import socket
import threading

import grpc
import pytest

from .implementations import NATIVE, PATIENCE
from .service import calls_under_way, connected, echo, serving

CODE = grpc.StatusCode
# So that a test need not wait a whole second for a second attempt. An attempt itself has its time:
# on a loaded machine a peer's greeting may take some.
QUICK = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 200),
]
ANY_CALL = "/test.Service/Method0"


def error_of(call, *arguments, **keywords):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, **keywords)
    return caught.value.code(), caught.value.details()


@pytest.fixture
def nobody():
    """A port on which nobody listens, kept so that nobody else can take it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


def test_nobody_listens(client, nobody):
    with client.insecure_channel(nobody) as channel:
        for _ in range(2):
            code, details = error_of(channel.unary_unary(ANY_CALL), b"", timeout=PATIENCE)
            assert code is CODE.UNAVAILABLE
            assert re.fullmatch(
                r"failed to connect to all addresses; last error: \w+: ipv4:127.0.0.1:\d+: "
                r"Failed to connect to remote host: .*[Cc]onnection refused.*",
                details,
            )
        stream = channel.stream_stream(ANY_CALL)(iter([b""]), timeout=PATIENCE)
        assert error_of(list, stream)[0] is CODE.UNAVAILABLE
        future = channel.unary_unary(ANY_CALL).future(b"", timeout=PATIENCE)
        assert error_of(future.result, PATIENCE)[0] is CODE.UNAVAILABLE


def test_a_name_that_does_not_exist(client):
    with client.insecure_channel("no-such-host.invalid:50051") as channel:
        code, details = error_of(channel.unary_unary(ANY_CALL), b"", timeout=PATIENCE)
    assert code is CODE.UNAVAILABLE
    assert "no-such-host.invalid" in details


def test_a_unix_socket_that_does_not_exist(client, tmp_path):
    with client.insecure_channel(f"unix:{tmp_path}/none") as channel:
        code, details = error_of(channel.unary_unary(ANY_CALL), b"", timeout=PATIENCE)
    assert code is CODE.UNAVAILABLE
    assert details.startswith("failed to connect to all addresses; last error: ")


def test_a_peer_that_comes_back(client, server):
    """The channel finds it by itself."""
    with serving(server) as service, client.insecure_channel(service.address, QUICK) as channel:
        path = service.add("unary_unary", echo)
        address = service.address
        call = channel.unary_unary(path)
        assert call(b"a", timeout=PATIENCE) == b"a"
        service.server.stop(None).wait(PATIENCE)
        assert error_of(call, b"b", timeout=PATIENCE)[0] is CODE.UNAVAILABLE
        for _ in range(2):
            with serving(server, address=address) as again:
                assert again.add("unary_unary", echo) == path
                assert call(b"c", timeout=PATIENCE, wait_for_ready=True) == b"c"
            assert error_of(call, b"d", timeout=PATIENCE)[0] is CODE.UNAVAILABLE


def test_a_peer_that_stops_in_the_middle_of_calls(client, server):
    with serving(server) as service, connected(client, service) as remote:
        with calls_under_way(remote) as (future, call):
            stopped = service.server.stop(None)
            assert error_of(future.result, PATIENCE)[0] in (CODE.UNAVAILABLE, CODE.CANCELLED)
            assert error_of(next, call)[0] in (CODE.UNAVAILABLE, CODE.CANCELLED)
        assert stopped.wait(PATIENCE)


def test_an_unknown_method(remote):
    for path in ("/test.Service/None", "/None/None", "/a", "/"):
        found = error_of(remote.channel.unary_unary(path), b"", timeout=PATIENCE)
        assert found == (CODE.UNIMPLEMENTED, "Method not found!")
        stream = remote.channel.stream_stream(path)(iter([b""] * 3), timeout=PATIENCE)
        assert error_of(list, stream) == (CODE.UNIMPLEMENTED, "Method not found!")
    remote.check()


def test_an_unknown_method_while_much_is_sent(remote):
    call = remote.channel.stream_unary("/test.Service/None")
    found = error_of(call, iter([bytes(1_000_000)] * 100), timeout=PATIENCE)
    assert found == (CODE.UNIMPLEMENTED, "Method not found!")
    remote.check()


def error_or_reply(remote, kind, count):
    """What a client that expects one reply makes of ``count`` of them."""
    path = remote.service.add("stream_stream", lambda requests, context: iter([b"1"] * count))
    request = b"" if kind == "unary_unary" else iter([b""])
    try:
        return getattr(remote.channel, kind)(path)(request, timeout=PATIENCE)
    except grpc.RpcError as error:
        return error.code()


@pytest.mark.parametrize("kind", ["unary_unary", "stream_unary"])
def test_a_client_that_expects_one_reply(remote, client, kind):
    assert error_or_reply(remote, kind, 0) in (None, CODE.INTERNAL, CODE.UNIMPLEMENTED)
    # grpcio's client waits for its deadline when it gets two.
    if client is NATIVE:
        found = error_or_reply(remote, kind, 2)
        assert found in (b"1", CODE.INTERNAL, CODE.UNIMPLEMENTED)
    remote.check()


def test_a_server_that_expects_one_request(remote):
    """No request, or two, for a method that takes one."""
    for count in (0, 2):
        path = remote.service.add("unary_unary", echo)
        call = remote.channel.stream_stream(path)(iter([b"a"] * count), timeout=PATIENCE)
        with contextlib.suppress(grpc.RpcError):
            assert list(call) == [b"a"] * min(count, 1)
        assert call.code() in (CODE.OK, CODE.INTERNAL, CODE.UNIMPLEMENTED, CODE.CANCELLED)
    remote.check()


NAMES = [code for code in CODE if code is not CODE.OK]


@pytest.mark.parametrize("code", NAMES, ids=lambda code: code.name)
def test_each_code(remote, code):
    def behaviour(request, context):
        context.abort(code, f"because of {code.name}")

    expected = (code, f"because of {code.name}")
    assert error_of(remote.unary_unary(behaviour), b"") == expected
    assert error_of(list, remote.unary_stream(behaviour)(b"")) == expected


def test_codes_set_without_abort(remote):
    def behaviour(request, context):
        context.set_code(CODE.NOT_FOUND)
        context.set_details("not here")
        return b""

    assert error_of(remote.unary_unary(behaviour), b"") == (CODE.NOT_FOUND, "not here")


def test_a_stream_that_fails_after_answers(remote):
    def behaviour(request, context):
        yield b"1"
        yield b"2"
        context.abort(CODE.DATA_LOSS, "lost")

    call = remote.unary_stream(behaviour)(b"")
    assert (next(call), next(call)) == (b"1", b"2")
    assert error_of(next, call) == (CODE.DATA_LOSS, "lost")


def test_a_failure_before_the_request_has_ended(remote):
    """The status that came is the outcome, whatever reset follows."""
    more = threading.Event()

    def requests():
        yield b"1"
        more.wait(PATIENCE)

    def behaviour(requests, context):
        next(requests)
        context.abort(CODE.INVALID_ARGUMENT, "refused at once")

    call = remote.stream_stream(behaviour)(requests())
    assert error_of(list, call) == (CODE.INVALID_ARGUMENT, "refused at once")
    more.set()
    remote.check()


def test_a_failure_while_much_is_sent(remote):
    def behaviour(requests, context):
        context.abort(CODE.INVALID_ARGUMENT, "refused at once")

    method = remote.stream_unary(behaviour)
    for _ in range(3):
        found = error_of(method, iter([bytes(1_000_000)] * 50), timeout=PATIENCE)
        assert found == (CODE.INVALID_ARGUMENT, "refused at once")
    remote.check()
