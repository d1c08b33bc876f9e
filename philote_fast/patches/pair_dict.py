"""Patches of ``philote_mdo.utils.pair_dict``: asked for each partial that a discipline sets."""

from __future__ import annotations

from typing import Any

from philote_mdo.utils.pair_dict import PairDict

from philote_fast.patches.registry import Group

GROUP = Group("pair dict", "the usual key is taken as it is")

_set = GROUP.stock(PairDict, "__setitem__")
_get = GROUP.stock(PairDict, "__getitem__")
_dict_set = dict.__setitem__
_dict_get = dict.__getitem__
_validate_key = PairDict._validate_key


@GROUP.replaces(PairDict, "__setitem__", "(self, keys, value)")
def set_item(self: Any, keys: Any, value: Any) -> None:
    """Set a value, as stock does where class and key are not the usual ones."""
    if (
        type(keys) is tuple
        and len(keys) == 2
        and type(self) is PairDict
        and self._validate_key is _validate_key
    ):
        _dict_set(self, keys, value)
    else:
        _set(self, keys, value)


@GROUP.replaces(PairDict, "__getitem__", "(self, keys)")
def get_item(self: Any, keys: Any) -> Any:
    """Get a value, as stock does where class and key are not the usual ones."""
    if (
        type(keys) is tuple
        and len(keys) == 2
        and type(self) is PairDict
        and self._validate_key is _validate_key
    ):
        return _dict_get(self, keys)
    return _get(self, keys)
