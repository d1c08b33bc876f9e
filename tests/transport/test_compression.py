"""Compression of messages, asked for by either side, for a channel, a call or one message."""

import grpc
import pytest

from .implementations import PATIENCE
from .service import connected, echo, serving

ALGORITHMS = [
    grpc.Compression.NoCompression,
    grpc.Compression.Deflate,
    grpc.Compression.Gzip,
]
MESSAGES = [b"", b"a", b"repeated " * 100_000, bytes(range(256)) * 10]


@pytest.fixture(params=ALGORITHMS, ids=lambda each: each.name)
def algorithm(request):
    return request.param


def check(remote, **keywords):
    for message in MESSAGES:
        assert remote.unary_unary(echo)(message, timeout=PATIENCE, **keywords) == message
    stream = remote.stream_stream(lambda requests, context: requests)
    assert list(stream(iter(MESSAGES), timeout=PATIENCE, **keywords)) == MESSAGES


def test_a_compressed_call(remote, algorithm):
    check(remote, compression=algorithm)


def test_a_compressed_channel(client, service, algorithm):
    with connected(client, service, compression=algorithm) as remote:
        check(remote)
        check(remote, compression=grpc.Compression.NoCompression)


def test_a_compressed_server(client, server, algorithm):
    with (
        serving(server, compression=algorithm) as service,
        connected(client, service) as remote,
    ):
        check(remote)


def test_a_compressed_reply(remote, algorithm):
    def behaviour(requests, context):
        context.set_compression(algorithm)
        for request in requests:
            yield request
            context.disable_next_message_compression()

    assert list(remote.stream_stream(behaviour)(iter(MESSAGES))) == MESSAGES


def test_a_message_is_measured_inflated(client, server):
    """A few bytes that inflate to more than the limit are refused, by both sides."""
    limit = [("grpc.max_receive_message_length", 100_000)]
    large = bytes(100_001)
    with (
        serving(server, options=limit) as service,
        connected(client, service, limit) as remote,
    ):
        gzip = grpc.Compression.Gzip
        with pytest.raises(grpc.RpcError) as caught:
            remote.unary_unary(echo)(large, compression=gzip)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED

        def behaviour(request, context):
            context.set_compression(gzip)
            return large

        with pytest.raises(grpc.RpcError) as caught:
            remote.unary_unary(behaviour)(b"")
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert remote.unary_unary(echo)(large[1:], compression=gzip) == large[1:]
