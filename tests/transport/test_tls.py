"""TLS: the server's certificate, the client's, and what does not match."""

import contextlib
import socket
from concurrent import futures
from typing import NamedTuple

import grpc
import pytest

from .. import certificates
from .implementations import PATIENCE
from .service import Remote, Service, connected

CODE = grpc.StatusCode


class Pair(NamedTuple):
    """A private key and its certificate, as PEM."""

    key: bytes
    certificate: bytes


@pytest.fixture(scope="module")
def authority():
    return certificates.authority()


@pytest.fixture(scope="module")
def pair(authority):
    """The server's key and certificate."""
    return made(authority, "server", dns=["localhost"], ips=["127.0.0.1"])


def made(issuer, name, **names):
    """A key and its certificate, as PEM."""
    identity = certificates.issued(issuer, name, **names)
    return Pair(identity.key, identity.chain)


@contextlib.contextmanager
def secure(server, credentials):
    """Serve with credentials; gives the service."""
    pool = futures.ThreadPoolExecutor(4)
    service = Service()
    one = server.server(pool, handlers=[service])
    service.address = f"localhost:{one.add_secure_port('localhost:0', credentials)}"
    one.start()
    try:
        yield service
    finally:
        one.stop(None).wait(PATIENCE)
        pool.shutdown()


@contextlib.contextmanager
def securely(client, service, options=(), **credentials):
    """Open a secure channel; gives the ``Remote``."""
    secrets = grpc.ssl_channel_credentials(**credentials)
    with client.secure_channel(service.address, secrets, options) as channel:
        yield Remote(service, channel)


@pytest.fixture(scope="module")
def plain(server, pair):
    """Give a service that asks for no certificate."""
    with secure(server, server.ssl_server_credentials([pair])) as service:
        yield service


@pytest.fixture(scope="module")
def mutual(server, authority, pair):
    """Give a service that asks for a certificate of the authority's."""
    credentials = server.ssl_server_credentials(
        [pair], root_certificates=authority.chain, require_client_auth=True
    )
    with secure(server, credentials) as service:
        yield service


def assert_refused(client, service, **arguments):
    with securely(client, service, **arguments) as remote, pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(lambda request, context: b"")(b"", timeout=PATIENCE)
    assert caught.value.code() is CODE.UNAVAILABLE
    return caught.value.details()


def test_a_server_with_a_certificate(client, plain, authority):
    with securely(client, plain, root_certificates=authority.chain) as remote:
        remote.check()
        large = bytes(range(256)) * 10_000
        assert remote.unary_unary(lambda request, context: request)(large) == large
        stream = remote.stream_stream(lambda requests, context: requests)
        assert list(stream(iter([large[:100_000]] * 20))) == [large[:100_000]] * 20


def test_what_a_handler_is_told(client, plain, authority):
    said = []

    def behaviour(request, context):
        said.append((context.auth_context(), context.peer_identities()))
        return b""

    with securely(client, plain, root_certificates=authority.chain) as remote:
        remote.unary_unary(behaviour)(b"")
    context, identities = said[0]
    assert context["transport_security_type"] == [b"ssl"]
    assert identities is None


def test_an_authority_that_is_not_trusted(client, plain):
    assert_refused(client, plain, root_certificates=certificates.authority("Another").chain)


def test_the_systems_authorities_do_not_know_it(client, plain):
    assert_refused(client, plain)


def test_a_name_that_is_not_the_certificates(client, server, authority):
    other = made(authority, "other", dns=["other.example"])
    with secure(server, server.ssl_server_credentials([other])) as service:
        assert_refused(client, service, root_certificates=authority.chain)
        override = [("grpc.ssl_target_name_override", "other.example")]
        roots = authority.chain
        with securely(client, service, override, root_certificates=roots) as remote:
            remote.check()


def test_a_certificate_that_has_expired(client, server, authority):
    old = made(authority, "server", dns=["localhost"], days=-1)
    with secure(server, server.ssl_server_credentials([old])) as service:
        assert_refused(client, service, root_certificates=authority.chain)


