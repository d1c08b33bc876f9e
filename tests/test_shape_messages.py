"""The messages that SetVariableShapes brings, read from bytes as the runtime reads them."""

import random

import pytest
from google.protobuf.message import DecodeError
from philote_mdo.generated import data_pb2 as data

from philote_fast import PhiloteValidationError, _core

from . import wire_fuzz as fuzz


class Dynamic:
    dynamic_shape = True


def message(rng):
    fields = [
        lambda: fuzz.number(1, rng.choice([0, 3, fuzz.integer(rng)])),
        lambda: fuzz.sized(3, fuzz.text(rng)),
        lambda: fuzz.sized(4, b"".join(fuzz.varint(rng.randint(1, 300)) for _ in range(3))),
        lambda: fuzz.number(4, rng.randint(1, 300)),
        lambda: fuzz.sized(5, fuzz.text(rng)),
        lambda: fuzz.number(6, rng.randint(0, 2)),
        lambda: fuzz.number(rng.choice([3, 5]), 1),  # another wire type: an unknown field
        lambda: fuzz.unknown(rng),
    ]
    out = b"".join(field() for field in rng.choices(fields, k=rng.randint(0, 6)))
    return out if rng.random() < 0.5 else fuzz.mutated(rng, out)


def by_runtime(buffer):
    try:
        meta = data.VariableMetaData.FromString(buffer)
    except DecodeError:
        return None
    return (meta.type, meta.name), tuple(meta.shape)


@pytest.mark.parametrize("seed", range(4))
def test_the_runtime_agrees(seed):
    rng = random.Random(seed)
    accepted = 0
    for _ in range(2_000):
        buffer = message(rng)
        expected = by_runtime(buffer)
        if expected is None:
            with pytest.raises(PhiloteValidationError, match="cannot be read"):
                _core.read_shapes([buffer], {})
        elif all(extent > 0 for extent in expected[1]):
            key, shape = expected
            assert _core.read_shapes([buffer], {key: Dynamic()}) == {key: shape}, buffer
            accepted += 1
    assert accepted > 500
