"""Clients and servers that end their calls in every way, or lose the connection."""

import random
import struct

import grpc
import pytest

from .frames import (
    ANSWER,
    DATA,
    GOOD,
    HEADERS,
    PING,
    SETTINGS,
    WINDOW_SETTING,
    Peer,
    data,
    frame,
    goaway,
    headers,
    message,
    reset,
    settings,
    window_update,
)
from .implementations import PATIENCE
from .scripted import (
    ScriptedServer,
    answer,
    assert_outcome,
    assert_recovers,
    body,
    calling,
    head,
    only,
    outcome,
    raw,
    saying,
    tail,
)

CODE = grpc.StatusCode
MIB = 2**20


def test_a_good_server(client):
    with calling(client, answer) as (_, method):
        assert [outcome(method) for _ in range(3)] == [b"answer"] * 3


OUTCOMES = {
    "a status alone": (only(("grpc-status", "5"), ("grpc-message", "x%20y")), CODE.NOT_FOUND),
    "a good status alone": (only(("grpc-status", "0")), (None, CODE.INTERNAL, CODE.UNIMPLEMENTED)),
    "no status": (only(), CODE.UNKNOWN),
    "a status that is none": (only(("grpc-status", "x")), (CODE.UNKNOWN, CODE.INTERNAL)),
    "a negative status": (only(("grpc-status", "-1")), CODE.UNKNOWN),
    "a status beyond all": (only(("grpc-status", "99")), CODE.UNKNOWN),
    "400": (only(status="400"), CODE.INTERNAL),
    "401": (only(status="401"), CODE.UNAUTHENTICATED),
    "403": (only(status="403"), CODE.PERMISSION_DENIED),
    "404": (only(status="404"), CODE.UNIMPLEMENTED),
    "418": (only(status="418"), CODE.UNKNOWN),
    "429": (only(status="429"), CODE.UNAVAILABLE),
    "500": (only(status="500"), CODE.UNKNOWN),
    "502": (only(status="502"), CODE.UNAVAILABLE),
    "503": (only(status="503"), CODE.UNAVAILABLE),
    "504": (only(status="504"), CODE.UNAVAILABLE),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_trailers_alone(client, case):
    made, expected = OUTCOMES[case]
    assert_outcome(client, saying(made), expected)


MESSAGES = {
    "cut in its prefix": (b"\x00\x00", (CODE.INTERNAL, None)),
    "cut in its body": (message(b"abc", length=10), (CODE.INTERNAL, None)),
    "a length of 2^32 - 1": (message(b"abc", length=2**32 - 1), CODE.RESOURCE_EXHAUSTED),
    "a length beyond the limit": (message(b"", length=4 * MIB + 1), CODE.RESOURCE_EXHAUSTED),
    "compressed by nothing": (message(b"abc", flag=1), CODE.INTERNAL),
    "an unknown flag": (message(b"abc", flag=2), CODE.INTERNAL),
    "none": (b"", (None, CODE.INTERNAL, CODE.UNIMPLEMENTED)),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_malformed_messages(native, case):
    """grpcio's client takes some of these for good messages, and some for none at all."""
    payload, expected = MESSAGES[case]
    assert_outcome(native, saying(head(), body(payload), tail()), expected)


def test_an_encoding_that_nobody_knows(native):
    parts = head(grpc_encoding="snappy"), body(message(b"abc", flag=1)), tail()
    assert_outcome(native, saying(*parts), (CODE.INTERNAL, CODE.UNIMPLEMENTED))


def test_a_status_after_a_message(client):
    parts = head(), body(message(b"abc")), tail(("grpc-status", "9"), ("grpc-message", "no"))
    assert_outcome(client, saying(*parts), CODE.FAILED_PRECONDITION)


def test_the_end_of_a_stream_without_a_status(client):
    def finish(stream):
        return data(stream, message(b"abc"), True)

    assert_outcome(client, saying(head(), finish), (CODE.UNKNOWN, CODE.INTERNAL))


RESETS = {
    0: CODE.INTERNAL,
    1: CODE.INTERNAL,
    2: CODE.INTERNAL,
    3: CODE.INTERNAL,
    5: CODE.INTERNAL,
    8: CODE.CANCELLED,
    11: CODE.RESOURCE_EXHAUSTED,
    12: CODE.PERMISSION_DENIED,
    99: CODE.INTERNAL,
}


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("code", RESETS)
def test_resets(client, code, begun):
    first = (head(), body(b"\x00\x00")) if begun else ()
    script = saying(*first, lambda stream: reset(stream, code))
    with calling(client, script) as (server, method):
        found = outcome(method)
        assert found[0] is RESETS[code], found
        assert found[1] == f"Received RST_STREAM with error code {code}"
        assert_recovers(method)
        assert server.connections == 1, "a reset of a stream is no failure of its connection"


def test_a_status_before_a_reset(client):
    """A server that has refused a request resets the rest of it: the status counts."""

    def script(peer, stream):
        refused = [("grpc-status", "3"), ("grpc-message", "refused")]
        peer.send(headers(stream, [*ANSWER, *refused], True), reset(stream, 0))
        answer(peer, peer.wait_for(HEADERS)[2])

    with calling(client, script) as (_, method):
        for size in (0, 60_000):
            assert outcome(method, bytes(size)) in (
                (CODE.INVALID_ARGUMENT, "refused"),
                b"answer",
            )


def test_refused_streams(client):
    """What the server says it has not looked at may be sent again, as grpcio does not."""
    script = saying(lambda stream: reset(stream, 7))
    failure = (CODE.UNAVAILABLE, "Received RST_STREAM with error code 7")
    with calling(client, script) as (_, method):
        assert outcome(method) in (failure, b"answer")
        assert_recovers(method)


def test_a_goaway_before_the_call_was_looked_at(client):
    def script(peer, stream):
        peer.send(goaway(0))
        peer.wait_until_closed()

    with calling(client, script, answer) as (server, method):
        assert outcome(method) == b"answer"
        assert server.connections == 2


def test_a_goaway_that_lets_the_call_end(client):
    def script(peer, stream):
        peer.send(goaway(stream), frame(PING, payload=bytes(8)))
        peer.wait_for(PING)
        peer.send(
            headers(stream, ANSWER), data(stream, message(b"late")), headers(stream, GOOD, True)
        )

    with calling(client, script, answer) as (server, method):
        assert outcome(method) == b"late"
        assert_recovers(method)
        assert server.connections == 2


def test_no_call_runs_twice(client):
    """The connection is lost when a request was taken: the call fails, and is not sent again."""
    seen = []

    def script(peer, stream):
        seen.append(peer.wait_for(DATA))
        # The connection is closed when a script fails or ends.
        raise EOFError

    def again(peer, stream):
        seen.append(peer.wait_for(DATA))
        answer(peer, stream)

    with calling(client, script, again) as (_, method):
        assert outcome(method, b"once")[0] is CODE.UNAVAILABLE
        assert len(seen) == 1
        assert_recovers(method)


def lost(begun, how):
    """A script: send the first parts of a reply, and lose the connection."""
    parts = [head(), body(message(b"abc", length=9)), body(b"123456")][:begun]

    def script(peer, stream):
        peer.wait_for(DATA)
        peer.send(*(part(stream) for part in parts))
        how(peer)
        raise EOFError

    return script


@pytest.mark.parametrize("begun", [0, 1, 2, 3])
def test_connections_that_are_closed(client, begun):
    """Before the headers, after them, in mid-message, and before the status."""
    with calling(client, lost(begun, lambda peer: None), answer) as (_, method):
        assert outcome(method)[0] is CODE.UNAVAILABLE
        assert_recovers(method)


@pytest.mark.parametrize("begun", [0, 1, 2, 3])
def test_connections_that_are_reset(native, begun):
    """grpcio's client may not notice it before its deadline."""
    with calling(native, lost(begun, Peer.vanish), answer) as (_, method):
        assert outcome(method)[0] is CODE.UNAVAILABLE
        assert_recovers(method)


@raw
def closing(peer):
    pass


@raw
def http1(peer):
    peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@raw
def tls_alert(peer):
    peer.send(b"\x15\x03\x01\x00\x02\x02\x46")


@raw
def garbage(peer):
    peer.send(random.Random(1).randbytes(5000))


@raw
def large_frame(peer):
    peer.send(struct.pack(">BHBBI", 0xFF, 0xFFFF, SETTINGS, 0, 0) + bytes(100_000))


@pytest.mark.parametrize("script", [closing, http1, tls_alert, garbage, large_frame])
def test_what_is_no_http2(client, script):
    with calling(client, script, script, script, script, answer) as (_, method):
        found = outcome(method)
        assert found[0] is CODE.UNAVAILABLE, found
        assert found[1]
        assert_recovers(method)


def test_a_server_that_says_nothing(client):
    @raw
    def silent(peer):
        peer.wait_until_closed()

    with (
        ScriptedServer(silent) as server,
        client.insecure_channel(server.address) as channel,
    ):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/test.Service/Method")(b"", timeout=0.3)
        assert caught.value.code() is CODE.DEADLINE_EXCEEDED


def test_a_server_that_never_answers(client):
    with calling(client, lambda peer, stream: None, answer) as (_, method):
        with pytest.raises(grpc.RpcError) as caught:
            method(b"", timeout=0.3)
        assert (caught.value.code(), caught.value.details()) == (
            CODE.DEADLINE_EXCEEDED,
            "Deadline Exceeded",
        )


def test_a_server_that_takes_nothing(client):
    """Its window stays shut: the deadline holds, and cancelling too."""

    def script(peer, stream):
        peer.wait_until_closed()

    with calling(client, script, first=settings((WINDOW_SETTING, 0))) as (_, method):
        for size in (1, 100_000, 10 * MIB):
            with pytest.raises(grpc.RpcError) as caught:
                method(bytes(size), timeout=0.2)
            assert caught.value.code() is CODE.DEADLINE_EXCEEDED
        future = method.future(bytes(MIB))
        future.cancel()
        with pytest.raises(grpc.FutureCancelledError):
            future.result(PATIENCE)


def test_windows_that_open_late(client):
    def script(peer, stream):
        peer.send(window_update(1, stream), window_update(9, stream), settings((WINDOW_SETTING, 5)))
        peer.send(window_update(2**20), settings((WINDOW_SETTING, 2**20)))
        received = b""
        for kind, flags, number, payload in peer.frames():
            received += payload if (kind, number) == (DATA, stream) else b""
            if kind == DATA and flags & 1:
                break
        assert received == message(bytes(200_000))
        answer(peer, stream)

    with calling(client, script, first=settings((WINDOW_SETTING, 0))) as (_, method):
        assert outcome(method, bytes(200_000)) == b"answer"
