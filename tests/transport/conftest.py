"""Implementations as fixtures: a test that asks for client and server runs for every pair."""

import pytest

from . import implementations
from .service import connected, serving


@pytest.fixture(scope="module", params=implementations.SERVERS, ids=lambda each: each.name)
def server(request):
    """An implementation of the server."""
    return request.param


@pytest.fixture(scope="module", params=implementations.CLIENTS, ids=lambda each: each.name)
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
