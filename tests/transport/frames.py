"""HTTP/2 by hand: frames, headers without compression, and a peer on a raw socket."""

import contextlib
import socket
import struct

from .implementations import PATIENCE

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY = range(8)
WINDOW_UPDATE, CONTINUATION = 8, 9
END_STREAM, END_HEADERS, PADDED, ACK = 0x1, 0x4, 0x8, 0x1
WINDOW_SETTING = 4


def frame(kind, flags=0, stream=0, payload=b""):
    length = len(payload)
    return struct.pack(">BHBBI", length >> 16, length & 0xFFFF, kind, flags, stream) + payload


def settings(*pairs):
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window_update(increment, stream=0):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def reset(stream, code=8):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def goaway(last, code=0):
    return frame(GOAWAY, payload=struct.pack(">II", last, code))


def _integer(value, prefix=7):
    limit = (1 << prefix) - 1
    if value < limit:
        return bytes([value])
    encoded, value = [limit], value - limit
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def block(pairs):
    """Encode headers, each as a literal that is not indexed."""
    parts = []
    for pair in pairs:
        parts.append(b"\x00")
        for text in pair:
            data = text if isinstance(text, bytes) else text.encode()
            parts += [_integer(len(data)), data]
    return b"".join(parts)


def headers(stream, pairs, end=False):
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, block(pairs))


def message(data, flag=0, length=None):
    """Frame a gRPC message, whose length may be a lie."""
    return struct.pack(">BI", flag, len(data) if length is None else length) + data


def data(stream, payload, end=False):
    return frame(DATA, END_STREAM if end else 0, stream, payload)


def request(path, *more, drop=(), **replaced):
    """Headers of a gRPC request; ``replaced`` by names without their colon."""
    pairs = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "localhost",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    for name, value in replaced.items():
        pairs[f":{name}" if f":{name}" in pairs else name.replace("_", "-")] = value
    return [(name, value) for name, value in pairs.items() if name not in drop] + list(more)


ANSWER = [(":status", "200"), ("content-type", "application/grpc")]
GOOD = [("grpc-status", "0")]


class Peer:
    """One end of a connection, whose other end is tested."""

    def __init__(self, connection):
        self._socket = connection
        self._socket.settimeout(PATIENCE)
        self._buffer = b""
        # Frames that are acknowledged have been seen by the other side.
        self.acknowledges = True

    def send(self, *parts):
        self._socket.sendall(b"".join(parts))

    def try_to_send(self, *parts):
        """Send; gives whether the other side still takes it."""
        try:
            self.send(*parts)
        except OSError:
            return False
        return True

    def _fill(self, size):
        while len(self._buffer) < size:
            some = self._socket.recv(65536)
            if not some:
                raise EOFError
            self._buffer += some

    def take(self, size):
        self._fill(size)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def next_frame(self):
        """Receive a frame: its kind, flags, stream and payload. Settings and pings are answered."""
        high, low, kind, flags, stream = struct.unpack(">BHBBI", self.take(9))
        payload = self.take(high << 16 | low)
        if self.acknowledges and kind in (SETTINGS, PING) and not flags & ACK:
            self.try_to_send(frame(kind, ACK, 0, payload if kind == PING else b""))
        return kind, flags, stream & 0x7FFFFFFF, payload

    def frames(self):
        """Receive frames until the other side closes."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                yield self.next_frame()

    def wait_for(self, kind, stream=None):
        """Receive frames until one of a kind has come; gives it."""
        for found in self.frames():
            if found[0] == kind and stream in (None, found[2]):
                return found
        raise AssertionError(f"closed without a frame of kind {kind}")

    def reply(self, stream):
        """Receive the reply to a request; gives the DATA that came, or None for a failure."""
        received = b""
        for kind, flags, number, payload in self.frames():
            if number == stream and kind == DATA:
                received += payload
            if number == stream and (kind == RST_STREAM or (flags & END_STREAM and kind != PING)):
                return received or None
        raise AssertionError("closed without a reply")

    def wait_until_closed(self):
        for _ in self.frames():
            pass

    def vanish(self):
        """Close with a reset of the connection: no farewell of any kind."""
        linger = struct.pack("ii", 1, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._socket.close()

    def close(self):
        self._socket.close()


@contextlib.contextmanager
def client_peer(address, *first):
    """Connect to a server as a client that has sent its preface, settings, and what is given."""
    host, port = address.rsplit(":", 1)
    peer = Peer(socket.create_connection((host, int(port)), PATIENCE))
    try:
        if first:
            peer.send(PREFACE, *first)
        yield peer
    finally:
        peer.close()


def whole_request(path, stream=1, body=b"hi", *more, **replaced):
    """A request with one message, to its end."""
    pairs = request(path, *more, **replaced)
    return headers(stream, pairs) + data(stream, message(body), True)
