"""Patches of ``philote_mdo.general.discipline``: declaring variables without a scan.

The names that a metadata list holds are kept in an index beside the discipline, not in it, so that
``vars()``, ``copy.deepcopy`` and ``pickle`` see what they see with stock. An index checks itself
against the list at each call, which is what makes it safe to lose, to share or to find stale.
"""

from __future__ import annotations

import weakref
from typing import Any

from philote_mdo.general import discipline as stock_module
from philote_mdo.general.discipline import Discipline
from philote_mdo.generated import data_pb2
from philote_mdo.utils import validation

from philote_fast._core import Declared
from philote_fast.patches.registry import Group
from philote_fast.patches.watched import Watched

GROUP = Group("declare", "a hash look-up in place of a scan; metadata that is compared in no time")

_CONTINUOUS = "(self, name, shape=(1,), units='', dynamic_shape=False)"
_DISCRETE = "(self, name, default=None)"

_INPUT = int(data_pb2.kInput)
_OUTPUT = int(data_pb2.kOutput)
_DISCRETE_INPUT = int(data_pb2.kDiscreteInput)
_DISCRETE_OUTPUT = int(data_pb2.kDiscreteOutput)

_init = GROUP.stock(Discipline, "__init__")
_clear_data = GROUP.stock(Discipline, "_clear_data")
_stock_add_input = GROUP.stock(Discipline, "add_input")
_stock_add_output = GROUP.stock(Discipline, "add_output")
_stock_add_discrete_input = GROUP.stock(Discipline, "add_discrete_input")
_stock_add_discrete_output = GROUP.stock(Discipline, "add_discrete_output")

# What stock would call. Where a test has put a double in its place, stock's own function runs.
_EXPECTED = {
    "data": data_pb2,
    "validate_name": validation.validate_name,
    "validate_shape": validation.validate_shape,
    "validate_units": validation.validate_units,
}


class _Indexes:
    """The indexes of one discipline's two lists."""

    __slots__ = ("continuous", "discrete", "owner")

    def __init__(self, owner: weakref.ref[Any] | None = None) -> None:
        # Not used again, but a weak reference calls back only while it lives.
        self.owner = owner
        self.continuous = Declared(data_pb2.VariableMetaData, vars(stock_module), _EXPECTED)
        self.discrete = Declared(data_pb2.VariableMetaData, vars(stock_module), _EXPECTED)


# By identity, since a discipline may define __eq__ and not be hashable.
_indexes: dict[int, _Indexes] = {}


def _new_indexes(discipline: Any) -> _Indexes:
    key = id(discipline)

    def forget(_: weakref.ref[Any]) -> None:
        _indexes.pop(key, None)

    try:
        owner = weakref.ref(discipline, forget)
    except TypeError:
        # Some look-alike with __slots__: used once, then forgotten.
        return _Indexes()
    return _indexes.setdefault(key, _Indexes(owner))


def _list_of(discipline: Any, name: str) -> tuple[Any, _Indexes]:
    """Return a list and the indexes, where it is not as usual: the first time, or with no list."""
    return getattr(discipline, name, None), _indexes.get(id(discipline)) or _new_indexes(discipline)


def declared(discipline: Any) -> None:
    """Forget what is known for declaring, since the discipline has begun to serve.

    Parameters
    ----------
    discipline : Discipline
        The discipline; should it declare more, its lists are read once more.
    """
    # The index holds the messages, and messages that somebody holds must be compared.
    _indexes.pop(id(discipline), None)


@GROUP.replaces(Discipline, "__init__", "(self)")
def __init__(self: Any) -> None:  # noqa: N807
    """Start with lists that count."""
    _init(self)
    _watch(self)


@GROUP.replaces(Discipline, "_clear_data", "(self)")
def _clear(self: Any) -> None:
    """Start again with lists that count."""
    _clear_data(self)
    _watch(self)


def _watch(discipline: Any) -> None:
    discipline._var_meta = Watched(discipline._var_meta)
    discipline._partials_meta = Watched(discipline._partials_meta)


@GROUP.replaces(Discipline, "add_input", _CONTINUOUS)
def add_input(
    self: Any, name: Any, shape: Any = (1,), units: Any = "", dynamic_shape: Any = False
) -> None:
    """Define a continuous input."""
    try:
        variables, indexes = self._var_meta, _indexes[id(self)]
    except (AttributeError, KeyError):
        variables, indexes = _list_of(self, "_var_meta")
    if indexes.continuous.add(variables, _INPUT, name, shape, units, dynamic_shape):
        self._var_meta = variables
    else:
        _stock_add_input(self, name, shape, units, dynamic_shape)


@GROUP.replaces(Discipline, "add_output", _CONTINUOUS)
def add_output(
    self: Any, name: Any, shape: Any = (1,), units: Any = "", dynamic_shape: Any = False
) -> None:
    """Define a continuous output and, for an implicit discipline, its residual."""
    try:
        variables, indexes, residual = self._var_meta, _indexes[id(self)], self._is_implicit
    except (AttributeError, KeyError):
        variables, indexes = _list_of(self, "_var_meta")
        residual = getattr(self, "_is_implicit", False)
    if indexes.continuous.add(variables, _OUTPUT, name, shape, units, dynamic_shape, residual):
        self._var_meta = variables
    else:
        _stock_add_output(self, name, shape, units, dynamic_shape)


@GROUP.replaces(Discipline, "add_discrete_input", _DISCRETE)
def add_discrete_input(self: Any, name: Any, default: Any = None) -> None:
    """Define a discrete input."""
    variables, indexes = _list_of(self, "_discrete_var_meta")
    if indexes.discrete.add(variables, _DISCRETE_INPUT, name, (), "", False):
        self._discrete_var_meta = variables
    else:
        _stock_add_discrete_input(self, name, default)


@GROUP.replaces(Discipline, "add_discrete_output", _DISCRETE)
def add_discrete_output(self: Any, name: Any, default: Any = None) -> None:
    """Define a discrete output."""
    variables, indexes = _list_of(self, "_discrete_var_meta")
    if indexes.discrete.add(variables, _DISCRETE_OUTPUT, name, (), "", False):
        self._discrete_var_meta = variables
    else:
        _stock_add_discrete_output(self, name, default)
