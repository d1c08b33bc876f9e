"""Stock, patched and native peers: server processes, and a client side that is any of them.

Stock is philote_mdo as it comes; patched, with philote_fast's patches, on grpcio still; native, the
same on philote_fast's own channel and server.
"""

import contextlib
import itertools
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import grpc
import numpy as np

import philote_fast
from philote_fast.processes import ServerProcess

FLAVOURS = ("stock", "patched", "native")
# (client, server), stock against stock first: it is the reference.
PAIRS = tuple(itertools.product(FLAVOURS, FLAVOURS))
REFERENCE = ("stock", "stock")
# For tests that take long: without the pairs of patched and native, which are like the others.
MAIN_PAIRS = tuple(pair for pair in PAIRS if set(pair) != {"patched", "native"})

_SERVE = Path(__file__).with_name("serve.py")


def start_server(discipline, flavour="patched", **arguments):
    """Start a process that serves ``discipline``, given as "module:factory"."""
    command = [sys.executable, str(_SERVE), discipline, json.dumps(arguments), flavour]
    return ServerProcess(command, accelerated=flavour != "stock")


@contextlib.contextmanager
def channel_to(address):
    """Open a channel of the client side's flavour, and close it afterwards."""
    if _side.native:
        channel = philote_fast.insecure_channel(address)
    else:
        # Without the option grpcio shares one connection, and its backoff, between tests.
        channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
    with channel:
        yield channel


def server(pool, **arguments):
    """Make a server in this process, native if the client side is."""
    make = philote_fast.server if _side.native else grpc.server
    return make(pool, **arguments)


class _Side:
    """Whether this process's channels and servers are native."""

    native = False


_side = _Side()


@contextlib.contextmanager
def client_side(flavour):
    """Make this process stock, patched or native, and put it back afterwards."""
    before = philote_fast.installed(), _side.native
    _switch(flavour != "stock", flavour == "native")
    try:
        yield
    finally:
        _switch(*before)


def _switch(patched, native):
    (philote_fast.install if patched else philote_fast.uninstall)()
    assert philote_fast.installed() == patched
    _side.native = native


class ServerPool:
    """Server processes by discipline and flavour, started when first asked for."""

    def __init__(self):
        self._servers = {}

    def address(self, discipline, flavour):
        key = (discipline, flavour)
        if key not in self._servers or not self._servers[key].running:
            self._servers[key] = start_server(discipline, flavour)
        return self._servers[key].address

    def close(self):
        for server in self._servers.values():
            server.release()
        for server in self._servers.values():
            server.close()


def assert_identical(actual, expected, where="result"):
    """Assert that two results have the same structure and the same bits."""
    if isinstance(expected, np.ndarray):
        assert type(actual) is np.ndarray, where
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), where
        assert actual.tobytes() == expected.tobytes(), f"{where}: {actual} != {expected}"
    elif isinstance(expected, Mapping):
        assert list(actual) == list(expected), where
        for key in expected:
            assert_identical(actual[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), where
        for index, pair in enumerate(zip(actual, expected, strict=True)):
            assert_identical(*pair, f"{where}[{index}]")
    elif isinstance(expected, float):
        assert float(actual).hex() == expected.hex(), where
    else:
        assert (type(actual), actual) == (type(expected), expected), where
