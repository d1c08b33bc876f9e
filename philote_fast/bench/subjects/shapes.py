"""Variables of which the client sets the shapes."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data
from philote_mdo.general import ExplicitClient

from philote_fast.bench.subjects.calls import expect, set_up
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles

# The shapes of one call; those of the next are longer by one, so that there is something to do.
_ROWS = 2
_MOST = 4


def shapes(channel: Any, size: int) -> Subject:
    """Set the shapes of `size` inputs and outputs to others than they have, and call."""
    client = set_up(ExplicitClient(channel))
    variants = [_variant(client, size, columns) for columns in range(1, _MOST)]
    turn = cycle(variants)

    def run() -> Any:
        messages, inputs = next(turn)
        client.send_variable_shapes(messages)
        return client.run_compute(inputs)

    def check(found: Any) -> None:
        columns = found["y0"].shape[-1]
        if {value.shape for value in found.values()} != {(_ROWS, columns)}:
            raise AssertionError("not the shapes that were set")
        expect(found, [f"y{index}" for index in range(size)], doubles(size * _ROWS * columns))

    def before() -> None:
        # The first answers of all implementations have the same shapes: they are compared.
        nonlocal turn
        turn = cycle(variants)

    return Subject(run, check, before=before)


def _variant(client: Any, size: int, columns: int) -> tuple[list[Any], dict[str, Any]]:
    """Give the messages and the inputs of a call with so many columns."""
    shape = (_ROWS, columns)
    kinds = (("x", data.VariableType.kInput), ("y", data.VariableType.kOutput))
    messages = [
        client.set_variable_shape(f"{prefix}{index}", shape, kind)
        for prefix, kind in kinds
        for index in range(size)
    ]
    values = doubles(size * _ROWS * columns).reshape(size, *shape)
    return messages, {f"x{index}": np.asarray(values[index]) for index in range(size)}
