"""A native server and clients that want all of its memory, or all of its time."""

import contextlib
import socket
import struct
import threading
import zlib

import pytest

from .frames import (
    ACK,
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
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
    whole_request,
    window_update,
)
from .implementations import GRPCIO, PATIENCE
from .memory import grown_by
from .service import connected

MANY = 20_000
MIB = 2**20


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
    return all(peer.try_to_send(batch) for _ in range(count // 100))


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
    "many headers": headers(
        1, request("/a/b", *[(f"key{n}", "x" * 100) for n in range(130)]), True
    ),
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
                peer.send(whole_request(victim.large, stream))
            peer.wait_for(HEADERS)
        for _ in range(3):
            victim.check()
    assert grown() < 100 * MIB


def test_a_client_that_reads_nothing(victim):
    with grown_by() as grown:
        with client_peer(victim.address, settings((WINDOW_SETTING, 2**31 - 1))) as peer:
            peer.send(window_update(2**30))
            for stream in range(1, 41, 2):
                peer.try_to_send(whole_request(victim.large, stream))
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


@pytest.mark.parametrize("case", ["pings", "settings", "priorities", "unknown frames"])
def test_a_flood_leaves_time_for_others(victim, case):
    """For as long as it goes on, and though the other side reads what it is answered."""
    batch = FLOODS[case] * 20_000

    def send():
        for _ in range(200):
            peer.try_to_send(batch)

    def read():
        with contextlib.suppress(OSError):
            while peer._socket.recv(MIB):
                pass

    with client_peer(victim.address, settings()) as peer:
        threads = [threading.Thread(target=each) for each in (send, read)]
        for thread in threads:
            thread.start()
        try:
            while threads[0].is_alive():
                victim.check()
        finally:
            with contextlib.suppress(OSError):
                peer._socket.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
