"""Servers that follow a script, frame by frame, and what a client makes of them."""

import contextlib
import socket
import threading

import grpc

from .frames import (
    ANSWER,
    GOOD,
    HEADERS,
    PREFACE,
    Peer,
    data,
    headers,
    message,
    settings,
)
from .implementations import PATIENCE
from .test_failures import QUICK


class ScriptedServer:
    """Listens, and plays a script on each connection: the last one on all further ones.

    A script is called with the peer and the number of the stream of its first request; the server
    has then sent its settings.
    """

    def __init__(self, *scripts, first=None):
        self._scripts = list(scripts)
        self._first = settings() if first is None else first
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads, self._peers = [], []
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        self._accepting = threading.Thread(target=self._accept)

    def __enter__(self):
        self._accepting.start()
        return self

    def __exit__(self, *exception):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer._socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        for peer in self._peers:
            peer.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            self._peers.append(Peer(connection))
            arguments = (script, self._peers[-1])
            self._threads.append(threading.Thread(target=self._play, args=arguments))
            self._threads[-1].start()

    def _play(self, script, peer):
        with contextlib.suppress(OSError, EOFError, AssertionError):
            if getattr(script, "raw", False):
                script(peer)
            else:
                assert peer.take(len(PREFACE)) == PREFACE
                peer.send(self._first)
                script(peer, peer.wait_for(HEADERS)[2])
                peer.wait_until_closed()
        with contextlib.suppress(OSError):
            peer._socket.shutdown(socket.SHUT_RDWR)


def raw(script):
    """Mark a script that is played from the first byte, without HTTP/2."""
    script.raw = True
    return script


def answer(peer, stream, text=b"answer"):
    """A script: answer well, now and to all further requests."""
    while True:
        peer.send(headers(stream, ANSWER), data(stream, message(text)), headers(stream, GOOD, True))
        stream = peer.wait_for(HEADERS)[2]


@contextlib.contextmanager
def calling(client, *scripts, **arguments):
    """Call a server that plays scripts on its connections; gives the server and the method."""
    with (
        ScriptedServer(*scripts, **arguments) as server,
        client.insecure_channel(server.address, QUICK) as channel,
    ):
        yield server, channel.unary_unary("/test.Service/Method")


def outcome(method, body=b"", **keywords):
    """The reply, or the code and details of the failure."""
    try:
        return method(body, timeout=PATIENCE, **keywords)
    except grpc.RpcError as error:
        return error.code(), error.details()


def assert_recovers(method):
    assert outcome(method, wait_for_ready=True) == b"answer"


def assert_outcome(client, script, expected, **arguments):
    """Assert what one call comes to, and that the channel is good afterwards."""
    with calling(client, script, answer, **arguments) as (_, method):
        found = outcome(method)
        code = found[0] if isinstance(found, tuple) else found
        assert code in (expected if isinstance(expected, tuple) else (expected,)), found


def saying(*parts):
    """A script: send parts, made for the stream, and go on as a good server."""

    def script(peer, stream):
        peer.send(*(part(stream) if callable(part) else part for part in parts))
        answer(peer, peer.wait_for(HEADERS)[2])

    return script


def head(*more, **replaced):
    pairs = {**dict(ANSWER), **{name.replace("_", "-"): text for name, text in replaced.items()}}
    return lambda stream: headers(stream, [*pairs.items(), *more])


def body(payload):
    return lambda stream: data(stream, payload)


def tail(*pairs):
    return lambda stream: headers(stream, pairs or GOOD, True)


def only(*pairs, **replaced):
    """Trailers without anything before them."""
    fields = {**dict(ANSWER), **{name.replace("_", "-"): text for name, text in replaced.items()}}
    status = fields.pop("status", fields.pop(":status"))
    return lambda stream: headers(stream, [(":status", status), *fields.items(), *pairs], True)
