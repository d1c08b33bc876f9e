"""decode agrees with the protobuf runtime on every buffer, and gives views."""

import array
import gc
import pickle
import random
import sys
import weakref

import numpy as np
import pytest
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import wire

from .wire_fuzz import mutated, noise, structured
from .wire_oracle import (
    array_message,
    group,
    number,
    ours_reads,
    runtime_reads,
    sized,
    tag,
    varint,
)

DOUBLE = bytes(range(1, 9))
PACKED = sized(6, DOUBLE)
UNPACKED = tag(6, 1) + DOUBLE
TRUE = number(4, 1)


def agree(buffer):
    want, got = runtime_reads(buffer), ours_reads(buffer)
    assert got == want, buffer.hex()
    return want


@pytest.mark.parametrize("seed", range(8))
def test_structured_messages(seed):
    rng = random.Random(seed)
    seen = [agree(structured(rng)) for _ in range(4000)]
    refused = sum(reading == "refused" for reading in seen)
    assert 0 < refused < len(seen) / 2


@pytest.mark.parametrize("seed", range(8))
def test_mutated_messages(seed):
    rng = random.Random(100 + seed)
    seen = [agree(mutated(rng, structured(rng))) for _ in range(4000)]
    assert any(reading == "refused" for reading in seen)
    assert any(reading != "refused" for reading in seen)


@pytest.mark.parametrize("seed", range(4))
def test_noise(seed):
    rng = random.Random(200 + seed)
    seen = [agree(noise(rng)) for _ in range(5000)]
    assert any(reading not in ("refused", None) for reading in seen)


def test_all_buffers_of_two_bytes():
    for first in range(256):
        agree(bytes([first]))
        for second in range(256):
            agree(bytes([first, second]))


def test_truncation_at_every_byte():
    nested = sized(5, sized(1, sized(1, b"key") + sized(2, sized(6, sized(1, tag(2, 1) + DOUBLE)))))
    for message in (
        array_message([1.0, 2.0, 3.0], name="wing", subname="é", start=300, end=-1, type=5),
        sized(2, sized(1, b"mode") + number(2, 4) + sized(3, nested)),
        sized(
            1,
            tag(6, 1)
            + DOUBLE
            + sized(6, DOUBLE * 2)
            + group(9, number(1, 300) + tag(2, 5) + b"1234"),
        ),
    ):
        for end in range(len(message) + 1):
            agree(message[:end])


def in_value(content):
    """A discrete message whose value has these fields."""
    return sized(2, sized(3, content))


def in_struct(content):
    return in_value(sized(5, content))


def in_entry(content):
    return in_struct(sized(1, content))


