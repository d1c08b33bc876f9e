"""The core as the patches use it: whole requests, by slots built once from the metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import philote_mdo.generated.data_pb2 as data
from philote_mdo.general import ExplicitServer

from gains.problems import destination
from gains.subjects.codec import encoded
from gains.subjects.scalars import encode_peer, variables
from philote_fast import _core
from philote_fast.bench.disciplines import Gradient
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles, same_bits

# No variable here is cut into chunks.
NUM_DOUBLE = 10_000_000


def metadata(inputs: dict[str, Any]) -> list[Any]:
    """Declare inputs."""
    return [
        data.VariableMetaData(name=name, type=data.VariableType.kInput, shape=value.shape)
        for name, value in inputs.items()
    ]


def one_array(size: int) -> dict[str, Any]:
    """Give a request of one array."""
    return {"x": doubles(size)}


def write(
    request: Callable[[int], dict[str, Any]], *, look_up: bool = False
) -> Callable[[int], Subject]:
    """Make subjects that write a request, with the table at hand or looked up as each call does."""

    def subject(size: int) -> Subject:
        inputs = request(size)
        expected = encode_peer(inputs)
        declared = metadata(inputs)
        tables = _core.Tables()
        table = tables.get(declared)

        def write_found() -> Any:
            return table.write_request(inputs, None, None, None, NUM_DOUBLE)

        def write_looked_up() -> Any:
            return tables.get(declared).write_request(inputs, None, None, None, NUM_DOUBLE)

        def check(got: Any) -> None:
            if got != expected:
                raise AssertionError("not the bytes that the protobuf runtime writes")

        return Subject(write_looked_up if look_up else write_found, check, items=len(inputs))

    return subject


def one_buffer(inputs: dict[str, Any]) -> list[bytes]:
    """Encode a request of one array."""
    return [encoded(value) for value in inputs.values()]


def read_into(
    request: Callable[[int], dict[str, Any]],
    encode: Callable[[dict[str, Any]], list[bytes]],
    allocate: Callable[[int], Any],
) -> Callable[[int], Subject]:
    """Make subjects that read a request into arrays that are there already."""

    def subject(size: int) -> Subject:
        inputs = request(size)
        frames = encode(inputs)
        flat = {name: allocate(value.size) for name, value in inputs.items()}

        def run() -> None:
            _core.read_into(frames, flat, None, {}, {})

        def check(_: Any) -> None:
            for name, value in inputs.items():
                same_bits(flat[name], value)
                flat[name].fill(1.0)

        return Subject(run, check, items=len(inputs))

    return subject


def read_fresh(size: int) -> Subject:
    """Read a request of scalars into fresh arrays, the table looked up as each call does."""
    inputs = variables(size)
    frames = encode_peer(inputs)
    declared = metadata(inputs)
    tables = _core.Tables()

    def run() -> Any:
        return tables.get(declared).read_request(frames, NUM_DOUBLE, False)[0]

    return Subject(run, lambda got: check_scalars(got, inputs), items=size)


def read_fresh_stock(size: int) -> Subject:
    """Read a request of scalars into fresh arrays as the server of this flavour does."""
    inputs = variables(size)
    frames = encode_peer(inputs)
    discipline = Gradient(size)
    discipline.setup()
    server = ExplicitServer(discipline=discipline)

    def run() -> Any:
        got: dict[str, Any] = {}
        flat: dict[str, Any] = {}
        server.preallocate_inputs(got, flat)
        server.process_inputs(map(data.VariableMessage.FromString, frames), flat)
        return got

    return Subject(run, lambda got: check_scalars(got, inputs), items=size)


def check_scalars(got: Any, inputs: dict[str, Any]) -> None:
    """Raise unless all scalars arrived."""
    if list(got) != list(inputs):
        raise AssertionError("not the inputs that were declared")
    same_bits(np.concatenate(list(got.values())), np.concatenate(list(inputs.values())))


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "encode.table": write(one_array),
    "decode.table": read_into(one_array, one_buffer, destination),
    "scalars.encode.table": write(variables),
    "scalars.encode.call": write(variables, look_up=True),
    "scalars.decode.table": read_into(variables, encode_peer, np.zeros),
    "scalars.fresh.table": read_fresh,
    "scalars.fresh.stock": read_fresh_stock,
}
