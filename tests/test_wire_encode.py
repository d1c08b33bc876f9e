"""encode_array writes what the protobuf runtime writes, byte for byte."""

import itertools
import struct
import threading

import numpy as np
import pytest
from philote_mdo.generated import data_pb2
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import wire

from .wire_oracle import array_message

NAMES = [
    "",
    "x",
    "wing.twist_cp",
    "é",
    "变量",
    "\U0001f680",
    "nul\0inside",
    "n" * 127,
    "n" * 128,
    "n" * 20000,
]
INDICES = [0, 1, -1, 127, 128, 16383, 16384, 2**31, 2**62, 2**63 - 1, -(2**63), -(2**31)]
SIZES = [0, 1, 2, 15, 16, 17, 2047, 2048, 2049, 50_000]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("subname", NAMES[:5])
def test_names(name, subname):
    got = wire.encode_array(np.array([1.5]), name=name, subname=subname, start=3, end=3, type=5)
    assert got == array_message([1.5], name=name, subname=subname, start=3, end=3, type=5)


def test_indices_and_kinds():
    for start, end in itertools.product(INDICES, repeat=2):
        for kind in (0, 1, 5, 6, 127, 128, 2**31 - 1, -1, -(2**31)):
            fields = {"name": "x", "start": start, "end": end, "type": kind}
            assert wire.encode_array([2.0], **fields) == array_message([2.0], **fields), fields


@pytest.mark.parametrize("size", SIZES)
def test_sizes(size):
    values = np.random.default_rng(size).standard_normal(size)
    got = wire.encode_array(values, name="x", start=10, end=20)
    assert got == array_message(values.tolist(), name="x", start=10, end=20)


def test_every_length_of_the_frame():
    for size in range(300):
        for name in ("", "abc"):
            values = [0.5] * size
            assert wire.encode_array(values, name=name, end=7) == array_message(
                values, name=name, end=7
            )


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_end_is_inclusive_by_default(size):
    values = np.arange(float(size))
    got = wire.encode_array(values, name="x", start=5)
    assert got == array_message(values.tolist(), name="x", start=5, end=5 + size - 1)


def test_no_values_end_before_they_start():
    assert wire.encode_array([], name="x") == array_message([], name="x", end=-1)
    assert wire.encode_array([], name="x", start=1) == array_message([], name="x", start=1, end=0)
    assert wire.encode_array(np.empty((0, 3)), name="x", end=0) == array_message([], name="x")


def test_defaults_alone():
    assert wire.encode_array([], name="", end=0) == array_message([]) == b"\x0a\x00"


def test_indices_of_other_types():
    want = array_message([1.0], name="x", start=4, end=4, type=3)
    got = wire.encode_array(
        1.0, name="x", start=np.int32(4), end=np.uint64(4), type=data_pb2.VariableType.kOutput
    )
    assert got == want


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"start": 2**63}, "start 9223372036854775808 does not fit in an int64"),
        ({"start": -(2**63) - 1}, "does not fit in an int64"),
        ({"end": 2**63}, "end 9223372036854775808"),
        ({"type": 2**31}, "type 2147483648 does not fit in an int32"),
        ({"start": 2**63 - 1}, "the last index does not fit in an int64"),
    ],
)
def test_integers_out_of_range(fields, words):
    with pytest.raises(PhiloteValidationError, match=f"variable 'wing'.*{words}"):
        wire.encode_array([1.0, 2.0], name="wing", **fields)


def test_the_last_index_may_be_the_largest():
    got = wire.encode_array([1.0], name="x", start=2**63 - 1)
    assert got == array_message([1.0], name="x", start=2**63 - 1, end=2**63 - 1)
    # No values: the index before the first; before the smallest there is none.
    with pytest.raises(PhiloteValidationError, match="the last index"):
        wire.encode_array([], name="x", start=-(2**63))


def test_wrong_types():
    with pytest.raises(TypeError):
        wire.encode_array([1.0], name="x", start=1.5)
    with pytest.raises(TypeError):
        wire.encode_array([1.0], name=b"x")
    with pytest.raises(TypeError):
        wire.encode_array([1.0])
    with pytest.raises(UnicodeEncodeError):
        wire.encode_array([1.0], name="\ud800")


def test_bits_are_kept():
    patterns = [
        0x7FF8000000000000, 0x7FF8DEADBEEF0001, 0xFFF8000000000001, 0x7FF0000000000001,
        0xFFF4000000000000, 0x8000000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
        0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF,
    ]  # fmt: skip
    raw = struct.pack(f"<{len(patterns)}Q", *patterns)
    values = np.frombuffer(raw)
    message = wire.encode_array(values, name="x")
    assert message.endswith(raw)
    assert wire.decode(message).data.tobytes() == raw
    swapped = values.astype(">f8")
    assert swapped.tobytes() != raw
    assert wire.encode_array(swapped, name="x") == message
    assert wire.encode_array(np.repeat(values, 2)[::2], name="x") == message


def test_large_arrays_let_other_threads_run_and_keep_their_values():
    values = [np.full(200_000, float(k)) for k in range(4)]
    want = [wire.encode_array(v, name="x") for v in values]
    wrong = []

    def work(k):
        for _ in range(20):
            message = wire.encode_array(values[k], name="x")
            if message != want[k] or not (wire.decode(message).data == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k % 4,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