SPELLINGS = {
    "both members": sized(1, sized(1, b"a")) + sized(2, b"") + sized(1, sized(2, b"b")),
    "merged": sized(1, sized(1, b"a") + PACKED) + sized(1, sized(2, b"b") + PACKED),
    "unpacked": sized(1, tag(6, 1) + DOUBLE),
    "mixed": sized(1, UNPACKED + sized(6, DOUBLE * 2) + sized(6, b"") + UNPACKED),
    "packed in pieces": sized(1, sized(6, DOUBLE) + sized(6, DOUBLE[::-1])),
    "packed of nothing": sized(1, sized(6, b"")),
    "out of order": sized(1, sized(6, DOUBLE) + number(5, 3) + number(3, 9) + sized(1, b"a")),
    "last scalar wins": sized(1, number(3, 1) + number(3, 2) + sized(1, b"a") + sized(1, b"b")),
    "long varints": sized(1, number(3, 5, pad=8) + number(5, 1, pad=9), pad=9),
    "varint of 11 bytes": sized(1, number(3, 5, pad=10)),
    "high bits of a varint": sized(1, tag(3, 0) + b"\xff" * 9 + b"\x7f"),
    "long tag": varint(1 << 3 | 2, pad=4) + varint(0),
    "tag of six bytes": varint(1 << 3 | 2, pad=5) + varint(0),
    "tag of 33 bits": varint(1 << 32 | 10) + varint(0),
    "enum of 40 bits": sized(1, number(5, (1 << 40) + 3)),
    "negative enum": sized(1, number(5, -1 & (1 << 64) - 1)),
    "field zero": b"\x02\x00",
    "field zero in an array": sized(1, b"\x00\x01"),
    "wire type six": b"\x0e\x00",
    "wire type seven": sized(1, b"\x0f\x00"),
    "member as a number": number(1, 5) + tag(2, 5) + b"1234",
    "member as a group": group(1, sized(1, b"a")),
    "wrong types": sized(1, number(1, 1) + tag(3, 1) + DOUBLE + sized(5, b"x") + number(6, 1)),
    "data as a fixed32": sized(1, tag(6, 5) + b"1234"),
    "unknown fields": sized(9, b"\xff") + sized(1, tag(100, 1) + DOUBLE) + group(8, group(8)),
    "unmatched end": tag(3, 4),
    "wrong end": tag(9, 3) + tag(10, 4),
    "group without end": tag(9, 3),
    "end outside the message": sized(1, tag(9, 3)) + tag(9, 4),
    "tag across the end": sized(1, tag(17, 3) + tag(17, 4)[:1]) + tag(17, 4)[1:],
    "length across the end": sized(1, b"\x0a\x05a") + b"bcde",
    "length of 4 GiB": tag(1, 2) + varint((1 << 32) + 2) + sized(1, b""),
    "length of 2 GiB": tag(1, 2) + varint((1 << 31) - 1),
    "length of 2^64": tag(9, 2) + varint((1 << 64) - 1),
    "packed of seven": sized(1, sized(6, DOUBLE[1:])),
    "bad name": sized(1, sized(1, b"\xff")),
    "surrogate": sized(1, sized(1, b"\xed\xa0\x80")),
    "overlong text": sized(1, sized(2, b"\xc0\x80")),
    "bad name replaced": sized(1, sized(1, b"\xff") + sized(1, b"a")),
    "bad name discarded": sized(1, sized(1, b"\xff")) + sized(2, b""),
    "bad text in an unknown field": sized(1, sized(9, b"\xff")),
    "value merged": sized(2, 2 * sized(3, sized(6, sized(1, TRUE)))),
    "value switched": in_value(b"\x08\x00" + sized(3, b"s") + TRUE),
    "value back again": in_value(sized(5, sized(1, b"\x0a\x01k")) + sized(6, b"") + sized(5, b"")),
    "strange null": in_value(number(1, 7)),
    "truth of 2^64": in_value(number(4, 1 << 64)),
    "truth of 2^40": in_value(number(4, 1 << 40)),
    "entry twice": in_struct(sized(1, sized(1, b"k")) + sized(1, sized(1, b"k") + sized(2, TRUE))),
    "entry without key": in_entry(sized(2, TRUE)),
    "empty entry": in_entry(b""),
    "entry with an unknown field": in_entry(sized(1, b"k") + number(7, 1)),
    "entry with an unknown group": in_entry(sized(1, b"k") + group(7)),
    "entry with a key of wrong type": in_entry(number(1, 1)),
    "entry with an unknown field in its value": in_entry(sized(2, number(7, 1))),
    "bad key": in_entry(sized(1, b"\xff")),
}  # fmt: skip


