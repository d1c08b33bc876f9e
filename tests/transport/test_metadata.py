"""Metadata both ways: what passes, what is hidden, and what is refused."""

import base64
import contextlib
import threading

import grpc
import pytest

from .implementations import PATIENCE
from .service import KINDS

PAIRS = [
    ("plain", "value"),
    ("twice", "first"),
    ("twice", "second"),
    ("empty", ""),
    ("punctuation-._09", " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    ("inner", "a  b\t"[:4]),
    ("data-bin", b"\x00\x01\xff\xfe"),
    ("data-bin", b""),
    ("long-bin", bytes(range(256)) * 4),
    ("x" * 200, "y" * 2000),
]
KEYS = {key for key, _ in PAIRS}


def chosen(metadata):
    """The pairs of a metadata that the test has sent, as plain tuples."""
    return [(key, value) for key, value in metadata if key in KEYS]


def call(remote, kind, behaviour, metadata=None):
    """Make a call of any kind to its end; gives the call."""
    stream_in, stream_out = (part == "stream" for part in kind.split("_"))
    method = remote.method(kind, behaviour)
    request = iter([b"a"]) if stream_in else b"a"
    if stream_out:
        result = method(request, metadata=metadata, timeout=PATIENCE)
        assert list(result) == [b"b"]
        return result
    response, result = method.with_call(request, metadata=metadata, timeout=PATIENCE)
    assert response == b"b"
    return result


def answering(kind, act):
    """A behaviour of any kind that acts on its context, then answers once."""
    if kind.endswith("unary"):

        def behaviour(request, context):
            act(context)
            return b"b"
    else:

        def behaviour(request, context):
            act(context)
            yield b"b"

    return behaviour


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_client_sends(remote, kind):
    seen = []
    act = lambda context: seen.extend(context.invocation_metadata())  # noqa: E731
    call(remote, kind, answering(kind, act), PAIRS)
    assert chosen(seen) == PAIRS


@pytest.mark.parametrize("make", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_metadata_of_any_iterable(remote, make):
    seen = []
    act = lambda context: seen.extend(context.invocation_metadata())  # noqa: E731
    call(remote, "unary_unary", answering("unary_unary", act), make([("plain", "1")]))
    assert chosen(seen) == [("plain", "1")]


def test_what_a_server_sees_beside_it(remote):
    """The client's name; nothing of the protocol's own headers."""
    seen = []
    act = lambda context: seen.extend(context.invocation_metadata())  # noqa: E731
    call(remote, "unary_unary", answering("unary_unary", act))
    assert [key for key, _ in seen] == ["user-agent"]
    (agent,) = (value for _, value in seen)
    assert agent.startswith("grpc-python")
    assert all(hasattr(pair, "key") and hasattr(pair, "value") for pair in seen)


def test_user_agents_of_the_options(client, service):
    seen = []
    path = service.add(
        "unary_unary", lambda request, context: seen.extend(context.invocation_metadata()) or b""
    )
    options = [("grpc.primary_user_agent", "first/1"), ("grpc.secondary_user_agent", "last/2")]
    with client.insecure_channel(service.address, options) as channel:
        channel.unary_unary(path)(b"")
    agent = dict(seen)["user-agent"]
    assert agent.startswith("first/1 grpc-python")
    assert agent.endswith(" last/2")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_server_sends(remote, kind):
    def act(context):
        context.send_initial_metadata(PAIRS)
        context.set_trailing_metadata(PAIRS[::-1])

    result = call(remote, kind, answering(kind, act))
    assert chosen(result.initial_metadata()) == PAIRS
    assert chosen(result.trailing_metadata()) == PAIRS[::-1]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_protocol_is_in_it(remote, kind):
    result = call(remote, kind, answering(kind, lambda context: None))
    assert list(result.initial_metadata()) == []
    assert list(result.trailing_metadata()) == []


def test_a_pair_has_a_key_and_a_value(remote):
    act = lambda context: context.set_trailing_metadata([("plain", "1")])  # noqa: E731
    (pair,) = call(remote, "unary_unary", answering("unary_unary", act)).trailing_metadata()
    assert (pair.key, pair.value, tuple(pair)) == ("plain", "1", ("plain", "1"))


def test_initial_metadata_before_the_first_answer(remote):
    go = threading.Event()

    def behaviour(request, context):
        context.send_initial_metadata([("plain", "early")])
        go.wait(PATIENCE)
        yield b"b"

    result = remote.unary_stream(behaviour)(b"", timeout=PATIENCE)
    assert chosen(result.initial_metadata()) == [("plain", "early")]
    assert result.is_active()
    go.set()
    assert list(result) == [b"b"]


def test_initial_metadata_twice(remote):
    caught = []

    def act(context):
        context.send_initial_metadata([("plain", "1")])
        try:
            context.send_initial_metadata([("plain", "2")])
        except ValueError as error:
            caught.append(str(error))

    result = call(remote, "unary_unary", answering("unary_unary", act))
    assert chosen(result.initial_metadata()) == [("plain", "1")]
    assert caught == ["Initial metadata no longer allowed!"]


def test_metadata_of_a_failure(remote):
    def behaviour(request, context):
        context.send_initial_metadata(PAIRS[:2])
        context.set_trailing_metadata(PAIRS[2:])
        context.abort(grpc.StatusCode.NOT_FOUND, "no")

    with pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(behaviour)(b"")
    assert chosen(caught.value.initial_metadata()) == PAIRS[:2]
    assert chosen(caught.value.trailing_metadata()) == PAIRS[2:]


ILLEGAL = [
    [("Upper", "value")],
    [("space ", "value")],
    [("", "value")],
    [("key", "new\nline")],
    [("key", "\x00")],
    [("key\x00", "value")],
    [("kéy", "value")],
    [("key", b"\xff")],
    [(":path", "value")],
]


@pytest.mark.parametrize("metadata", ILLEGAL, ids=repr)
def test_illegal_metadata_of_a_client(remote, metadata):
    method = remote.unary_unary(lambda request, context: b"")
    with pytest.raises(ValueError, match="metadata was invalid: "):
        method(b"", metadata=metadata)
    stream = remote.stream_stream(lambda requests, context: iter([b""]))
    with pytest.raises(ValueError, match="metadata was invalid: "):
        stream(iter([b""]), metadata=metadata)
    with pytest.raises(ValueError, match="metadata was invalid: "):
        method.future(b"", metadata=metadata)
    remote.check()


@pytest.mark.parametrize(
    "metadata", [[("key", "é")], [("data-bin", "text")], [("key", 1)], [("key",)], 7], ids=repr
)
def test_metadata_of_the_wrong_types(remote, metadata):
    method = remote.unary_unary(lambda request, context: b"")
    with pytest.raises((TypeError, ValueError, UnicodeError, AttributeError)):
        method(b"", metadata=metadata)
    remote.check()


@pytest.mark.parametrize("key", ["te", "content-type", "grpc-timeout", "grpc-status", "host"])
def test_reserved_names_do_no_harm(remote, key):
    with contextlib.suppress(grpc.RpcError):
        remote.unary_unary(lambda request, context: b"")(b"", metadata=[(key, "1")], timeout=5)
    remote.check()


def test_binary_values_of_every_length(remote):
    seen = []
    values = [bytes(range(n)) for n in range(8)]
    pairs = [("data-bin", value) for value in values]
    act = lambda context: seen.extend(context.invocation_metadata())  # noqa: E731
    call(remote, "unary_unary", answering("unary_unary", act), pairs)
    assert chosen(seen) == pairs
    assert len({base64.b64encode(value) for value in values}) == len(values)
