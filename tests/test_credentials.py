"""Credentials of channels, calls and servers, read for the native transport."""

import contextvars
import threading
from concurrent import futures

import grpc
import pytest
from grpc import experimental

from philote_fast import _core
from philote_fast.transport.credentials import (
    CallCredentialsError,
    call_plugins,
    channel_security,
    plugin_metadata,
    server_config,
    ssl_server_credentials,
)

from . import certificates

PATIENCE = 30
CALLED = {"secure": True, "authority": "host:5", "path": "/a.Service/Method"}


@pytest.fixture(scope="module")
def ca():
    return certificates.authority()


@pytest.fixture(scope="module")
def localhost(ca):
    return certificates.issued(ca, "server", dns=["localhost"])


class Plugin(grpc.AuthMetadataPlugin):
    """Answers as ``answer`` does; remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.contexts = []

    def __call__(self, context, callback):
        self.contexts.append(context)
        self.answer(callback)


def metadata_of(*answers, **called):
    plugins = [grpc.metadata_call_credentials(Plugin(answer)) for answer in answers]
    together = plugins[0] if len(plugins) == 1 else grpc.composite_call_credentials(*plugins)
    return plugin_metadata(call_plugins(together), **{**CALLED, **called})


def test_credentials_of_a_channel(ca, localhost):
    for arguments in [(), (ca.chain,), (ca.chain, localhost.key, localhost.chain)]:
        security = channel_security(grpc.ssl_channel_credentials(*arguments))
        assert isinstance(security.tls, _core.TlsClientConfig)
        assert security.plugins == ()
    security = channel_security(grpc.ssl_channel_credentials(ca.chain, b"", b""))
    assert isinstance(security.tls, _core.TlsClientConfig)


def test_what_is_wrong_with_a_channels_credentials_is_named(ca, localhost):
    other = certificates.issued(ca, "other")
    for arguments, text in [
        ((b"junk",), "the root certificates: no certificate"),
        ((ca.chain, localhost.key), "are needed together"),
        ((ca.chain, None, localhost.chain), "are needed together"),
        ((ca.chain, b"junk", localhost.chain), "the private key: no key"),
        ((ca.chain, other.key, localhost.chain), "is not the key of the first certificate"),
    ]:
        with pytest.raises(ValueError, match=text):
            channel_security(grpc.ssl_channel_credentials(*arguments))


def test_default_roots_are_those_of_the_environment(monkeypatch, tmp_path, ca):
    path = tmp_path / "roots.pem"
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(path))
    with pytest.raises(ValueError, match="GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"):
        channel_security(grpc.ssl_channel_credentials())
    path.write_bytes(b"junk")
    with pytest.raises(ValueError, match="root certificates"):
        channel_security(grpc.ssl_channel_credentials())
    path.write_bytes(ca.chain)
    channel_security(grpc.ssl_channel_credentials())
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "")
    channel_security(grpc.ssl_channel_credentials())


def test_channels_without_tls_and_of_other_kinds():
    assert channel_security(experimental.insecure_channel_credentials()) == (None, ())
    for credentials in [
        grpc.local_channel_credentials(),
        grpc.alts_channel_credentials(),
        object(),
    ]:
        with pytest.raises(ValueError, match=r"grpc\.ssl_channel_credentials"):
            channel_security(credentials)


def test_call_credentials_of_a_channel_come_first_in_their_order():
    tokens = [grpc.access_token_call_credentials(each) for each in "abc"]
    composed = grpc.composite_channel_credentials(
        grpc.composite_channel_credentials(grpc.ssl_channel_credentials(), tokens[0]), *tokens[1:]
    )
    security = channel_security(composed)
    assert security.tls is not None
    metadata = plugin_metadata(security.plugins, **CALLED)
    assert metadata == tuple(("authorization", f"Bearer {each}") for each in "abc")


def test_call_credentials():
    assert call_plugins(None) == ()
    assert plugin_metadata((), secure=False, authority="", path="") == ()
    metadata = metadata_of(
        lambda callback: callback((("a", "b"),), None),
        lambda callback: callback([("c-bin", b"\0")], None),
        lambda callback: callback(None, None),
    )
    assert metadata == (("a", "b"), ("c-bin", b"\0"))
    with pytest.raises(ValueError, match="metadata plugins, not object"):
        call_plugins(object())


def test_a_plugin_is_told_what_is_called():
    plugin = Plugin(lambda callback: callback((), None))
    plugins = call_plugins(grpc.metadata_call_credentials(plugin))
    for authority in ["host:5", "host:443", "host"]:
        plugin_metadata(plugins, **{**CALLED, "authority": authority})
    urls = [context.service_url for context in plugin.contexts]
    assert urls == ["https://host:5/a.Service", "https://host/a.Service", "https://host/a.Service"]
    assert {context.method_name for context in plugin.contexts} == {"Method"}


def test_a_plugin_may_answer_from_another_thread_and_sees_its_variables():
    variable = contextvars.ContextVar("variable", default="unset")
    seen = []

    def answer(callback):
        seen.append(variable.get())
        threading.Thread(target=callback, args=((("a", "b"),), None)).start()

    token = variable.set("set")
    plugins = call_plugins(grpc.metadata_call_credentials(Plugin(answer)))
    variable.reset(token)
    for _ in range(2):
        assert plugin_metadata(plugins, timeout=PATIENCE, **CALLED) == (("a", "b"),)
    assert seen == ["set", "set"]


def failing(callback):
    raise KeyError("boom")


@pytest.mark.parametrize(
    ("answer", "code", "details"),
    [
        (
            lambda callback: callback(None, ValueError("no")),
            grpc.StatusCode.UNAVAILABLE,
            "Getting metadata from plugin failed with error: no",
        ),
        (
            failing,
            grpc.StatusCode.UNAVAILABLE,
            "Getting metadata from plugin failed with error: 'boom'",
        ),
        (lambda callback: callback((("A", "b"),), None), grpc.StatusCode.UNAVAILABLE, None),
        (lambda callback: callback((("a", "é"),), None), grpc.StatusCode.UNAVAILABLE, None),
        (lambda callback: callback((("a", b"\n"),), None), grpc.StatusCode.UNAVAILABLE, None),
        (lambda callback: callback((("a", 1),), None), grpc.StatusCode.UNAVAILABLE, None),
        (lambda callback: None, grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"),
    ],
)
def test_a_plugin_that_fails_ends_the_call(answer, code, details):
    with pytest.raises(CallCredentialsError) as caught:
        metadata_of(answer, timeout=0.05)
    assert caught.value.code is code
    assert caught.value.details == (details or "Illegal metadata")


def test_without_tls_no_plugin_is_asked():
    def answer(callback):
        raise AssertionError("what it gives would be sent in the clear")

    with pytest.raises(CallCredentialsError) as caught:
        metadata_of(answer, secure=False)
    assert caught.value.code is grpc.StatusCode.UNAUTHENTICATED
    assert "sufficient security level" in caught.value.details


def test_credentials_of_a_server_serve_grpcios_server_too(ca, localhost):
    credentials = ssl_server_credentials([(localhost.key, localhost.chain)])
    assert isinstance(credentials, grpc.ServerCredentials)
    assert isinstance(server_config(credentials), _core.TlsServerConfig)
    echo = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_registered_method_handlers("a.Service", {"Method": echo})
    port = server.add_secure_port("localhost:0", credentials)
    server.start()
    trusting = grpc.ssl_channel_credentials(ca.chain)
    with grpc.secure_channel(f"localhost:{port}", trusting) as channel:
        assert channel.unary_unary("/a.Service/Method")(b"hello", timeout=PATIENCE) == b"hello"
    server.stop(None).wait(PATIENCE)


def test_what_is_wrong_with_a_servers_credentials_is_named(ca, localhost):
    pair = (localhost.key, localhost.chain)
    with pytest.raises(ValueError, match="At least one private key-certificate chain pair"):
        ssl_server_credentials([])
    with pytest.raises(ValueError, match="Illegal to require client auth"):
        ssl_server_credentials([pair], None, True)
    server_config(ssl_server_credentials([pair], ca.chain, True))
    for arguments, text in [
        (([(b"junk", localhost.chain)],), "the private key: no key"),
        (([(localhost.key, b"junk")],), "the certificate chain: no certificate"),
        (([pair, (localhost.key, ca.chain)],), "is not the key of the first certificate"),
        (([pair], b"junk", True), "the root certificates"),
    ]:
        with pytest.raises(ValueError, match=text):
            server_config(ssl_server_credentials(*arguments))


def test_credentials_that_cannot_be_read_are_refused(localhost):
    stock = grpc.ssl_server_credentials([(localhost.key, localhost.chain)])
    for credentials in [stock, object(), None]:
        with pytest.raises(ValueError, match=r"philote_fast\.ssl_server_credentials"):
            server_config(credentials)
