"""Makes philote-mdo fast: import it beside ``philote_mdo`` and nothing else changes."""

try:
    from philote_fast import _core
except ImportError as error:
    raise ImportError(
        f"the compiled part of philote_fast, for this Python, is not in {__path__[0]}: {error}. In "
        "a checkout run `maturin develop`, or leave it to import an installed philote_fast."
    ) from error
from philote_fast import wire
from philote_fast._core import __version__
from philote_fast.counting import stats
from philote_fast.errors import MalformedMessageError, PhiloteValidationError, WrongDtypeError
from philote_fast.patches import install, installed, status, uninstall
from philote_fast.patches.installer import install_at_import
from philote_fast.transport import ssl_channel_credentials, ssl_server_credentials
from philote_fast.transport.channel import insecure_channel, secure_channel
from philote_fast.transport.server import server

__all__ = [
    "MalformedMessageError",
    "WrongDtypeError",
    "__version__",
    "insecure_channel",
    "install",
    "installed",
    "secure_channel",
    "server",
    "ssl_channel_credentials",
    "ssl_server_credentials",
    "stats",
    "status",
    "uninstall",
    "wire",
]

_core.use_exceptions(PhiloteValidationError, MalformedMessageError, WrongDtypeError)
install_at_import()
