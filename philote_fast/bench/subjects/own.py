"""Calls of a user's own discipline, of which only the metadata are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import philote_mdo.generated.data_pb2 as data
from numpy.typing import NDArray
from philote_mdo.general import ExplicitClient, ImplicitClient

from philote_fast.bench.subjects.calls import set_up
from philote_fast.bench.timing import Subject

# What a variable of which the client is to set the shape gets.
_SHAPE = (1,)


class Inspection(NamedTuple):
    """What the metadata of a discipline say."""

    implicit: bool
    inputs: int
    outputs: int
    discrete: int
    partials: int


def inspect(channel: Any) -> Inspection:
    """Set a discipline up, and tell what it has."""
    client = set_up(ExplicitClient(channel))
    kinds = [meta.type for meta in client._var_meta]
    return Inspection(
        data.VariableType.kResidual in kinds,
        kinds.count(data.VariableType.kInput),
        kinds.count(data.VariableType.kOutput),
        len(client._discrete_var_meta),
        len(client._partials_meta),
    )


def _prepared(kind: Callable[[Any], Any], channel: Any) -> Any:
    """Give a client of which every variable has a shape."""
    client = set_up(kind(channel))
    missing = [
        client.set_variable_shape(meta.name, _SHAPE, meta.type)
        for meta in client.get_dynamic_variables()
        if not meta.shape and meta.type != data.VariableType.kResidual
    ]
    if missing:
        client.send_variable_shapes(missing)
    return client


def _ones(client: Any, kind: int) -> dict[str, NDArray[np.float64]]:
    return {meta.name: np.ones(tuple(meta.shape)) for meta in client._var_meta if meta.type == kind}


def _discrete(client: Any) -> dict[str, Any] | None:
    """Give what OpenMDAO sends for discrete inputs that nobody has set: the wire has no default."""
    kind = data.VariableType.kDiscreteInput
    return {meta.name: None for meta in client._discrete_var_meta if meta.type == kind} or None


def _subject(
    kind: Callable[[Any], Any], method: str, with_states: bool = False
) -> Callable[[Any, int], Subject]:
    """Make subjects that call a method of a client with ones."""

    def make(channel: Any, _: int) -> Subject:
        client = _prepared(kind, channel)
        values = [_ones(client, data.VariableType.kInput)]
        if with_states:
            values.append(_ones(client, data.VariableType.kOutput))
        discrete = _discrete(client)
        keywords = {"discrete_inputs": discrete} if discrete else {}
        run = getattr(client, method)
        return Subject(
            lambda: run(*values, **keywords),
            # All clients of a server share its stream options: those of the last one count.
            before=client.send_stream_options,
            repeats=True,
        )

    return make


SUBJECTS = {
    "own compute": _subject(ExplicitClient, "run_compute"),
    "own gradient": _subject(ExplicitClient, "run_compute_partials"),
    "own solve": _subject(ImplicitClient, "run_solve_residuals"),
    "own residuals": _subject(ImplicitClient, "run_compute_residuals", with_states=True),
    "own residual gradients": _subject(ImplicitClient, "run_residual_gradients", with_states=True),
}
