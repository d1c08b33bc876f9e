"""Declarations as stock makes them, with a set in the place of the scan for duplicates."""

from __future__ import annotations

from typing import Any

import philote_mdo.generated.data_pb2 as data
from philote_mdo.utils.validation import (
    PhiloteValidationError,
    validate_name,
    validate_shape,
    validate_units,
)

INPUT = data.VariableType.kInput
OUTPUT = data.VariableType.kOutput
RESIDUAL = data.VariableType.kResidual


def add_input(
    self: Any, name: str, shape: Any = (1,), units: str = "", dynamic_shape: bool = False
) -> None:
    """Declare a continuous input."""
    validate_name(name, "add_input")
    if not dynamic_shape:
        validate_shape(shape, "add_input")
    validate_units(units, "add_input")
    claim(self, name, INPUT, "add_input: input")
    self._var_meta.append(describe(name, INPUT, shape, units, dynamic_shape))


def add_output(
    self: Any, name: str, shape: Any = (1,), units: str = "", dynamic_shape: bool = False
) -> None:
    """Declare a continuous output, and its residual when the discipline is implicit."""
    validate_name(name, "add_output")
    if not dynamic_shape:
        validate_shape(shape, "add_output")
    validate_units(units, "add_output")
    claim(self, name, OUTPUT, "add_output: output")
    self._var_meta.append(describe(name, OUTPUT, shape, units, dynamic_shape))
    if self._is_implicit:
        self._var_meta.append(describe(name, RESIDUAL, shape, units, dynamic_shape))


def clear_data(self: Any) -> None:
    """Forget all metadata, the set of names with it."""
    self._var_meta = []
    self._discrete_var_meta = []
    self._partials_meta = []
    self._peer_names = set()


def claim(self: Any, name: str, kind: int, what: str) -> None:
    """Enter a name into the set, or raise when it is there."""
    try:
        names = self._peer_names
    except AttributeError:
        names = self._peer_names = {(v.name, v.type) for v in self._var_meta}
    before = len(names)
    names.add((name, kind))
    if len(names) == before:
        raise PhiloteValidationError(f"{what} '{name}' is already defined.")


def describe(name: str, kind: int, shape: Any, units: str, dynamic_shape: bool) -> Any:
    """Build the metadata message, field by field as stock does."""
    meta = data.VariableMetaData()
    meta.type = kind
    meta.name = name
    if not dynamic_shape:
        meta.shape.extend(shape)
    meta.units = units
    meta.dynamic_shape = dynamic_shape
    return meta
