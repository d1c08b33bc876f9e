"""grpcio's credentials, as the native transport takes them.

A channel's credentials are those of grpcio itself: they let themselves be read. A server's do not,
so that ``ssl_server_credentials`` here makes some that do, for grpcio's server too.
"""

from __future__ import annotations

import contextvars
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from grpc._cython import cygrpc

from philote_fast import _core

__all__ = [
    "CallCredentialsError",
    "ChannelSecurity",
    "call_plugins",
    "channel_security",
    "plugin_metadata",
    "server_config",
    "ssl_server_credentials",
]

Metadata = tuple[tuple[str, Any], ...]
Plugin = Callable[[str, str, Callable[..., None]], None]

# Where grpcio looks for root certificates before it takes those that come with it.
_ROOTS_VARIABLE = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"

_LEGAL_KEY = re.compile(r"[a-z0-9_.\-]+")
_LEGAL_TEXT = re.compile(rb"[ -~]*")

_PLUGIN_FAILED = "Getting metadata from plugin failed with error: {}"
_ILLEGAL = "Illegal metadata"
_LATE = "Deadline Exceeded"
_INSECURE = (
    "Established channel does not have a sufficient security level to transfer call credential."
)


class ChannelSecurity(NamedTuple):
    """What a channel's credentials come to."""

    #: For the native channel; None without TLS.
    tls: _core.TlsClientConfig | None
    #: Asked for metadata before each call.
    plugins: tuple[Plugin, ...]


class CallCredentialsError(Exception):
    """A call's credentials cannot be had: the call ends with this code and these details."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


def channel_security(credentials: grpc.ChannelCredentials) -> ChannelSecurity:
    """Read the credentials of a channel.

    Parameters
    ----------
    credentials : grpc.ChannelCredentials
        Made by ``grpc.ssl_channel_credentials``, maybe with call credentials added by
        ``grpc.composite_channel_credentials``.

    Returns
    -------
    ChannelSecurity
        What the native channel takes.

    Raises
    ------
    ValueError
        If they are of another kind, or if one of their PEM texts cannot be used.
    """
    inner = getattr(credentials, "_credentials", credentials)
    plugins: tuple[Plugin, ...] = ()
    while isinstance(inner, cygrpc.CompositeChannelCredentials):
        plugins = (*_flat(inner._call_credentialses), *plugins)
        inner = inner._channel_credentials
    if isinstance(inner, cygrpc.InsecureChannelCredentials):
        return ChannelSecurity(None, plugins)
    if not isinstance(inner, cygrpc.SSLChannelCredentials):
        raise ValueError(
            "philote_fast.secure_channel takes the credentials that grpc.ssl_channel_credentials "
            f"makes, not {type(inner).__name__}"
        )
    tls = _core.TlsClientConfig(
        _default_roots() if inner._pem_root_certificates is None else inner._pem_root_certificates,
        # grpcio takes an empty one for none.
        inner._private_key or None,
        inner._certificate_chain or None,
    )
    return ChannelSecurity(tls, plugins)


def _default_roots() -> bytes | None:
    path = os.environ.get(_ROOTS_VARIABLE)
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"the root certificates of {_ROOTS_VARIABLE}: {error}") from error


def call_plugins(credentials: grpc.CallCredentials | None) -> tuple[Plugin, ...]:
    """Read the credentials of a call.

    Parameters
    ----------
    credentials : grpc.CallCredentials or None
        Made by ``grpc.access_token_call_credentials``, ``grpc.metadata_call_credentials`` or
        ``grpc.composite_call_credentials``.

    Returns
    -------
    tuple
        For ``plugin_metadata``.

    Raises
    ------
    ValueError
        If they are of another kind.
    """
    if credentials is None:
        return ()
    return tuple(_flat([getattr(credentials, "_credentials", credentials)]))


def _flat(credentials: Sequence[Any]) -> Iterator[Plugin]:
    for each in credentials:
        if isinstance(each, cygrpc.CompositeCallCredentials):
            yield from _flat(each._call_credentialses)
        elif isinstance(each, cygrpc.MetadataPluginCallCredentials):
            yield each._metadata_plugin
        else:
            raise ValueError(
                "the native transport takes call credentials made of metadata plugins, not "
                f"{type(each).__name__}"
            )


def plugin_metadata(
    plugins: Sequence[Plugin],
    *,
    secure: bool,
    authority: str,
    path: str,
    timeout: float | None = None,
) -> Metadata:
    """Ask the plugins of a channel and a call for the metadata to be sent with the call.

    A plugin that answers from another thread is waited for.

    Parameters
    ----------
    plugins : sequence
        Those of the channel, then those of the call.
    secure : bool
        Whether the channel has TLS. Without it no plugin is asked: what they give is secret.
    authority : str
        How the channel calls the server.
    path : str
        The method: ``/service/method``.
    timeout : float, optional
        How many seconds the call has.

    Returns
    -------
    tuple
        Pairs of a key and a value.

    Raises
    ------
    CallCredentialsError
        If a plugin fails, or does not answer in time, or may not be asked.
    """
    if not plugins:
        return ()
    if not secure:
        raise CallCredentialsError(grpc.StatusCode.UNAUTHENTICATED, _INSECURE)
    deadline = None if timeout is None else time.monotonic() + timeout
    service, _, method = path.rpartition("/")
    url = f"https://{authority.removesuffix(':443')}{service}"
    return tuple(pair for plugin in plugins for pair in _ask(plugin, url, method, deadline))


class _Answer:
    """What a plugin gives, from whichever thread."""

    def __init__(self) -> None:
        self._come = threading.Event()
        self._metadata: Any = None
        self._error: Any = None

    def __call__(self, metadata: Any, code: Any, details: Any) -> None:
        """Take the answer: what grpcio's wrapper of a plugin calls."""
        if code != cygrpc.StatusCode.ok:
            self._error = details.decode(errors="replace") if details else ""
        self._metadata = metadata
        self._come.set()

    def wait(self, deadline: float | None) -> Metadata:
        left = None if deadline is None else max(deadline - time.monotonic(), 0)
        if not self._come.wait(left):
            raise CallCredentialsError(grpc.StatusCode.DEADLINE_EXCEEDED, _LATE)
        if self._error is not None:
            text = _PLUGIN_FAILED.format(self._error)
            raise CallCredentialsError(grpc.StatusCode.UNAVAILABLE, text)
        metadata = tuple(tuple(pair) for pair in self._metadata or ())
        if not all(len(pair) == 2 and _is_legal(*pair) for pair in metadata):
            raise CallCredentialsError(grpc.StatusCode.UNAVAILABLE, _ILLEGAL)
        return metadata


