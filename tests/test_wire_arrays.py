"""The data of the runtime's own Array messages, set and read as a blob."""

import struct
import sys
import threading

import numpy as np
import pytest
from google.protobuf.struct_pb2 import ListValue
from philote_mdo.generated import data_pb2
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import wire

SIZES = [0, 1, 2, 15, 16, 1000, 50_000]


def message(values=(), **fields):
    return data_pb2.Array(data=values, **fields)


@pytest.mark.parametrize("size", SIZES)
def test_set_replaces_the_values(size):
    values = np.random.default_rng(size).standard_normal(size)
    for former in ([], [1.0, 2.0, 3.0]):
        array = message(former, name="x", start=3, end=4, type=5, subname="y")
        wire.set_array_data(array, values)
        want = message(values.tolist(), name="x", start=3, end=4, type=5, subname="y")
        assert array == want
        assert array.SerializeToString() == want.SerializeToString()


def test_set_inside_a_variable_message():
    outer = data_pb2.VariableMessage(continuous=message([1.0], name="x"))
    wire.set_array_data(outer.continuous, [4, 5])
    assert outer == data_pb2.VariableMessage(continuous=message([4.0, 5.0], name="x"))
    empty = data_pb2.VariableMessage()
    wire.set_array_data(empty.continuous, [6])
    assert empty.continuous.data == [6.0]


def test_a_container_held_by_the_caller_sees_the_new_values():
    array = message([1.0, 2.0])
    data = array.data
    wire.set_array_data(array, [3.0])
    assert list(data) == [3.0]


def test_set_again_and_again_does_not_grow_the_message():
    array = message()
    values = np.ones(10_000)
    for _ in range(50):
        wire.set_array_data(array, values)
    assert len(array.data) == 10_000


@pytest.mark.parametrize("size", SIZES)
def test_get_gives_a_fresh_array(size):
    values = np.random.default_rng(size).standard_normal(size)
    array = message(values.tolist(), name="x" * 5, start=1)
    data = wire.get_array_data(array)
    np.testing.assert_array_equal(data, values)
    assert (data.dtype, data.shape) == (np.float64, (size,))
    assert data.flags.owndata
    assert data.flags.writeable
    assert data.flags.aligned
    data[:] = 0
    assert list(array.data) == values.tolist()


def test_bits_are_kept():
    raw = struct.pack("<4Q", 0x7FF8DEADBEEF0001, 0x8000000000000000, 1, 0xFFF0000000000000)
    array = message()
    wire.set_array_data(array, np.frombuffer(raw))
    assert wire.get_array_data(array).tobytes() == raw


def targets(size):
    """Writable float64 arrays of `size` elements, a multiple of 6, in many layouts."""
    buffer = np.zeros(8 * size + 1, "B")
    return {
        "plain": np.zeros(size), "matrix": np.zeros((size // 6, 6)),
        "cube": np.zeros((2, size // 6, 3)),
        "fortran": np.zeros((size // 6, 6), order="F"), "strided": np.zeros(size * 3)[::3],
        "reversed": np.zeros(size)[::-1], "column": np.zeros((size, 2))[:, 1],
        "unaligned": buffer[1:].view("f8"), "big-endian": np.zeros(size, ">f8"),
        "transposed": np.zeros((3, 2, size // 6)).transpose(2, 0, 1),
    }  # fmt: skip


@pytest.mark.parametrize("size", [6, 60_000])
def test_read_into_any_layout(size):
    values = np.random.default_rng(1).standard_normal(size)
    array = message(values.tolist(), name="x")
    for label, target in targets(size).items():
        wire.read_array_into(array, target)
        np.testing.assert_array_equal(target.ravel(), values, label)


def test_read_into_small_ones():
    scalar = np.zeros(())
    wire.read_array_into(message([5.0]), scalar)
    assert scalar == 5.0
    wire.read_array_into(message(), np.zeros(0))
    wire.read_array_into(message(), np.zeros((3, 0))[:, ::-1])


def test_read_into_only_touches_its_place():
    whole = np.full(10, -1.0)
    wire.read_array_into(message([1.0, 2.0]), whole[3:5])
    assert whole.tolist() == [-1, -1, -1, 1, 2, -1, -1, -1, -1, -1]


def read_only(size):
    array = np.zeros(size)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (np.zeros(3), "2 values came for an array of 3"),
        (np.zeros((2, 2)).T, "2 values came for an array of 4"),
        (np.zeros(0), "2 values came for an array of 0"),
        (np.zeros(1), "2 values came for an array of 1"),
        (np.zeros(2, "f4"), "expected a float64 array, got one of float32"),
        (np.zeros(2, "i8"), "int64"),
        (read_only(2), "read-only"),
        (np.broadcast_to(np.zeros(1), (2,)), "read-only"),
        ([0.0, 0.0], "expected a numpy ndarray, got a list"),
        (None, "expected a numpy ndarray"),
    ],
)
def test_read_into_the_wrong_place(target, words):
    with pytest.raises(PhiloteValidationError, match=f"variable 'wing'.*{words}"):
        wire.read_array_into(message([1.0, 2.0], name="wing"), target)
    if isinstance(target, np.ndarray):
        assert not target.any()


def test_only_array_messages():
    for wrong in (
        data_pb2.VariableMessage(),
        ListValue(),
        data_pb2.DiscreteVariable(),
        None,
        b"",
        object(),
    ):
        for call in (
            lambda m: wire.set_array_data(m, [1.0]),
            wire.get_array_data,
            lambda m: wire.read_array_into(m, np.zeros(1)),
        ):
            with pytest.raises(TypeError, match=r"expected a philote\.Array message"):
                call(wrong)


def test_values_that_cannot_be_sent_leave_the_message_alone():
    array = message([1.0], name="wing")
    for values, words in ((["a"], "dtype <U1"), ([1, None], "element 1"), ([1j], "complex step")):
        with pytest.raises(TypeError, match=words) as caught:
            wire.set_array_data(array, values)
        assert "variable 'wing'" in str(caught.value)
    assert list(array.data) == [1.0]


def test_unknown_fields_stay():
    array = data_pb2.Array.FromString(b"\x4a\x01z" + message([1.0], name="x").SerializeToString())
    wire.set_array_data(array, [2.0])
    assert array.SerializeToString().endswith(b"\x4a\x01z")
    assert wire.get_array_data(array).tolist() == [2.0]


def test_references_balance():
    array, values, target = message([1.0]), np.ones(3), np.zeros(3)
    watched = [array, values, target]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(100):
        wire.set_array_data(array, values)
        wire.get_array_data(array)
        wire.read_array_into(array, target)
    assert [sys.getrefcount(item) for item in watched] == before


def test_many_threads_read_one_message():
    values = np.arange(100_000.0)
    array = message(values.tolist())
    wrong = []

    def work():
        target = np.zeros_like(values)
        for _ in range(5):
            target[:] = 0
            wire.read_array_into(array, target)
            if not np.array_equal(target, values) or not np.array_equal(
                wire.get_array_data(array), values
            ):
                wrong.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
