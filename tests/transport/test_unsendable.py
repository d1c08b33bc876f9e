"""Answers that no peer can be sent: the caller learns it, and need not wait for ever."""

import grpc
import pytest

from .implementations import NATIVE, PATIENCE
from .service import both

CODE = grpc.StatusCode


@pytest.fixture
def remote(client, server):
    """Give a channel to a server of one worker: one that is lost would be missed."""
    if server is not NATIVE:
        pytest.skip("grpcio's server never answers")
    with both(client, server, workers=1) as remote:
        yield remote


def error_of(remote, behaviour):
    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(behaviour)(b"", timeout=PATIENCE)
    remote.check()
    return caught.value.code(), caught.value.details()


@pytest.mark.parametrize("response", ["text", 1, bytearray(b"a")], ids=repr)
def test_a_response_that_is_no_bytes(remote, response):
    found = error_of(remote, lambda request, context: response)
    assert found == (CODE.INTERNAL, "Failed to serialize response!")


@pytest.mark.parametrize(
    "metadata",
    [[("Upper Case", "x")], [("key", "\n")], [("key",)], [("key", 1)], [("key-bin", "text")]],
    ids=repr,
)
def test_trailing_metadata_that_is_illegal(remote, metadata):
    def behaviour(request, context):
        context.set_trailing_metadata(metadata)
        return b""

    code, details = error_of(remote, behaviour)
    assert code is CODE.INTERNAL
    assert details.startswith("Trailing metadata cannot be sent: ")
