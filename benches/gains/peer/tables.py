"""Metadata looked up by name: one pass over it in the place of a scan for each variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data
from philote_mdo.utils import PairDict

from gains.peer.codec import Doubles

CHUNK = 100_000
SCALAR = (1,)


def zeros(metadata: Any, kind: int) -> tuple[dict[str, Doubles], dict[str, Doubles]]:
    """Allocate the variables of one kind, and a flat view of each."""
    arrays = {meta.name: np.zeros(meta.shape) for meta in metadata if meta.type == kind}
    return arrays, {name: array.reshape(-1) for name, array in arrays.items()}


def partials(metadata: Any, pairs: Any) -> Any:
    """Allocate the declared partials."""
    shapes: dict[str, tuple[int, ...]] = {}
    for meta in metadata:
        # Stock takes the first that has the name.
        if meta.name not in shapes:
            shapes[meta.name] = tuple(meta.shape)
    jac = PairDict()
    # PairDict checks each key; keys made here are pairs.
    put = super(PairDict, jac).__setitem__
    for pair in pairs:
        key = (pair.name, pair.subname)
        put(key, np.zeros(partial_shape(shapes[key[0]], shapes[key[1]])))
    return jac


def partial_shape(function: tuple[int, ...], variable: tuple[int, ...]) -> tuple[int, ...]:
    """Give the shape of a partial, with scalars left out as in stock."""
    if function == SCALAR:
        return variable
    return function if variable == SCALAR else function + variable


def apply_shapes(metadata: Any, shapes: Any, require_dynamic: bool) -> str | None:
    """Set the shapes of dynamic variables; say which one cannot have it.

    An output's residual takes its shape too. Reading is lazy, as in stock: what came before
    a bad message is applied.
    """
    index = {(var.name, var.type): var for var in reversed(metadata)}
    for meta in shapes:
        var = index.get((meta.name, meta.type))
        if require_dynamic:
            if var is None:
                return f"SetVariableShapes: variable '{meta.name}' not found."
            if not var.dynamic_shape:
                return f"Variable '{meta.name}' does not allow dynamic shapes."
        if var is not None:
            var.shape[:] = meta.shape
        if meta.type == data.VariableType.kOutput:
            residual = index.get((meta.name, data.VariableType.kResidual))
            if residual is not None and (residual.dynamic_shape or not require_dynamic):
                residual.shape[:] = meta.shape
    return None