def test_a_client_with_a_certificate(client, mutual, authority):
    known = made(authority, "a client", dns=["client.example"])
    said = []

    def behaviour(request, context):
        said.append((context.auth_context(), context.peer_identities()))
        said.append(context.peer_identity_key())
        return b""

    with securely(
        client,
        mutual,
        root_certificates=authority.chain,
        private_key=known.key,
        certificate_chain=known.certificate,
    ) as remote:
        remote.check()
        remote.unary_unary(behaviour)(b"")
    context, identities = said[0]
    assert context["x509_common_name"] == [b"a client"]
    assert context["x509_subject_alternative_name"] == [b"client.example"]
    assert list(identities) == [b"client.example"]
    assert said[1] == "x509_subject_alternative_name"


def test_a_client_without_a_certificate(client, mutual, authority):
    assert_refused(client, mutual, root_certificates=authority.chain)


def test_a_client_of_another_authority(client, mutual, authority):
    stranger = made(certificates.authority("Another"), "stranger")
    assert_refused(
        client,
        mutual,
        root_certificates=authority.chain,
        private_key=stranger.key,
        certificate_chain=stranger.certificate,
    )


def test_a_plain_client_at_a_secure_port(client, plain, authority):
    with connected(client, plain) as remote, pytest.raises(grpc.RpcError) as caught:
        remote.unary_unary(lambda request, context: b"")(b"", timeout=PATIENCE)
    assert caught.value.code() is CODE.UNAVAILABLE
    with securely(client, plain, root_certificates=authority.chain) as remote:
        remote.check()


def test_a_secure_client_at_a_plain_port(client, service, authority):
    assert_refused(client, service, root_certificates=authority.chain)
    with connected(client, service) as remote:
        remote.check()


def test_garbage_at_a_secure_port(client, plain, authority):
    host, port = plain.address.split(":")
    for data in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) * 100, b"\x16\x03\x01\xff\xff"):
        with (
            socket.create_connection((host, int(port)), PATIENCE) as peer,
            contextlib.suppress(OSError),
        ):
            peer.sendall(data)
    with securely(client, plain, root_certificates=authority.chain) as remote:
        remote.check()


def test_calls_with_credentials(client, plain, authority):
    """Metadata that credentials add to each call."""
    seen = []

    def behaviour(request, context):
        seen.append(dict(context.invocation_metadata()))
        return b""

    class Plugin(grpc.AuthMetadataPlugin):
        def __call__(self, context, callback):
            assert context.method_name
            callback([("key", context.service_url.rpartition("/")[2])], None)

    token = grpc.access_token_call_credentials("secret")
    with securely(client, plain, root_certificates=authority.chain) as remote:
        remote.unary_unary(behaviour)(b"", credentials=token)
        plugin = grpc.metadata_call_credentials(Plugin())
        remote.unary_unary(behaviour)(b"", credentials=plugin)
    both = grpc.composite_channel_credentials(grpc.ssl_channel_credentials(authority.chain), token)
    with client.secure_channel(plain.address, both) as channel:
        Remote(plain, channel).unary_unary(behaviour)(b"")
    assert [each.get("authorization") for each in seen] == ["Bearer secret", None, "Bearer secret"]
    assert seen[1]["key"] == "test.Service"


def test_credentials_that_fail(client, plain, authority):
    class Plugin(grpc.AuthMetadataPlugin):
        def __call__(self, context, callback):
            callback(None, ValueError("no token"))

    with securely(client, plain, root_certificates=authority.chain) as remote:
        credentials = grpc.metadata_call_credentials(Plugin())
        with pytest.raises(grpc.RpcError) as caught:
            remote.unary_unary(lambda request, context: b"")(b"", credentials=credentials)
        assert caught.value.code() is CODE.UNAVAILABLE
        assert "no token" in caught.value.details()
        remote.check()


@pytest.mark.parametrize("data", [b"", b"no PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_certificates_that_are_none(client, server, plain, pair, data):
    with (
        pytest.raises((ValueError, RuntimeError, grpc.RpcError)),
        securely(client, plain, root_certificates=data or b"\n") as remote,
    ):
        remote.unary_unary(lambda request, context: b"")(b"", timeout=PATIENCE)
    one = server.server(futures.ThreadPoolExecutor(1))

    def add_port():
        credentials = server.ssl_server_credentials([(data, pair.certificate)])
        one.add_secure_port("localhost:0", credentials)

    with pytest.raises((ValueError, RuntimeError)):
        add_port()
    one.stop(None)
