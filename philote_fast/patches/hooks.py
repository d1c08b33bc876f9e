"""Whether the module functions that stock calls on its way are still philote_mdo's, or ours."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import philote_mdo.general.discipline_client as discipline_client
import philote_mdo.general.discipline_server as discipline_server
import philote_mdo.general.explicit_client as explicit_client
import philote_mdo.general.explicit_server as explicit_server
import philote_mdo.general.implicit_client as implicit_client
import philote_mdo.general.implicit_server as implicit_server
from philote_mdo import utils

from philote_fast._core import Places
from philote_fast.patches.registry import MISSING, NAMES

#: Each name that stock's compute code looks up at call time, with the namespace it looks in.
_PLACES: tuple[tuple[dict[str, Any], str], ...] = (
    (vars(utils), "get_chunk_indices"),
    (vars(utils), "get_flattened_view"),
    (vars(utils), "PairDict"),
    (vars(discipline_client), "_python_to_value"),
    (vars(discipline_client), "_value_to_python"),
    (vars(discipline_client), "validate_is_dict"),
    (vars(discipline_client), "validate_numpy_array"),
    (vars(explicit_client), "validate_is_dict"),
    (vars(implicit_client), "validate_is_dict"),
    (vars(discipline_server), "get_flattened_view"),
    (vars(discipline_server), "PairDict"),
    (vars(discipline_server), "_python_to_value"),
    (vars(discipline_server), "_value_to_python"),
    (vars(discipline_server), "validate_shape"),
    (vars(explicit_server), "get_chunk_indices"),
    (vars(explicit_server), "_python_to_value"),
    (vars(implicit_server), "get_chunk_indices"),
)


def stock_in(namespace: dict[str, Any], name: str) -> Any:
    """Return philote_mdo's own, or ``MISSING`` where a double is there before this is imported."""
    found = namespace.get(name)
    is_code = isinstance(found, (types.FunctionType, type))
    own = is_code and str(found.__module__).startswith("philote_mdo.")
    return found if own else MISSING


def places(names: Sequence[tuple[dict[str, Any], str]]) -> Places:
    """Make what says whether places hold philote_mdo's own functions, or our replacements.

    Parameters
    ----------
    names : sequence of tuple
        Namespaces, and a name in each.
    """
    return Places(names, [stock_in(*place) for place in names], NAMES)


#: Says whether nobody has put a test double in the place of a function that stock would call. Where
#: it says no, stock's own code must run, so that the double is called.
hooks_untouched = places(_PLACES).untouched
