"""A server that gives back each request of a known size: the floor of any call over a socket.

As a call does, it answers when the whole request is there.
"""

from __future__ import annotations

import socket
import sys

from gains.rivals.lifetime import serve


def receive(connection: socket.socket, buffer: memoryview) -> bool:
    """Fill a buffer from a socket; False where the peer has closed it."""
    got = 0
    while got < len(buffer):
        count = connection.recv_into(buffer[got:])
        if not count:
            return False
        got += count
    return True


def connect(address: tuple[str, int]) -> socket.socket:
    """Connect to a server, with nothing held back to fill a packet."""
    connection = socket.create_connection(address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def main() -> None:
    """Serve one client at a time with requests of as many bytes as the command line says."""
    size = int(sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))

    def loop() -> None:
        buffer = memoryview(bytearray(size))
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while receive(connection, buffer):
                    connection.sendall(buffer)

    serve(listener.getsockname()[1], loop)


if __name__ == "__main__":
    main()
