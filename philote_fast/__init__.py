"""Makes philote-mdo fast: import it beside ``philote_mdo`` and nothing else changes."""

from philote_fast import _core, wire
from philote_fast._core import __version__
from philote_fast.errors import MalformedMessageError, PhiloteValidationError, WrongDtypeError
from philote_fast.patches import install, installed, status, uninstall
from philote_fast.patches.installer import install_at_import

__all__ = [
    "MalformedMessageError",
    "WrongDtypeError",
    "__version__",
    "install",
    "installed",
    "status",
    "uninstall",
    "wire",
]

_core.use_exceptions(PhiloteValidationError, MalformedMessageError, WrongDtypeError)
install_at_import()
