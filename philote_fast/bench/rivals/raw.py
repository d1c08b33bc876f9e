"""Exchanges of known sizes over a bare socket: the floor of any call.

As a call does, the server answers when the whole request is there.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence

from philote_fast.bench.timing import Subject

# The bytes of a request and of its answer, for each round trip of a call.
Exchanges = Sequence[tuple[int, int]]


def serve(exchanges: Exchanges) -> tuple[int, Callable[[], None]]:
    """Serve one client at a time; give the port, and what ends it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def loop() -> None:
        buffer = memoryview(bytearray(_longest(exchanges)))
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while _answer(connection, buffer, exchanges):
                    pass

    threading.Thread(target=loop, daemon=True).start()
    return listener.getsockname()[1], listener.close


def call(address: str, exchanges: Exchanges) -> Subject:
    """Make a subject of the round trips of one call."""
    longest = _longest(exchanges)
    # Not one byte over and over: the answer must be seen to be the request's.
    request = memoryview(bytes(index % 251 for index in range(4096)) * (longest // 4096 + 1))
    answer = bytearray(longest)
    view = memoryview(answer)
    connection = connect(address)

    def run() -> None:
        for sent, received in exchanges:
            connection.sendall(request[:sent])
            if not receive(connection, view[:received]):
                raise ConnectionError("the echo has gone")

    def check(_: object) -> None:
        sent, received = exchanges[-1]
        common = min(sent, received)
        if answer[:common] != request[:common]:
            raise AssertionError("not the bytes that were sent")
        # The next answer must not be right because this one was.
        answer[:] = bytes(longest)

    return Subject(run, check, close=connection.close)


def connect(address: str) -> socket.socket:
    """Connect to a server, with nothing held back to fill a packet."""
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def receive(connection: socket.socket, buffer: memoryview) -> bool:
    """Fill a buffer from a socket; False where the peer has closed it."""
    got = 0
    while got < len(buffer):
        count = connection.recv_into(buffer[got:])
        if not count:
            return False
        got += count
    return True


def _answer(connection: socket.socket, buffer: memoryview, exchanges: Exchanges) -> bool:
    """Answer the round trips of one call; False where the client has gone."""
    for request, response in exchanges:
        if not receive(connection, buffer[:request]):
            return False
        connection.sendall(buffer[:response])
    return True


def _longest(exchanges: Exchanges) -> int:
    return max(max(exchange) for exchange in exchanges)
