"""Whether the module functions that stock calls on its way are still philote_mdo's, or ours."""

from __future__ import annotations

from typing import Any

import philote_mdo.general.discipline_client as discipline_client
import philote_mdo.general.discipline_server as discipline_server
import philote_mdo.general.explicit_server as explicit_server
import philote_mdo.general.implicit_server as implicit_server
from philote_mdo import utils

from philote_fast.patches.registry import is_replacement

#: Each name that stock's compute code looks up at call time, with the namespace it looks in.
_PLACES: tuple[tuple[dict[str, Any], str], ...] = (
    (vars(utils), "get_chunk_indices"),
    (vars(utils), "get_flattened_view"),
    (vars(utils), "PairDict"),
    (vars(discipline_client), "_python_to_value"),
    (vars(discipline_client), "_value_to_python"),
    (vars(discipline_server), "get_flattened_view"),
    (vars(discipline_server), "PairDict"),
    (vars(discipline_server), "_python_to_value"),
    (vars(discipline_server), "_value_to_python"),
    (vars(explicit_server), "get_chunk_indices"),
    (vars(explicit_server), "_python_to_value"),
    (vars(implicit_server), "get_chunk_indices"),
)
_STOCK = tuple(namespace[name] for namespace, name in _PLACES)


def hooks_untouched() -> bool:
    """Say whether nobody has put a test double in the place of a function that stock would call.

    Returns
    -------
    bool
        False where stock's own code must run, so that the double is called.
    """
    for (namespace, name), stock in zip(_PLACES, _STOCK, strict=True):
        current = namespace.get(name)
        if current is not stock and not is_replacement(current):
            return False
    return True
