"""Limits of messages: exactly the limit passes, one byte more does not, and the channel stays."""

import grpc
import pytest

from .implementations import PATIENCE
from .service import connected, echo, serving

CODE = grpc.StatusCode
DEFAULT = 4_194_304
RECEIVE, SEND = "grpc.max_receive_message_length", "grpc.max_send_message_length"


def error_of(call, *arguments, **keywords):
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, timeout=PATIENCE, **keywords)
    return caught.value.code(), caught.value.details()


def refused(who, verb, size, limit):
    """What is told by the side that has the limit."""
    return CODE.RESOURCE_EXHAUSTED, f"{who}: {verb} message larger than max ({size} vs. {limit})"


def test_the_default_limit_of_requests(remote):
    method = remote.unary_unary(lambda request, context: str(len(request)).encode())
    assert method(bytes(DEFAULT)) == b"4194304"
    assert error_of(method, bytes(DEFAULT + 1)) == refused(
        "SERVER", "Received", DEFAULT + 1, DEFAULT
    )
    remote.check()


def test_the_default_limit_of_replies(remote):
    method = remote.unary_unary(lambda request, context: bytes(int(request)))
    assert len(method(b"4194304")) == DEFAULT
    assert error_of(method, b"4194305") == refused("CLIENT", "Received", DEFAULT + 1, DEFAULT)
    remote.check()


def test_the_limit_is_one_of_messages_not_of_calls(remote):
    requests = [bytes(DEFAULT)] * 4
    assert (
        list(remote.stream_stream(lambda requests, context: requests)(iter(requests))) == requests
    )


def test_an_oversize_message_within_a_stream(remote):
    def behaviour(request, context):
        yield bytes(DEFAULT)
        yield bytes(DEFAULT + 1)

    call = remote.unary_stream(behaviour)(b"", timeout=PATIENCE)
    assert len(next(call)) == DEFAULT
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    found = caught.value.code(), caught.value.details()
    assert found == refused("CLIENT", "Received", DEFAULT + 1, DEFAULT)
    remote.check()


def test_an_oversize_request_within_a_stream(remote):
    method = remote.stream_unary(lambda requests, context: str(sum(map(len, requests))).encode())
    requests = [bytes(DEFAULT), bytes(DEFAULT + 1), b"more"]
    assert error_of(method, iter(requests)) == refused("SERVER", "Received", DEFAULT + 1, DEFAULT)
    remote.check()


@pytest.mark.parametrize("limit", [0, 10, 100_000, -1])
def test_chosen_limits(client, server, limit):
    options = [(RECEIVE, limit)]
    size = 10_000_000 if limit == -1 else limit
    with serving(server, options=options) as service, connected(client, service, options) as remote:
        assert remote.unary_unary(echo)(bytes(size), timeout=PATIENCE) == bytes(size)
        if limit >= 0:
            found = error_of(remote.unary_unary(echo), bytes(size + 1))
            assert found == refused("SERVER", "Received", size + 1, limit)
            longer = remote.unary_unary(lambda request, context: bytes(size + 1))
            assert error_of(longer, b"") == refused("CLIENT", "Received", size + 1, limit)
        assert remote.unary_unary(echo)(bytes(size), timeout=PATIENCE) == bytes(size)


def test_a_limit_of_what_is_sent(client, server):
    with serving(server) as service, connected(client, service, [(SEND, 100)]) as remote:
        assert remote.unary_unary(echo)(bytes(100)) == bytes(100)
        assert error_of(remote.unary_unary(echo), bytes(101)) == refused("CLIENT", "Sent", 101, 100)
        remote.check()


def test_a_limit_of_what_a_server_sends(client, server):
    with (
        serving(server, options=[(SEND, 100)]) as service,
        connected(client, service) as remote,
    ):
        assert remote.unary_unary(echo)(bytes(100)) == bytes(100)
        assert error_of(remote.unary_unary(echo), bytes(101)) == refused("SERVER", "Sent", 101, 100)
        remote.check()


def test_a_hundred_megabytes(client, server):
    options = [(RECEIVE, -1), (SEND, -1)]
    with serving(server, options=options) as service, connected(client, service, options) as remote:
        message = bytes(100_000_000)
        assert remote.unary_unary(echo)(message, timeout=PATIENCE) == message
