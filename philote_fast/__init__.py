"""Makes philote-mdo fast: import it beside ``philote_mdo`` and nothing else changes."""

from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import _core
from philote_fast._core import __version__

__all__ = ["__version__"]

_core.use_exceptions(PhiloteValidationError)
