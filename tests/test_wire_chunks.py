"""Chunk indices and partial shapes against stock."""

import itertools
import pickle

import numpy as np
import pytest
from philote_mdo.generated import data_pb2
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import wire

from .wire_oracle import stock_module

stock = stock_module("philote_mdo.utils.helper").get_chunk_indices
DisciplineServer = stock_module("philote_mdo.general.discipline_server").DisciplineServer


def pairs(function, *args):
    return [(int(begin), int(end)) for begin, end in function(*args)]


def test_the_reference_is_stock():
    for function in (stock, DisciplineServer.preallocate_partials):
        assert function.__code__.co_filename.endswith(("helper.py", "discipline_server.py"))


def test_small_numbers():
    for num, size in itertools.product(range(30), range(1, 32)):
        assert pairs(wire.get_chunk_indices, num, size) == pairs(stock, num, size)


@pytest.mark.parametrize(
    "args",
    [(250_000, 1000), (99_999, 100_000), (100_000, 100_000), (100_001, 100_000), (5, 2**65), (2**63
    - 1, 2**62),
     (np.int8(100), np.int16(7)), (np.uint64(10), 3), (True, 2), (False, 1), (3, True), (0, 2**70)],
    ids=repr,
)  # fmt: skip
def test_other_numbers(args):
    assert pairs(wire.get_chunk_indices, *args) == pairs(stock, *args)


@pytest.mark.parametrize(
    "args",
    [(-1, 1), (1, 0), (1, -5), (1.0, 1), ("a", 1), (None, 1), (1, None), (1, 2.0), (np.bool_(True),
    1), (1, np.bool_(True)),
     (-(2**70), 1), (1, -(2**70)), (np.float64(3), 1), (np.array(3), 1),
     (np.int64(-2), 1)],
    ids=repr,
)  # fmt: skip
def test_the_errors_are_stocks(args):
    with pytest.raises(PhiloteValidationError) as want:
        stock(*args)
    with pytest.raises(PhiloteValidationError) as got:
        wire.get_chunk_indices(*args)
    assert str(got.value) == str(want.value)


def test_more_values_than_memory_are_refused():
    with pytest.raises(
        PhiloteValidationError, match="num_values must be at most 9223372036854775807"
    ):
        wire.get_chunk_indices(2**63, 1)


def test_a_time_difference_is_no_count():
    # NumPy derives it from its integers, and stock then fails inside NumPy.
    for args in ((np.timedelta64(3, "s"), 1), (3, np.timedelta64(1, "s"))):
        with pytest.raises(PhiloteValidationError, match="integer, got "):
            wire.get_chunk_indices(*args)


def test_nothing_is_made_ahead():
    chunks = wire.get_chunk_indices(2**63 - 1, 1)
    assert list(itertools.islice(chunks, 3)) == [(0, 1), (1, 2), (2, 3)]
    assert next(chunks) == (3, 4)


def test_it_is_an_iterator_as_zip_is():
    for num in (0, 1, 5, 1000):
        chunks = wire.get_chunk_indices(num, 2)
        assert iter(chunks) is chunks
        assert len(list(chunks)) == -(-num // 2)
        assert list(chunks) == []
        with pytest.raises(StopIteration):
            next(chunks)


def test_the_indices_slice_and_pickle():
    for begin, end in wire.get_chunk_indices(5, 3):
        assert np.arange(5)[begin:end].size == end - begin
        assert type(begin) is type(end) is int
        pickle.dumps((begin, end))


def test_keywords_as_in_stock():
    assert list(wire.get_chunk_indices(num_values=3, chunk_size=2)) == [(0, 2), (2, 3)]


SHAPES = [(), (1,), (2,), (1, 1), (2, 3), (1, 2), (2, 1), (0,), (1, 1, 1), (4, 1, 2)]


class Meta:
    """Just enough of a discipline for stock's preallocate_partials."""

    def __init__(self, function, variable):
        self._var_meta = [
            data_pb2.VariableMetaData(name="f", shape=function, type=data_pb2.kOutput),
            data_pb2.VariableMetaData(name="x", shape=variable, type=data_pb2.kInput),
        ]
        self._partials_meta = [data_pb2.PartialsMetaData(name="f", subname="x")]


@pytest.mark.parametrize(("function", "variable"), list(itertools.product(SHAPES, repeat=2)))
def test_partial_shapes(function, variable):
    server = DisciplineServer(discipline=Meta(function, variable))
    want = server.preallocate_partials()["f", "x"].shape
    assert wire.get_partials_shape(function, variable) == want
    metadata = server._discipline._var_meta
    assert wire.get_partials_shape(metadata[0].shape, metadata[1].shape) == want
    assert wire.get_partials_shape(list(function), np.array(variable, "i8")) == want


def test_partial_shapes_of_what_is_no_shape():
    for wrong in (3, None, ["a"], [1.5]):
        with pytest.raises(TypeError):
            wire.get_partials_shape(wrong, (1,))
