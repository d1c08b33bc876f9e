"""A native server and clients that break every rule: it lets them go, and serves the others."""

import contextlib
import random
import struct

import pytest

from .frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    SETTINGS,
    block,
    client_peer,
    data,
    frame,
    headers,
    message,
    request,
    reset,
    settings,
    whole_request,
    window_update,
)

MIB = 2**20


def test_the_peer_of_these_tests_is_understood(victim):
    with client_peer(victim.address, settings(), whole_request(victim.path)) as peer:
        assert peer.reply(1) == message(b"hi")


@pytest.mark.parametrize("closes", [True, False])
def test_every_part_of_a_preface(victim, closes):
    whole = PREFACE + settings() + whole_request(victim.path)
    with contextlib.ExitStack() as stack:
        for size in range(0, len(whole), 3):
            peer = stack.enter_context(client_peer(victim.address))
            peer.send(whole[:size])
            if closes:
                peer.close()
        victim.check()


@pytest.mark.parametrize("first", [b"", PREFACE, PREFACE + settings()])
def test_random_bytes(victim, first):
    generator = random.Random(len(first))
    for _ in range(40):
        with client_peer(victim.address) as peer:
            peer.try_to_send(first + generator.randbytes(generator.randrange(2000)))


def test_mutated_requests(victim):
    generator = random.Random(5)
    whole = settings() + whole_request(victim.path)
    for _ in range(150):
        mutated = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            mutated[generator.randrange(len(mutated))] = generator.randrange(256)
        with client_peer(victim.address) as peer:
            peer.try_to_send(PREFACE + mutated)


@pytest.mark.parametrize(
    "text",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(512), b"\r\n" * 9000],
)
def test_other_protocols(victim, text):
    with client_peer(victim.address) as peer:
        peer.try_to_send(text)
        peer.wait_until_closed()


ILLEGAL = {
    "settings of a broken length": frame(SETTINGS, payload=b"12345"),
    "settings on a stream": frame(SETTINGS, 0, 1),
    "settings out of range": settings((4, 2**31), (5, 1)),
    "an acknowledgement with a payload": frame(SETTINGS, ACK, 0, bytes(6)),
    "a short ping": frame(PING, payload=b"1234567"),
    "a ping on a stream": frame(PING, 0, 1, bytes(8)),
    "no window": window_update(0),
    "a window that overflows": window_update(2**31 - 1) * 2,
    "a reset of nothing": reset(0),
    "a reset of an idle stream": reset(99),
    "data without a stream": data(0, b"12345"),
    "data on an idle stream": data(7, b"12345"),
    "an even stream": headers(2, request("/a/b")),
    "headers without a stream": headers(0, request("/a/b")),
    "a lonely continuation": frame(CONTINUATION, END_HEADERS, 1, b""),
    "a push": frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)),
    "a priority of itself": frame(PRIORITY, 0, 1, struct.pack(">IB", 1, 0)),
    "a short priority": frame(PRIORITY, 0, 1, b"1"),
    "a goaway on a stream": frame(GOAWAY, 0, 1, bytes(8)),
    "padding longer than the frame": frame(DATA, 0x8, 1, b"\xff123"),
    "a frame that is too long": struct.pack(">BHBBI", 0xFF, 0xFFFF, DATA, 0, 1),
    "a header block of garbage": frame(HEADERS, END_HEADERS, 1, b"\xff" * 100),
    "a table size of 2^60": frame(HEADERS, END_HEADERS, 1, b"\x3f" + b"\xff" * 8 + b"\x01"),
    "an index out of range": frame(HEADERS, END_HEADERS, 1, b"\xbf"),
    "a string past the end": frame(HEADERS, END_HEADERS, 1, b"\x00\x7f\xff\xff\xff\x07a"),
    "a bad Huffman code": frame(HEADERS, END_HEADERS, 1, b"\x00\x84\xff\xff\xff\xff\x01a"),
    "headers within headers": frame(HEADERS, 0, 1, block(request("/a/b")))
    + frame(PING, 0, 0, bytes(8)),
    "a goaway": frame(GOAWAY, payload=struct.pack(">II", 0, 11) + b"text" * 100),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_frames(victim, case):
    with client_peer(victim.address, settings(), whole_request(victim.path)) as peer:
        assert peer.reply(1) == message(b"hi")
        peer.try_to_send(ILLEGAL[case])
        peer.try_to_send(whole_request(victim.path, 3))


