"""Makes philote-mdo fast: import it beside ``philote_mdo`` and nothing else changes."""

from philote_fast._core import __version__

__all__ = ["__version__"]
