"""What a handler may ask of its context, and interceptors of both sides."""

import threading

import grpc
import pytest

from .implementations import PATIENCE
from .service import both, echo, has_ipv6

CODE = grpc.StatusCode


def during(remote, ask, **keywords):
    """Ask a context while its call runs; gives what it says."""
    said = []

    def behaviour(request, context):
        said.append(ask(context))
        return b""

    remote.unary_unary(behaviour)(b"", timeout=PATIENCE, **keywords)
    return said[0]


def test_is_a_context(remote):
    assert during(remote, lambda context: isinstance(context, grpc.ServicerContext))


def test_the_peer(remote):
    peer = during(remote, lambda context: context.peer())
    kind, host, port = peer.split(":")
    assert (kind, host) == ("ipv4", "127.0.0.1")
    assert int(port) > 0


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_the_peer_of_ipv6(client, server):
    with both(client, server, address="[::1]:0") as remote:
        peer = during(remote, lambda context: context.peer())
    assert peer.startswith("ipv6:%5B::1%5D:")


def test_the_peer_of_a_unix_socket(client, server, tmp_path):
    with both(client, server, address=f"unix:{tmp_path}/socket") as remote:
        assert during(remote, lambda context: context.peer()).startswith("unix:")


def test_nobody_is_authenticated(remote):
    assert during(remote, lambda context: context.peer_identities()) is None
    assert during(remote, lambda context: context.peer_identity_key()) is None
    assert isinstance(during(remote, lambda context: context.auth_context()), dict)


def test_what_has_been_set(remote):
    def ask(context):
        before = context.code(), context.details(), context.trailing_metadata()
        context.set_code(CODE.OK)
        context.set_details("set")
        context.set_trailing_metadata((("key", "value"),))
        return before, (context.code(), context.details(), context.trailing_metadata())

    before, after = during(remote, ask)
    assert before == (None, None, None)
    assert after == (CODE.OK, b"set", (("key", "value"),))


def test_activity_and_callbacks(remote):
    seen, ended = [], threading.Event()
    kept = []

    def behaviour(request, context):
        kept.append(context)
        seen.append(context.is_active())
        seen.append(context.add_callback(ended.set))
        seen.append(ended.is_set())
        return b""

    remote.unary_unary(behaviour)(b"")
    assert ended.wait(PATIENCE)
    assert seen == [True, True, False]
    assert kept[0].is_active() is False
    assert kept[0].add_callback(ended.set) is False


def test_a_callback_that_raises(remote):
    ended = threading.Event()

    def bad():
        raise ValueError("in a callback")

    def behaviour(request, context):
        context.add_callback(bad)
        context.add_callback(ended.set)
        return b""

    remote.unary_unary(behaviour)(b"")
    assert ended.wait(PATIENCE)
    remote.check()


def test_cancelled_by_the_server(remote):
    def behaviour(request, context):
        context.cancel()
        return b""

    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(behaviour)(b"", timeout=PATIENCE)
    assert caught.value.code() is CODE.CANCELLED
    remote.check()


def test_a_context_used_by_another_thread_while_the_handler_waits(remote):
    """A handler may leave its work to others, and stream what they bring."""

    def behaviour(request, context):
        go = threading.Event()

        def work():
            context.set_trailing_metadata((("key", "value"),))
            go.set()

        threading.Thread(target=work).start()
        go.wait(PATIENCE)
        yield b"1"

    call = remote.unary_stream(behaviour)(b"")
    assert list(call) == [b"1"]
    assert [tuple(pair) for pair in call.trailing_metadata()] == [("key", "value")]


def test_details_of_the_wrong_type(remote):
    def ask(context):
        context.set_details("text")
        context.set_code(CODE.OK)
        return True

    assert during(remote, ask)


class Recording(grpc.ServerInterceptor):
    """Keeps the names of the methods and the metadata; can refuse, or wrap."""

    def __init__(self, name, seen, refuse=False):
        self.name, self.seen, self.refuse = name, seen, refuse

    def intercept_service(self, continuation, details):
        metadata = dict(details.invocation_metadata)
        self.seen.append((self.name, details.method, metadata.get("key")))
        if self.refuse:
            return grpc.unary_unary_rpc_method_handler(
                lambda request, context: context.abort(CODE.UNAUTHENTICATED, "no")
            )
        return continuation(details)


def test_interceptors_of_the_server(client, server):
    seen = []
    interceptors = [Recording("outer", seen), Recording("inner", seen)]
    with both(client, server, interceptors=interceptors) as remote:
        path = remote.service.add("unary_unary", echo)
        assert remote.channel.unary_unary(path)(b"a", metadata=[("key", "value")]) == b"a"
    assert seen == [("outer", path, "value"), ("inner", path, "value")]


def test_an_interceptor_that_refuses(client, server):
    seen = []
    interceptors = [Recording("outer", seen, refuse=True), Recording("inner", seen)]
    with (
        both(client, server, interceptors=interceptors) as remote,
        pytest.raises(grpc.RpcError) as caught,
    ):
        remote.unary_unary(echo)(b"a")
    assert (caught.value.code(), caught.value.details()) == (CODE.UNAUTHENTICATED, "no")
    assert len(seen) == 1


class Adding(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds metadata to calls of every kind, and keeps what came of them."""

    def __init__(self):
        self.results = []

    def _call(self, continuation, details, request):
        class Details(grpc.ClientCallDetails):
            method, timeout, credentials = details.method, details.timeout, details.credentials
            wait_for_ready, compression = details.wait_for_ready, details.compression
            metadata = (*(details.metadata or ()), ("key", "added"))

        result = continuation(Details, request)
        self.results.append(result)
        return result

    intercept_unary_unary = intercept_unary_stream = _call
    intercept_stream_unary = intercept_stream_stream = _call


def test_interceptors_of_the_client(remote):
    seen = []

    def unary(request, context):
        seen.append(dict(context.invocation_metadata())["key"])
        return b"1"

    def stream(request, context):
        seen.append(dict(context.invocation_metadata())["key"])
        yield b"1"

    adding = Adding()
    channel = grpc.intercept_channel(remote.channel, adding)
    add = remote.service.add
    assert channel.unary_unary(add("unary_unary", unary))(b"") == b"1"
    assert channel.unary_unary(add("unary_unary", unary)).future(b"").result(PATIENCE) == b"1"
    response, call = channel.stream_unary(add("stream_unary", unary)).with_call(iter([b""]))
    assert (response, call.code()) == (b"1", CODE.OK)
    assert list(channel.unary_stream(add("unary_stream", stream))(b"")) == [b"1"]
    assert list(channel.stream_stream(add("stream_stream", stream))(iter([b""]))) == [b"1"]
    assert seen == ["added"] * 5
    assert len(adding.results) == 5
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/not/there")(b"")
    assert caught.value.code() is CODE.UNIMPLEMENTED
