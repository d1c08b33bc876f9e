"""The text of a failure: every character comes back, and a long text is cut, not lost."""

import grpc
import pytest

from .implementations import NATIVE, PATIENCE
from .service import both

CODE = grpc.StatusCode
TEXTS = [
    "",
    " ",
    " inner and outer ",
    "two\nlines\r\n\tand a tab",
    "100% of %41 and %zz and %",
    "Größe: 10 µm → ∞",
    "𝛿x 🚀",
    "\x00\x01\x7f",
    "\"quoted\" 'and' \\back",
    "a" * 4000,
]


def aborting(text):
    def behaviour(request, context):
        context.abort(CODE.FAILED_PRECONDITION, text)

    return behaviour


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text[:20]))
def test_details(remote, text):
    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(aborting(text))(b"")
    assert caught.value.code() is CODE.FAILED_PRECONDITION
    assert caught.value.details() == text
    with pytest.raises(grpc.RpcError) as caught:
        list(remote.unary_stream(aborting(text))(b""))
    assert caught.value.code() is CODE.FAILED_PRECONDITION
    assert caught.value.details() == text


def test_details_of_bytes(remote):
    def behaviour(request, context):
        context.set_code(CODE.FAILED_PRECONDITION)
        context.set_details("é".encode())
        return b""

    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(behaviour)(b"")
    assert caught.value.details() == "é"


def test_an_exception_with_any_text(remote):
    def behaviour(request, context):
        raise ValueError("bad: 50 %\nµ")

    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(behaviour)(b"")
    assert caught.value.code() is CODE.UNKNOWN
    assert caught.value.details() == "Exception calling application: bad: 50 %\nµ"


LONG = ["a" * 20_000, "ü" * 20_000, "%" * 9000, "\n" * 9000, "🚀" * 5000, "x" * 1_000_000]


@pytest.mark.parametrize("text", LONG, ids=lambda text: f"{len(text)}{text[0]!a}")
def test_a_long_text_keeps_its_code(client, server, text):
    """Between peers of grpcio such a text costs the code and the cause; a native server cuts it."""
    if server is not NATIVE:
        pytest.skip("grpcio's server sends what its peers refuse")
    with both(client, server) as remote:
        with pytest.raises(grpc.RpcError) as caught:
            remote.unary_unary(aborting(text))(b"", timeout=PATIENCE)
        assert caught.value.code() is CODE.FAILED_PRECONDITION
        details = caught.value.details()
        assert len(details) > 400
        assert details[:400] == text[:400]
        remote.check()


def test_a_native_client_survives_a_text_that_is_too_long(client, server):
    with both(client, server) as remote:
        with pytest.raises(grpc.RpcError):
            remote.unary_unary(aborting("x" * 100_000))(b"", timeout=PATIENCE)
        remote.check()


LARGE = [("key", "x" * 100_000)]


def test_too_large_metadata_of_a_client(client, server):
    """Refused by the one who would have to hold it; the channel stays good."""
    with both(client, server) as remote:
        with pytest.raises(grpc.RpcError) as caught:
            remote.unary_unary(lambda request, context: b"")(b"", metadata=LARGE, timeout=PATIENCE)
        assert caught.value.code() is CODE.RESOURCE_EXHAUSTED
        remote.check()


@pytest.mark.parametrize("which", ["set_trailing_metadata", "send_initial_metadata"])
def test_too_large_metadata_of_a_server(client, server, which):
    def behaviour(request, context):
        getattr(context, which)(LARGE)
        return b""

    with both(client, server) as remote:
        with pytest.raises(grpc.RpcError) as caught:
            remote.unary_unary(behaviour)(b"", timeout=PATIENCE)
        assert caught.value.code() is CODE.RESOURCE_EXHAUSTED
        remote.check()


def test_a_larger_limit_of_metadata(client, server):
    option = [("grpc.max_metadata_size", 200_000)]
    with both(client, server, options=option) as remote:

        def behaviour(request, context):
            context.set_trailing_metadata(LARGE)
            return b""

        _, call = remote.unary_unary(behaviour).with_call(b"", timeout=PATIENCE)
        assert [tuple(pair) for pair in call.trailing_metadata()] == LARGE
