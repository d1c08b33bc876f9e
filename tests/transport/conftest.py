"""Implementations as fixtures: a test that asks for client and server runs for every pair."""

import pytest

from .implementations import CLIENTS, GRPCIO, NATIVE, SERVERS
from .service import connected, echo, serving

MIB = 2**20


@pytest.fixture(scope="module", params=SERVERS, ids=lambda each: each.name)
def server(request):
    """An implementation of the server."""
    return request.param


@pytest.fixture(scope="module", params=CLIENTS, ids=lambda each: each.name)
def client(request):
    """An implementation of the client."""
    return request.param


@pytest.fixture(scope="module")
def service(server):
    """Give a running service that the tests of a module share."""
    with serving(server) as running:
        yield running


@pytest.fixture(scope="module")
def remote(client, service):
    """Give a channel to the shared service."""
    with connected(client, service) as remote:
        yield remote


@pytest.fixture(scope="module")
def served():
    """Give a native service, and a channel of grpcio's that is open all the while."""
    if NATIVE not in SERVERS:
        pytest.skip("there is no native server")
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


@pytest.fixture
def native(capfd):
    """Give the native client; nothing may panic."""
    if NATIVE not in CLIENTS:
        pytest.skip("there is no native client")
    yield NATIVE
    assert "panicked" not in capfd.readouterr().err
