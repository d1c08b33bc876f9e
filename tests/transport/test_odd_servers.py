"""Clients and servers whose frames are unusual, illegal, or without end."""

import contextlib
import struct
import zlib

import grpc
import pytest

from .frames import (
    ACK,
    ANSWER,
    CONTINUATION,
    DATA,
    END_HEADERS,
    GOOD,
    HEADERS,
    PING,
    PUSH_PROMISE,
    SETTINGS,
    block,
    data,
    frame,
    headers,
    message,
    reset,
    settings,
    window_update,
)
from .implementations import GRPCIO, PATIENCE
from .memory import grown_by
from .scripted import (
    ScriptedServer,
    answer,
    assert_outcome,
    assert_recovers,
    body,
    calling,
    head,
    outcome,
    saying,
    tail,
)
from .test_failures import QUICK

CODE = grpc.StatusCode
MIB = 2**20


GOOD_BUT_ODD = {
    "byte by byte": lambda stream: b"".join(
        [
            headers(stream, ANSWER),
            *(data(stream, bytes([byte])) for byte in message(b"answer")),
            data(stream, b""),
            headers(stream, GOOD, True),
        ]
    ),
    "continuations": lambda stream: b"".join(
        [
            frame(HEADERS, 0, stream, block(ANSWER)[:5]),
            frame(CONTINUATION, 0, stream, block(ANSWER)[5:9]),
            frame(CONTINUATION, END_HEADERS, stream, block(ANSWER)[9:]),
            data(stream, message(b"answer")),
            headers(stream, GOOD, True),
        ]
    ),
    "padding": lambda stream: b"".join(
        [
            frame(HEADERS, END_HEADERS | 0x8, stream, b"\x09" + block(ANSWER) + bytes(9)),
            frame(DATA, 0x8, stream, b"\xff" + message(b"answer") + bytes(255)),
            headers(stream, GOOD, True),
        ]
    ),
    "unknown frames": lambda stream: b"".join(
        [
            frame(0xFE, 0, 0, b"what"),
            settings((0x99, 1)),
            headers(stream, ANSWER),
            frame(0xFE, 0, stream, b"what"),
            data(stream, message(b"answer")),
            headers(stream, GOOD, True),
        ]
    ),
    "pings between": lambda stream: b"".join(
        [
            frame(PING, payload=bytes(8)),
            headers(stream, ANSWER),
            frame(PING, payload=bytes(8)),
            data(stream, message(b"answer")),
            frame(PING, payload=bytes(8)),
            headers(stream, GOOD, True),
        ]
    ),
}


@pytest.mark.parametrize("case", GOOD_BUT_ODD)
def test_unusual_replies_that_are_right(client, case):
    if case == "padding" and client is GRPCIO:
        pytest.skip("grpcio's client does not take padded frames")

    def script(peer, stream):
        while True:
            peer.send(GOOD_BUT_ODD[case](stream))
            stream = peer.wait_for(HEADERS)[2]

    with calling(client, script) as (_, method):
        assert [outcome(method) for _ in range(3)] == [b"answer"] * 3


ILLEGAL = {
    "data before headers": lambda stream: data(stream, message(b"abc")),
    "data on no stream": lambda stream: data(0, b"abc"),
    "data on an idle stream": lambda stream: data(99, b"abc"),
    "settings of a broken length": lambda stream: frame(SETTINGS, payload=b"12345"),
    "a push": lambda stream: frame(PUSH_PROMISE, END_HEADERS, stream, struct.pack(">I", 2)),
    "a window that overflows": lambda stream: window_update(2**31 - 1) * 2,
    "a window of a stream that overflows": lambda stream: window_update(2**31 - 1, stream) * 2,
    "a header block of garbage": lambda stream: frame(HEADERS, END_HEADERS, stream, b"\xff" * 50),
    "headers without a status": lambda stream: headers(stream, [("key", "value")]),
    "a status that is none": lambda stream: headers(stream, [(":status", "abc")]),
    "a short ping": lambda stream: frame(PING, payload=b"123"),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_frames(native, case):
    """Whatever the client makes of it: it does not hang, and goes on or connects anew."""

    def script(peer, stream):
        peer.send(ILLEGAL[case](stream), frame(PING, payload=bytes(8)))
        answer(peer, peer.wait_for(HEADERS)[2])

    with calling(native, script, answer) as (_, method):
        with contextlib.suppress(grpc.RpcError):
            method(b"", timeout=1)
        assert_recovers(method)


def endless(part, before=None):
    """A script: send the same without end, as long as the client takes it."""

    def script(peer, stream):
        peer.send(before(stream) if before else b"")
        made = part(stream) * 50
        for _ in range(2000):
            peer.send(made)
        answer(peer, stream)

    return script


FLOODS = {
    "settings": endless(lambda stream: settings()),
    "pings": endless(lambda stream: frame(PING, payload=bytes(8))),
    "acknowledgements": endless(lambda stream: frame(SETTINGS, ACK)),
    "windows": endless(lambda stream: window_update(1)),
    "unknown frames": endless(lambda stream: frame(0xFE, 0, 0, bytes(100))),
    "empty data": endless(lambda stream: data(stream, b""), head()),
    "resets": endless(lambda stream: reset(stream)),
    "continuations": endless(
        lambda stream: frame(CONTINUATION, 0, stream, block([("key", "x" * 900)])),
        lambda stream: frame(HEADERS, 0, stream, block(ANSWER)),
    ),
}


@pytest.mark.parametrize("case", FLOODS)
def test_floods(native, case):
    with grown_by() as grown, calling(native, FLOODS[case], answer) as (_, method):
        with contextlib.suppress(grpc.RpcError):
            method(b"", timeout=PATIENCE)
        assert_recovers(method)
    assert grown() < 60 * MIB


def test_a_reply_that_inflates_without_end(client):
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(50)) + packer.flush()
    whole = message(bomb, flag=1)
    pieces = [whole[at : at + 16_000] for at in range(0, len(whole), 16_000)]
    script = saying(head(grpc_encoding="gzip"), *(body(each) for each in pieces), tail())
    with grown_by() as grown:
        assert_outcome(client, script, CODE.RESOURCE_EXHAUSTED)
    assert grown() < 30 * MIB or client is GRPCIO


def test_more_than_the_window(native):
    """A server that sends on, whatever the client allows."""

    def script(peer, stream):
        peer.send(headers(stream, ANSWER))
        piece = data(stream, message(bytes(16_000)))
        for _ in range(20_000):
            peer.send(piece)

    with ScriptedServer(script, answer) as server:
        with grown_by() as grown, native.insecure_channel(server.address, QUICK) as channel:
            call = channel.unary_stream("/test.Service/Method")(b"", timeout=5)
            next(call)
            assert call.code() is not CODE.OK
        assert grown() < 200 * MIB
