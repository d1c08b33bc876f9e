"""A variable that is not sent is zero, whatever the memory of its array held before."""

import numpy as np
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PairDict, PhiloteValidationError

from philote_fast._core import Tables

from .made import array, output, serialized

# From one value, in NumPy's own cache, to what the system hands out by pages.
SIZES = [1, 7, 1000, 100_000]


def table(size):
    declared = [
        data.VariableMetaData(type=kind, name=name, shape=[size])
        for kind in (data.kInput, data.kOutput, data.kResidual)
        for name in "ab"
    ]
    pairs = [data.PartialsMetaData(name="a", subname=name) for name in "ab"]
    return Tables().get(declared, pairs)


def dirty(size):
    """Fill memory of that size, and give it back."""
    for _ in range(4):
        arrays = [np.full(size, np.nan) for _ in range(8)]
        del arrays


@pytest.mark.parametrize("size", SIZES)
def test_what_a_request_does_not_bring(size):
    values = np.arange(1.0, size + 1)
    request = serialized(array("a", values))
    for _ in range(5):
        dirty(size)
        inputs, outputs, *_ = table(size).read_request(request, 100, True)
        assert inputs["a"].tolist() == values.tolist()
        for rest in (inputs["b"], outputs["a"], outputs["b"]):
            assert rest.shape == (size,)
            assert not rest.any()


@pytest.mark.parametrize("size", SIZES)
def test_what_a_reply_does_not_bring(size):
    values = np.arange(1.0, size + 1)
    known = table(size)
    for _ in range(5):
        dirty(size)
        outputs, _ = known.read_outputs(serialized(output("b", values)), 100)
        assert outputs["b"].tolist() == values.tolist()
        assert not outputs["a"].any()
        assert not any(rest.any() for rest in known.read_residuals([], 100).values())


def test_partials_that_do_not_come():
    known = table(300)
    dirty(300 * 300)
    partials = PairDict()
    known.read_partials([], 100, partials)
    assert [partial.shape for partial in partials.values()] == [(300, 300)] * 2
    assert not any(partial.any() for partial in partials.values())


@pytest.mark.parametrize("part", [(0, 3), (4, 7), (2, 5)])
def test_a_part_is_refused_and_nobody_sees_the_rest(part):
    start, stop = part
    message = array("a", np.ones(stop - start), start=start)
    dirty(7)
    with pytest.raises(PhiloteValidationError, match="'a'"):
        table(7).read_request(serialized(message), 100, False)


def test_shapes_without_values_and_without_dimensions():
    declared = [
        data.VariableMetaData(type=data.kOutput, name="none", shape=[3, 0, 2]),
        data.VariableMetaData(type=data.kOutput, name="one", shape=[]),
    ]
    outputs, _ = Tables().get(declared).read_outputs([], 100)
    assert outputs["none"].shape == (3, 0, 2)
    assert (outputs["one"].shape, float(outputs["one"])) == ((), 0.0)
