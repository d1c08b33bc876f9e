"""Work on metadata: declaring variables, allocating partials, applying shapes, cutting chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data
import philote_mdo.utils as utils
from philote_mdo.general import ExplicitClient, ExplicitDiscipline, ExplicitServer

from gains.problems import Dynamic
from philote_fast.bench.disciplines import Gradient
from philote_fast.bench.timing import Subject

CHUNK = 1000


class Channel:
    """What a client asks of a channel when it is made; it carries no call."""

    def _method(self, *_: Any, **__: Any) -> Callable[..., None]:
        return lambda *_, **__: None

    unary_unary = unary_stream = stream_unary = stream_stream = _method


def declaring(**options: Any) -> Callable[[int], Subject]:
    """Make subjects that declare inputs and as many outputs; time is for each declaration."""

    def subject(size: int) -> Subject:
        names = [f"variable_{index}" for index in range(size)]
        shape, units = options.get("shape", (1,)), options.get("units", "")
        expected = [
            data.VariableMetaData(
                type=kind, name=name, shape=shape, units=units
            ).SerializeToString()
            for kind in (data.VariableType.kInput, data.VariableType.kOutput)
            for name in names
        ]

        def run() -> Any:
            discipline = ExplicitDiscipline()
            for name in names:
                discipline.add_input(name, **options)
            for name in names:
                discipline.add_output(name, **options)
            return discipline

        def check(discipline: Any) -> None:
            if [meta.SerializeToString() for meta in discipline._var_meta] != expected:
                raise AssertionError("not the metadata that stock makes")

        return Subject(run, check, items=2 * size)

    return subject


def preallocate_partials(size: int) -> Subject:
    """Allocate `size` declared partials; time is for each."""
    discipline = Gradient(size)
    discipline.setup()
    discipline.setup_partials()
    server = ExplicitServer(discipline=discipline)
    keys = [("f", f"x{index}") for index in range(size)]

    def check(jac: Any) -> None:
        if type(jac) is not utils.PairDict or list(jac) != keys:
            raise AssertionError("not the partials that were declared")
        for value in jac.values():
            if value.shape != (1,) or value.dtype != np.float64 or value[0] != 0.0:
                raise AssertionError(f"not a fresh scalar partial: {value!r}")

    return Subject(server.preallocate_partials, check, items=size)


def shape_messages(size: int) -> list[Any]:
    """Give shapes for the variables of the dynamic problem."""
    return [
        data.VariableMetaData(name=f"x{index}", type=data.kInput, shape=(2, 1 + index % 7))
        for index in range(size)
    ]


def check_shapes(metadata: Any, size: int) -> None:
    """Raise unless the metadata has the shapes that were sent; then clear them."""
    for index, meta in enumerate(metadata[:size]):
        if meta.name != f"x{index}" or tuple(meta.shape) != (2, 1 + index % 7):
            raise AssertionError(f"x{index} has not the shape that was sent: {meta}")
        meta.shape[:] = []


def apply_shapes_server(size: int) -> Subject:
    """Apply `size` shapes in the server's handler, without gRPC; time is for each."""
    discipline = Dynamic(size)
    discipline.setup()
    server = ExplicitServer(discipline=discipline)
    messages = shape_messages(size)
    return Subject(
        lambda: server.SetVariableShapes(iter(messages), None),
        lambda _: check_shapes(discipline._var_meta, size),
        items=size,
    )


def apply_shapes_client(size: int) -> Subject:
    """Apply `size` shapes in the client, its stub doing nothing; time is for each."""
    discipline = Dynamic(size)
    discipline.setup()
    client = ExplicitClient(Channel())
    client._var_meta = list(discipline._var_meta)
    messages = shape_messages(size)
    return Subject(
        lambda: client.send_variable_shapes(messages),
        lambda _: check_shapes(client._var_meta, size),
        items=size,
    )


def chunk_indices(size: int) -> Subject:
    """Cut `size` scalars into chunks, one call for each and in stock's own loop."""

    def run() -> int:
        ends = 0
        for _ in range(size):
            for _begin, end in utils.get_chunk_indices(1, CHUNK):
                ends += end
        return ends

    def check(ends: int) -> None:
        pairs = list(utils.get_chunk_indices(1, CHUNK))
        if ends != size or pairs != [(0, 1)]:
            raise AssertionError(f"not one chunk for each scalar: {ends}, {pairs!r:.200}")

    return Subject(run, check, items=size)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "declare": declaring(shape=(3,), units="m"),
    "declare.scalars": declaring(),
    "preallocate_partials": preallocate_partials,
    "apply_shapes.server": apply_shapes_server,
    "apply_shapes.client": apply_shapes_client,
    "chunk_indices": chunk_indices,
}
