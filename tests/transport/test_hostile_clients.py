"""A native server and clients that break every rule: it lets them go, and serves the others."""

import contextlib
import random
import struct
import zlib

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
    WINDOW_SETTING,
    block,
    client_peer,
    data,
    frame,
    headers,
    message,
    request,
    reset,
    settings,
    window_update,
)
from .implementations import GRPCIO, NATIVE, PATIENCE, SERVERS
from .memory import grown_by
from .service import connected, echo, serving

pytestmark = pytest.mark.skipif(NATIVE not in SERVERS, reason="there is no native server")
MANY = 20_000
MIB = 2**20


@pytest.fixture(scope="module")
def served():
    """Give a native service, and a channel of grpcio's that is open all the while."""
    with serving(NATIVE) as service, connected(GRPCIO, service) as remote:
        remote.path = service.add("unary_unary", echo)
        remote.large = service.add("unary_unary", lambda request, context: bytes(3 * MIB))
        remote.streaming = service.add("stream_stream", lambda requests, context: requests)
        yield remote


@pytest.fixture
def victim(served, capfd):
    """Give the service; afterwards old and new channels work, and nothing has panicked."""
    yield served
    served.check()
    with connected(GRPCIO, served.service) as another:
        another.check()
    assert "panicked" not in capfd.readouterr().err


def call(path, stream=1, body=b"hi", *more, **replaced):
    pairs = request(path, *more, **replaced)
    return headers(stream, pairs) + data(stream, message(body), True)


def test_the_peer_of_these_tests_is_understood(victim):
    with client_peer(victim.address, settings(), call(victim.path)) as peer:
        assert peer.reply(1) == message(b"hi")


@pytest.mark.parametrize("closes", [True, False])
def test_every_part_of_a_preface(victim, closes):
    whole = PREFACE + settings() + call(victim.path)
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
    whole = settings() + call(victim.path)
    for _ in range(150):
        mutated = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            mutated[generator.randrange(len(mutated))] = generator.randrange(256)
        with client_peer(victim.address) as peer:
            peer.try_to_send(PREFACE + mutated)


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(512), b"\r\n" * 9000]
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
    "headers within headers": frame(HEADERS, 0, 1, block(request("/a/b"))) + frame(PING, 0, 0, bytes(8)),
    "a goaway": frame(GOAWAY, payload=struct.pack(">II", 0, 11) + b"text" * 100),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_frames(victim, case):
    with client_peer(victim.address, settings(), call(victim.path)) as peer:
        assert peer.reply(1) == message(b"hi")
        peer.try_to_send(ILLEGAL[case])
        peer.try_to_send(call(victim.path, 3))


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


@pytest.mark.parametrize("authority", ["", "a:b:c", "%2Ftmp%2Fsocket", "1.2.3.4:1,5.6.7.8:2", None])
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
    whole = PREFACE + settings() + call(victim.path)
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


def test_claims_allocate_nothing(victim):
    """A thousand claims of almost 4 MiB, of which three bytes come: 4 GB if they were believed."""
    part = message(b"abc", length=4 * MIB - 1)
    with grown_by() as grown, contextlib.ExitStack() as stack:
        for _ in range(10):
            peer = stack.enter_context(client_peer(victim.address, settings()))
            for stream in range(1, 200, 2):
                peer.try_to_send(headers(stream, request(victim.path)), data(stream, part))
            peer.try_to_send(frame(PING, payload=bytes(8)))
            with contextlib.suppress(AssertionError):
                peer.wait_for(PING)
    assert grown() < 100 * MIB


def test_a_message_that_inflates_without_end(victim):
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(50)) + packer.flush()
    body = message(bomb, flag=1)
    pairs = request(victim.path, ("grpc-encoding", "gzip"))
    pieces = [body[at : at + 16_384] for at in range(0, len(body), 16_384)]
    assert len(body) < 65_535, "the window in which it is sent"
    with grown_by() as grown, client_peer(victim.address, settings()) as peer:
        peer.send(headers(1, pairs), *(data(1, each) for each in pieces))
        peer.try_to_send(data(1, b"", True))
        assert peer.reply(1) is None
    assert grown() < 30 * MIB