def _ask(plugin: Plugin, url: str, method: str, deadline: float | None) -> Metadata:
    answer = _Answer()
    context = getattr(plugin, "_stored_ctx", None)
    if isinstance(context, contextvars.Context):
        # As grpcio: what was set where the credentials were made. A copy may run on many threads.
        context.copy().run(plugin, url, method, answer)
    else:
        plugin(url, method, answer)
    return answer.wait(deadline)


def _is_legal(key: Any, value: Any) -> bool:
    if not isinstance(key, str) or not _LEGAL_KEY.fullmatch(key):
        return False
    if key.endswith("-bin"):
        return isinstance(value, bytes)
    try:
        data = value.encode("ascii") if isinstance(value, str) else value
    except UnicodeEncodeError:
        return False
    return isinstance(data, bytes) and _LEGAL_TEXT.fullmatch(data) is not None


class _SslServerCredentials(grpc.ServerCredentials):  # type: ignore[misc]
    """grpcio's credentials that remember what they were made of."""

    def __init__(
        self,
        pairs: list[tuple[bytes, bytes]],
        root_certificates: bytes | None,
        require_client_auth: bool,
    ) -> None:
        stock = _stock_ssl_server_credentials(pairs, root_certificates, require_client_auth)
        super().__init__(stock._credentials)
        self._parts = pairs, root_certificates, require_client_auth

    def config(self) -> _core.TlsServerConfig:
        return _core.TlsServerConfig(*self._parts)


# A script may be run with the function below in the place of grpcio's.
_stock_ssl_server_credentials = grpc.ssl_server_credentials


def ssl_server_credentials(
    private_key_certificate_chain_pairs: Sequence[tuple[bytes, bytes]],
    root_certificates: bytes | None = None,
    require_client_auth: bool = False,
) -> grpc.ServerCredentials:
    """Make credentials for a server with TLS: as ``grpc.ssl_server_credentials``, for both servers.

    Parameters
    ----------
    private_key_certificate_chain_pairs : sequence
        Pairs of a private key and a certificate chain, in PEM.
    root_certificates : bytes, optional
        Whose certificates clients may show, in PEM.
    require_client_auth : bool, optional
        Whether clients must show one; that needs root certificates.

    Returns
    -------
    grpc.ServerCredentials
        For ``add_secure_port``, of the native server or grpcio's.

    Raises
    ------
    ValueError
        If there is no pair, or if clients must show certificates that nobody could check.
    """
    pairs = [(key, chain) for key, chain in private_key_certificate_chain_pairs]
    return _SslServerCredentials(pairs, root_certificates, require_client_auth)


def server_config(credentials: grpc.ServerCredentials) -> _core.TlsServerConfig:
    """Read the credentials of a server.

    Parameters
    ----------
    credentials : grpc.ServerCredentials
        Made by ``ssl_server_credentials``.

    Returns
    -------
    TlsServerConfig
        For the native server.

    Raises
    ------
    ValueError
        If they were made by something else, or if one of their PEM texts cannot be used.
    """
    if isinstance(credentials, _SslServerCredentials):
        return credentials.config()
    raise ValueError(
        "grpcio's server credentials cannot be read: make them with "
        "philote_fast.ssl_server_credentials, which takes the same arguments as "
        f"grpc.ssl_server_credentials (these are {type(credentials).__name__})"
    )
