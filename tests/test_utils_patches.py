"""The patched helpers: chunk indices and the conversions of discrete values."""

import inspect
import types

import numpy as np
import pytest
from google.protobuf import struct_pb2
from philote_mdo import utils
from philote_mdo.general import (
    discipline_client,
    discipline_server,
    explicit_server,
    implicit_server,
)
from philote_mdo.utils import helper

import philote_fast


@pytest.fixture(autouse=True)
def _installed():
    philote_fast.install()


def outcome(function, *args):
    try:
        return [(int(begin), int(end)) for begin, end in function(*args)]
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "args",
    [
        (0, 5), (1, 1000), (1000, 1000), (1001, 1000), (10, 3), (9, 3), (2**40, 2**39),
        (True, 1), (3, True), (np.int64(7), np.int32(2)), (np.uint8(200), np.uint8(100)),
        (-1, 3), (np.int64(-1), 3), (3, 0), (3, -1), ("a", 1), (3.0, 1), (5, None), (None, 5),
        (np.bool_(True), 1), (np.array(3), 1), (5, 2.0), (1,), (1, 2, 3),
    ],
    ids=repr,
)  # fmt: skip
def test_chunk_indices_are_those_of_stock(args):
    stock = inspect.unwrap(utils.get_chunk_indices)
    got = outcome(utils.get_chunk_indices, *args)
    expected = outcome(stock, *args)
    if len(args) == 2:
        assert got == expected
    else:
        assert got[0] is expected[0] is TypeError


def test_chunk_indices_by_keyword_and_as_an_iterator():
    chunks = utils.get_chunk_indices(num_values=5, chunk_size=2)
    assert iter(chunks) is chunks
    assert next(chunks) == (0, 2)
    assert list(chunks) == [(2, 4), (4, 5)]


def test_every_name_that_philote_mdo_binds():
    chunks = helper.get_chunk_indices
    assert chunks is utils.get_chunk_indices
    assert chunks is explicit_server.get_chunk_indices is implicit_server.get_chunk_indices
    to_value = discipline_server._python_to_value
    for module in (discipline_client, explicit_server, implicit_server):
        assert module._python_to_value is to_value
    to_python = discipline_server._value_to_python
    assert discipline_client._value_to_python is to_python
    philote_fast.uninstall()
    assert isinstance(utils.get_chunk_indices, types.FunctionType)
    assert utils.get_chunk_indices is helper.get_chunk_indices is not chunks
    assert explicit_server._python_to_value is inspect.unwrap(to_value)
    assert discipline_client._value_to_python is inspect.unwrap(to_python)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, 3, -2.5, "text", "", [1, "a", [None]], {"a": {"b": [1.5]}}, (1, 2)],
    ids=repr,
)
def test_ordinary_values_convert_as_with_stock(value):
    to_value, to_python = discipline_server._python_to_value, discipline_server._value_to_python
    message = to_value(value)
    assert type(message) is struct_pb2.Value
    assert message == inspect.unwrap(to_value)(value)
    got, expected = to_python(message), inspect.unwrap(to_python)(message)
    assert got == expected
    assert type(got) is type(expected)