@pytest.mark.parametrize("buffer", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spellings(buffer):
    agree(buffer)


def list_of(levels, inside=b""):
    for _ in range(levels):
        inside = sized(6, sized(1, inside))
    return inside


def struct_of(levels, inside=b""):
    for _ in range(levels):
        inside = sized(5, sized(1, sized(1, b"k") + sized(2, inside)))
    return inside


def groups(levels):
    return tag(9, 3) * levels + tag(9, 4) * levels


@pytest.mark.parametrize(
    ("build", "most"),
    [
        (groups, 100),
        (lambda n: sized(1, groups(n)), 99),
        (lambda n: sized(2, groups(n)), 99),
        (lambda n: in_value(groups(n)), 98),
        (lambda n: in_value(list_of(5, groups(n))), 88),
        (lambda n: in_value(list_of(n)), 49),
        (lambda n: in_value(struct_of(n)), 32),
        (lambda n: in_value(list_of(1, struct_of(n))), 32),
        (lambda n: in_value(list_of(2, struct_of(n))), 31),
    ],
)
def test_nesting_is_refused_where_the_runtime_refuses_it(build, most):
    for levels in range(most + 5):
        assert (agree(build(levels)) == "refused") == (levels > most), levels


@pytest.mark.parametrize("levels", [1000, 200_000])
def test_no_depth_overflows_a_stack(levels):
    agree(groups(levels))
    with pytest.raises(PhiloteValidationError, match="nested too deeply"):
        wire.decode(tag(9, 3) * levels)


def test_errors_say_where_and_what():
    for buffer, words in (
        (b"\x0a", "truncated at byte 1: expected a length"),
        (sized(1, sized(1, b"ab\xff")), "invalid name at byte 4: expected UTF-8"),
        (
            sized(1, sized(6, b"1234567")),
            "invalid data at byte 4: 7 bytes, expected a multiple of 8",
        ),
        (sized(1, b"\x0a\x7f"), "length 127 at byte 3 passes the end: expected at most 0"),
        (b"\x02\x00", "invalid tag 2 at byte 0"),
    ):
        with pytest.raises(PhiloteValidationError, match=words):
            wire.decode(buffer)


def message_at(offset):
    """A message whose payload begins at an address that is `offset` past a multiple of eight."""
    for length in range(1, 9):
        message = wire.encode_array([1.5, -2.5], name="n" * length, start=3)
        data = wire.decode(message).data
        if data.ctypes.data % 8 == offset:
            return message, data
    raise AssertionError("no name gives this alignment")


@pytest.mark.parametrize("offset", range(8))
def test_a_view_at_any_alignment(offset):
    message, data = message_at(offset)
    assert data.flags.aligned == (offset == 0)
    assert data.base is message
    assert not data.flags.writeable
    assert not data.flags.owndata
    assert (data.dtype, data.shape) == (np.float64, (2,))
    np.testing.assert_array_equal(data * 2 + data[::-1], [0.5, -3.5])
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        data.flags.writeable = True


def test_a_view_keeps_the_buffer_alive():
    for make in (bytes, bytearray, lambda b: memoryview(bytearray(b))):
        data = wire.decode(make(wire.encode_array(np.arange(1000.0), name="x"))).data
        gc.collect()
        np.testing.assert_array_equal(data, np.arange(1000.0))


class Owner(np.ndarray):
    """An exporter that can be watched."""


def test_a_view_lets_go_of_the_buffer():
    owner = np.frombuffer(wire.encode_array([1.0], name="x"), "B").copy().view(Owner)
    watch = weakref.ref(owner)
    data = wire.decode(owner).data
    del owner
    gc.collect()
    assert watch() is not None
    del data
    gc.collect()
    assert watch() is None


def test_other_buffers():
    message = wire.encode_array([1.0, 2.0], name="x", start=1)
    for buffer in (
        bytearray(message),
        memoryview(message),
        memoryview(b"__" + message + b"__")[2:-2],
        array.array("b", message),
        np.frombuffer(message, "B"),
        type("Sub", (bytes,), {})(message),
    ):
        assert ours_reads(buffer) == runtime_reads(message)
    with pytest.raises((ValueError, BufferError)):
        wire.decode(memoryview(message * 2)[::2])
    for empty in (b"", bytearray(), memoryview(b"")):
        assert wire.decode(empty) is None
    for wrong in ("text", None, 5, [1]):
        with pytest.raises(TypeError):
            wire.decode(wrong)


def test_a_mutable_buffer_is_shared_and_locked():
    buffer = bytearray(wire.encode_array([1.0], name="x"))
    decoded = wire.decode(buffer)
    with pytest.raises(BufferError):
        buffer.append(0)
    buffer[-8:] = np.float64(9.0).tobytes()
    assert decoded.data[0] == 9.0
    assert not decoded.data.flags.writeable
    del decoded
    buffer.append(0)


def test_values_in_pieces_are_gathered():
    buffer = sized(1, sized(1, b"x") + sized(6, DOUBLE) + tag(6, 1) + DOUBLE[::-1])
    data = wire.decode(buffer).data
    assert data.tobytes() == DOUBLE + DOUBLE[::-1]
    assert not data.flags.writeable


def test_the_result_is_frozen_and_matches_a_pattern():
    decoded = wire.decode(wire.encode_array([1.0], name="f", subname="x", start=2, type=5))
    match decoded:
        case wire.Continuous(name, subname, start, end, kind, data):
            assert (name, subname, start, end, kind, data.tolist()) == ("f", "x", 2, 2, 5, [1.0])
        case _:
            raise AssertionError(decoded)
    with pytest.raises(AttributeError):
        decoded.name = "g"
    assert "name='f'" in repr(decoded)
    discrete = wire.decode(sized(2, sized(1, b"mode") + number(2, 1) + sized(3, sized(3, b"on"))))
    assert repr(discrete) == "Discrete(name='mode', type=1, value='on')"


def test_pickling_is_refused_rather_than_wrong():
    with pytest.raises(TypeError):
        pickle.dumps(wire.decode(wire.encode_array([1.0], name="x")))


def use_all(message, pieces, bad, mutable, values, strided):
    for buffer in (message, pieces, mutable):
        wire.decode(buffer).data.sum()
    with pytest.raises(PhiloteValidationError):
        wire.decode(bad)
    wire.encode_array(values, name="x")
    wire.encode_array(strided, name="x")


def test_references_balance():
    message = wire.encode_array(np.arange(4.0), name="some_name")
    pieces = sized(1, sized(6, DOUBLE) + sized(6, DOUBLE))
    watched = [
        message,
        pieces,
        message[:-1],
        bytearray(message),
        np.arange(4.0),
        np.arange(8.0)[::2],
    ]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(100):
        use_all(*watched)
    gc.collect()
    assert [sys.getrefcount(item) for item in watched] == before
