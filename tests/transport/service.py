"""A server whose methods are functions that tests hand it, and a channel to it."""

import contextlib
import itertools
import socket
import threading
from concurrent import futures

import grpc

from .implementations import PATIENCE

_HANDLERS = {
    "unary_unary": grpc.unary_unary_rpc_method_handler,
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}
KINDS = tuple(_HANDLERS)


class Service(grpc.GenericRpcHandler):
    """Methods of any kind, added while the server runs; each has a path of its own."""

    def __init__(self):
        self._methods = {}
        self._numbers = itertools.count()
        self.address = None

    def add(self, kind, behaviour, request_deserializer=None, response_serializer=None):
        """Add a method, and return its path."""
        path = f"/test.Service/Method{next(self._numbers)}"
        handler = _HANDLERS[kind](behaviour, request_deserializer, response_serializer)
        self._methods[path] = handler
        return path

    def service(self, handler_call_details):
        return self._methods.get(handler_call_details.method)


class Remote:
    """A channel to a service, on which a test calls what it has just written."""

    def __init__(self, service, channel):
        self.service, self.channel = service, channel
        self.address = service.address

    def method(self, kind, behaviour, *, serve=(None, None), call=(None, None)):
        """Serve a function; gives the multi-callable that calls it.

        ``serve`` has the server's deserializer and serializer, ``call`` the client's serializer
        and deserializer.
        """
        path = self.service.add(kind, behaviour, *serve)
        return getattr(self.channel, kind)(path, *call)

    def unary_unary(self, behaviour, **serializers):
        return self.method("unary_unary", behaviour, **serializers)

    def unary_stream(self, behaviour, **serializers):
        return self.method("unary_stream", behaviour, **serializers)

    def stream_unary(self, behaviour, **serializers):
        return self.method("stream_unary", behaviour, **serializers)

    def stream_stream(self, behaviour, **serializers):
        return self.method("stream_stream", behaviour, **serializers)

    def check(self):
        """Assert that channel and server work."""
        assert self.unary_unary(echo)(b"alive", timeout=PATIENCE) == b"alive"


def has_ipv6():
    """Whether this machine has the loopback address ::1."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def echo(request, context):
    return request


@contextlib.contextmanager
def serving(implementation, *, workers=8, address="127.0.0.1:0", pool=None, **arguments):
    """Run a server for a new service; gives the service, with ``server`` and ``address``."""
    service = Service()
    own = pool is None
    pool = futures.ThreadPoolExecutor(workers) if own else pool
    server = implementation.server(pool, handlers=[service], **arguments)
    port = server.add_insecure_port(address)
    host = address.rpartition(":")[0]
    service.address = address if host.startswith("unix") else f"{host}:{port}"
    service.server = server
    server.start()
    try:
        yield service
    finally:
        server.stop(None).wait(PATIENCE)
        if own:
            pool.shutdown()


@contextlib.contextmanager
def connected(client, service, options=(), compression=None):
    """Open a channel of an implementation to a service; gives the ``Remote``."""
    with client.insecure_channel(service.address, options, compression) as channel:
        yield Remote(service, channel)


@contextlib.contextmanager
def both(client, server, *, options=(), **arguments):
    """Run a server of one implementation and a channel of another; gives the ``Remote``."""
    with serving(server, **arguments) as service, connected(client, service, options) as remote:
        yield remote


@contextlib.contextmanager
def calls_under_way(remote):
    """Begin two calls that their methods hold; gives a future, and a stream that gave a message."""
    go, entered = threading.Event(), threading.Semaphore(0)

    def unary(request, context):
        entered.release()
        go.wait(PATIENCE)
        return b""

    def stream(request, context):
        yield b"1"
        entered.release()
        go.wait(PATIENCE)

    try:
        future = remote.unary_unary(unary).future(b"")
        call = remote.unary_stream(stream)(b"")
        assert next(call) == b"1"
        for _ in range(2):
            assert entered.acquire(timeout=PATIENCE)
        yield future, call
    finally:
        go.set()