def flood(peer, frames, count=MANY):
    """Send the same again and again, as long as the other side takes it."""
    batch = frames * 100
    for _ in range(count // 100):
        if not peer.try_to_send(batch):
            return False
    return True


FLOODS = {
    "settings": settings(),
    "pings": frame(PING, payload=bytes(8)),
    "acknowledgements": frame(SETTINGS, ACK),
    "priorities": frame(PRIORITY, 0, 1, struct.pack(">IB", 0, 7)),
    "windows": window_update(1),
    "empty data": data(1, b""),
    "unknown frames": frame(0xFE, 0, 0, bytes(100)),
    "resets": reset(1),
    "empty messages": data(1, message(b"")),
}


@pytest.mark.parametrize("case", FLOODS)
@pytest.mark.parametrize("reads", [True, False])
def test_floods(victim, case, reads):
    """Also from a client that reads nothing of what it is answered."""
    first = headers(1, request(victim.streaming))
    with grown_by() as grown, client_peer(victim.address, settings(), first) as peer:
        peer._socket.settimeout(2)
        flood(peer, FLOODS[case])
        victim.check()
        if reads:
            peer.try_to_send(reset(1), frame(PING, payload=b"the last"))
            with contextlib.suppress(AssertionError, TimeoutError):
                while peer.wait_for(PING)[3] != b"the last":
                    pass
    assert grown() < 60 * MIB


HEADER_FLOODS = {
    "one large header": headers(1, request("/a/b", ("key", "x" * 15_000)), True),
    "many headers": headers(1, request("/a/b", *[(f"key{n}", "x" * 100) for n in range(130)]), True),
}


@pytest.mark.parametrize("case", HEADER_FLOODS)
def test_large_headers(victim, case):
    with grown_by() as grown, client_peer(victim.address, settings()) as peer:
        peer.send(HEADER_FLOODS[case])
        with contextlib.suppress(AssertionError):
            peer.reply(1)
    assert grown() < 20 * MIB


@pytest.mark.parametrize("payload", [b"", block([("key", "x" * 1000)]) * 16], ids=["empty", "full"])
def test_continuations_without_end(victim, payload):
    part = frame(CONTINUATION, 0, 1, payload)
    with grown_by() as grown, client_peer(victim.address, settings()) as peer:
        peer.send(frame(HEADERS, 0, 1, block(request("/a/b"))))
        assert not flood(peer, part, 1_000_000), "it is to be let go"
    assert grown() < 60 * MIB


def test_resets_without_end(victim):
    """A request and its cancellation, again and again: bounded work, and others are served."""
    called = []
    path = victim.service.add("unary_unary", lambda request, context: called.append(1) or request)
    pairs = block(request(path))
    with grown_by() as grown, client_peer(victim.address, settings()) as peer:
        for numbers in _hundreds(40_000):
            batch = b"".join(
                frame(HEADERS, END_HEADERS | END_STREAM, n, pairs) + reset(n) for n in numbers
            )
            if not peer.try_to_send(batch):
                break
        victim.check()
    assert grown() < 60 * MIB


def _hundreds(limit):
    numbers = range(1, limit, 2)
    return [numbers[at : at + 100] for at in range(0, len(numbers), 100)]


def test_streams_without_end(victim):
    """Requests that never end: those beyond a limit are refused."""
    pairs = block(request(victim.streaming))
    with grown_by() as grown, client_peer(victim.address, settings()) as peer:
        peer._socket.settimeout(5)
        for numbers in _hundreds(20_000):
            if not peer.try_to_send(*(frame(HEADERS, END_HEADERS, n, pairs) for n in numbers)):
                break
    assert grown() < 100 * MIB


@pytest.mark.parametrize("window", [0, 1, 1000])
def test_a_client_that_takes_no_replies(victim, window):
    """What it does not read is bounded, and held no longer than the connection."""
    with grown_by() as grown:
        with client_peer(victim.address, settings((WINDOW_SETTING, window))) as peer:
            for stream in range(1, 41, 2):
                peer.send(call(victim.large, stream))
            peer.wait_for(HEADERS)
        for _ in range(3):
            victim.check()
    assert grown() < 100 * MIB


def test_a_client_that_reads_nothing(victim):
    with grown_by() as grown:
        with client_peer(victim.address, settings((WINDOW_SETTING, 2**31 - 1))) as peer:
            peer.send(window_update(2**30))
            for stream in range(1, 41, 2):
                peer.try_to_send(call(victim.large, stream))
        victim.check()
    assert grown() < 150 * MIB


@pytest.mark.parametrize("part", [0, 3, 5, 100])
def test_clients_that_vanish_in_mid_message(victim, part):
    for path in (victim.path, victim.streaming):
        for _ in range(20):
            with client_peer(victim.address, settings(), headers(1, request(path))) as peer:
                peer.send(data(1, message(bytes(1000))[:part]))
                peer.vanish()
    for _ in range(3):
        victim.check()


def test_silent_connections(victim):
    """Two hundred that say nothing keep nobody out."""
    with contextlib.ExitStack() as stack:
        for n in range(200):
            peer = stack.enter_context(client_peer(victim.address))
            if n % 2:
                peer.send(PREFACE, settings())
        with connected(GRPCIO, victim.service) as another:
            another.check()


def test_windows_are_given_back(victim):
    """Bytes of streams that were reset, or that nobody read, count no longer."""
    with connected(GRPCIO, victim.service) as remote:
        unread = remote.stream_unary(lambda requests, context: b"unread")
        for _ in range(12):
            assert unread(iter([bytes(MIB)] * 10), timeout=PATIENCE) == b"unread"
        remote.check()


def test_many_of_them_at_once(victim):
    generator = random.Random(9)
    cases = [*ILLEGAL.values(), *(headers(1, pairs) for pairs in BAD_REQUESTS.values())]
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            peer = stack.enter_context(client_peer(victim.address, settings()))
            peer.try_to_send(generator.choice(cases), generator.choice(cases))
        victim.check()