BAD_REQUESTS = {
    "no path": request("", drop=(":path",)),
    "no method": request("/a/b", drop=(":method",)),
    "no scheme": request("/a/b", drop=(":scheme",)),
    "an empty path": request(""),
    "a path without a slash": request("a"),
    "a star": request("*"),
    "a path of odd bytes": request(b"/\xff\x00 "),
    "GET": request("/a/b", method="GET"),
    "CONNECT": request("/a/b", method="CONNECT"),
    "no content type": request("/a/b", drop=("content-type",)),
    "another content type": request("/a/b", content_type="text/html"),
    "no te": request("/a/b", drop=("te",)),
    "a timeout that is none": request("/a/b", ("grpc-timeout", "soon")),
    "a timeout of many digits": request("/a/b", ("grpc-timeout", "9" * 100 + "S")),
    "an encoding that nobody knows": request("/a/b", ("grpc-encoding", "snappy")),
    "upper case": request("/a/b", ("Upper", "case")),
    "an unknown pseudo header": request("/a/b", (":unknown", "1")),
    "a late pseudo header": request("/a/b", (":path", "/c/d")),
    "a connection header": request("/a/b", ("connection", "close")),
    "bad base64": request("/a/b", ("data-bin", "!!!!=")),
    "a header of nothing": request("/a/b", ("", "")),
    "a status": request("/a/b", ("grpc-status", "0")),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_bad_requests(victim, case):
    """Each is answered, or its stream reset, or its connection closed: none waits."""
    with client_peer(victim.address, settings(), headers(1, BAD_REQUESTS[case])) as peer:
        peer.try_to_send(data(1, message(b"hi"), True))
        with contextlib.suppress(AssertionError):
            assert peer.reply(1) is None


@pytest.mark.parametrize("authority", ["a:b:c", "%2Ftmp%2Fsocket", "1.2.3.4:1,5.6.7.8:2", None])
def test_unusual_authorities(victim, authority):
    """grpcio sends the path of a unix socket and the list of an ``ipv4:`` target so."""
    drop = (":authority",) if authority is None else ()
    pairs = request(victim.path, drop=drop, authority=authority or "")
    with client_peer(victim.address, settings(), headers(1, pairs)) as peer:
        peer.send(data(1, message(b"hi"), True))
        assert peer.reply(1) == message(b"hi")


def odd_but_good(path):
    """Requests that are right, though no usual client writes them so."""
    pairs, body = request(path), message(b"hi")
    whole = block(pairs)
    priority = struct.pack(">IB", 0, 7)
    return {
        "continuations": [
            frame(HEADERS, 0, 1, whole[:9]),
            frame(CONTINUATION, 0, 1, whole[9:10]),
            frame(CONTINUATION, 0, 1),
            frame(CONTINUATION, END_HEADERS, 1, whole[10:]),
            data(1, body, True),
        ],
        "padding": [
            frame(HEADERS, END_HEADERS | 0x8, 1, b"\x05" + whole + bytes(5)),
            frame(DATA, END_STREAM | 0x8, 1, b"\xff" + body + bytes(255)),
        ],
        "a priority": [
            frame(HEADERS, END_HEADERS | 0x20, 1, priority + whole),
            frame(PRIORITY, 0, 1, priority),
            data(1, body, True),
        ],
        "byte by byte": [
            headers(1, pairs),
            *(data(1, body[n : n + 1]) for n in range(len(body))),
            data(1, b""),
            data(1, b"", True),
        ],
        "trailers of a client": [
            headers(1, pairs),
            data(1, body),
            headers(1, [("key", "value")], True),
        ],
        "unknown frames": [
            frame(0xFE, 0xFF, 0, b"what"),
            headers(1, pairs),
            frame(0xFE, 0xFF, 1, b"what"),
            data(1, body, True),
        ],
        "an unknown setting": [settings((0x99, 1)), headers(1, pairs), data(1, body, True)],
        "a te among others": [
            headers(1, request(path, content_type="application/grpc+proto")),
            data(1, body, True),
        ],
    }


@pytest.mark.parametrize("case", odd_but_good(""))
def test_unusual_requests_that_are_right(victim, case):
    with client_peer(victim.address, settings(), *odd_but_good(victim.path)[case]) as peer:
        assert peer.reply(1) == message(b"hi")


def test_requests_in_pieces_of_every_size(victim):
    whole = PREFACE + settings() + whole_request(victim.path)
    for size in (1, 7, 50):
        with client_peer(victim.address) as peer:
            for at in range(0, len(whole), size):
                peer.send(whole[at : at + size])
            assert peer.reply(1) == message(b"hi")


BAD_MESSAGES = {
    "cut in its prefix": b"\x00\x00",
    "cut in its body": message(b"abc", length=10),
    "compressed by nothing": message(b"abc", flag=1),
    "an unknown flag": message(b"abc", flag=2),
    "another one": message(b"abc", flag=255),
    "a length of 2^32 - 1": message(b"abc", length=2**32 - 1),
    "a length beyond the limit": message(b"abc", length=4 * MIB + 1),
    "none": b"",
    "two": message(b"a") + message(b"b"),
}


@pytest.mark.parametrize("case", BAD_MESSAGES)
def test_bad_messages(victim, case):
    for path in (victim.path, victim.streaming):
        with client_peer(victim.address, settings(), headers(1, request(path))) as peer:
            peer.send(data(1, BAD_MESSAGES[case], True))
            peer.reply(1)


def test_many_of_them_at_once(victim):
    generator = random.Random(9)
    cases = [*ILLEGAL.values(), *(headers(1, pairs) for pairs in BAD_REQUESTS.values())]
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            peer = stack.enter_context(client_peer(victim.address, settings()))
            peer.try_to_send(generator.choice(cases), generator.choice(cases))
        victim.check()
