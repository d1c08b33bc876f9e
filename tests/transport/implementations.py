"""The implementations of gRPC's Python interface that the tests compare."""

from collections.abc import Callable
from typing import NamedTuple

import grpc

import philote_fast

# Long enough for a loaded machine: what takes as long is stuck.
PATIENCE = 30

# Without it grpcio shares one connection, and its backoff, between the channels of all tests.
_OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


class Implementation(NamedTuple):
    """One implementation: its functions are those of the module grpc."""

    name: str
    functions: Callable

    def insecure_channel(self, target, options=(), compression=None):
        return self.functions("insecure_channel")(target, self._options(options), compression)

    def secure_channel(self, target, credentials, options=()):
        return self.functions("secure_channel")(target, credentials, self._options(options))

    def server(self, pool, **arguments):
        return self.functions("server")(pool, **arguments)

    def ssl_server_credentials(self, *arguments, **keywords):
        return self.functions("ssl_server_credentials")(*arguments, **keywords)

    def _options(self, options):
        own = _OWN_CONNECTION if self is GRPCIO else ()
        return [*own, *options]


GRPCIO = Implementation("grpcio", lambda name: getattr(grpc, name))
# Looked up at the call: a program may have replaced grpc's functions by these.
NATIVE = Implementation("native", lambda name: getattr(philote_fast, name))

CLIENTS = (GRPCIO, NATIVE) if hasattr(philote_fast, "insecure_channel") else (GRPCIO,)
SERVERS = (GRPCIO, NATIVE) if hasattr(philote_fast, "server") else (GRPCIO,)
