"""Patches of ``philote_mdo.utils.helper`` and of the conversions of discrete values."""

from __future__ import annotations

from typing import Any

from philote_mdo.general import discipline_server
from philote_mdo.utils import helper

from philote_fast._core import patched_chunk_indices
from philote_fast.patches.registry import Group
from philote_fast.wire import python_to_value as _python_to_value
from philote_fast.wire import value_to_python as _value_to_python

GROUP = Group("utils", "made in Rust")


# The function of the extension itself: a frame of Python around it would cost as much as it does.
GROUP.replaces(helper, "get_chunk_indices", "(num_values, chunk_size)")(patched_chunk_indices)


@GROUP.replaces(discipline_server, "_value_to_python", "(value)")
def value_to_python(value: Any) -> Any:
    """Convert a ``google.protobuf.Value`` to a Python object."""
    return _value_to_python(value)


@GROUP.replaces(discipline_server, "_python_to_value", "(obj)")
def python_to_value(obj: Any) -> Any:
    """Convert a Python object to a ``google.protobuf.Value``."""
    return _python_to_value(obj)
