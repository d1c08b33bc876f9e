"""Discrete values: stock's rules, their repairs, and the runtime's limits."""

import datetime
import enum
import math
import random
import sys
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest
from google.protobuf import struct_pb2
from google.protobuf.message import DecodeError
from philote_mdo.generated import data_pb2
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import wire

from .wire_oracle import canonical, sized, stock_module, tag

STOCK = stock_module("philote_mdo.general.discipline_server")
stock_to_value = STOCK._python_to_value
stock_to_python = STOCK._value_to_python


def test_the_reference_is_stock():
    for function in (stock_to_value, stock_to_python):
        assert function.__code__.co_filename == STOCK.__file__


class Colour(enum.IntEnum):
    RED = 3


class Mode(str, enum.Enum):
    FAST = "fast"


class Celsius(float):
    def __float__(self):
        return 7.5


class Shown:
    def __str__(self):
        return "shown"


Point = namedtuple("Point", "x y")

# What stock handles as it should: the two must agree in both directions.
AS_STOCK = [
    None, True, False, 0, 1, -1, 2**53, -(2**53), 2**63, 2**64, 10**300, 0.5, -0.0, 1e300, 5e-324,
    "", "text", "é\0🚀",
    [1], [1, [2, [3]]], (1, "a"), Point(1, 2), {"a": 1}, {"a": {"b": [None, True]}}, {1: 2, None:
    3, (1, 2): 4},
    OrderedDict(z=1, a=2), defaultdict(list, k=1), Colour.RED, Mode.FAST, object, Shown(),
    b"bytes", 1 + 2j, {1}.__class__,
    datetime.date(2020, 1, 2), np.float64(0.25), np.str_("s"), [np.float64(2.0)], "x" * 300,
    list(range(200)), Celsius(1),
    {str(k): k for k in range(50)}, {"": 1}, np.datetime64("2020-01-01"), np.timedelta64(3, "s"),
    np.complex128(1j),
]  # fmt: skip


@pytest.mark.parametrize("obj", AS_STOCK, ids=lambda obj: repr(obj)[:30])
def test_as_stock(obj):
    value = wire.python_to_value(obj)
    assert value == stock_to_value(obj)
    assert canonical(wire.value_to_python(value)) == canonical(stock_to_python(value))
    if not isinstance(obj, dict) or len(obj) < 2:
        assert value.SerializeToString() == stock_to_value(obj).SerializeToString()


def round_trip(obj):
    value = wire.python_to_value(obj)
    assert type(value) is struct_pb2.Value
    return wire.value_to_python(struct_pb2.Value.FromString(value.SerializeToString()))


REPAIRED = [
    (math.nan, math.nan), (math.inf, math.inf), (-math.inf, -math.inf), ([math.nan, 1.0],
    [math.nan, 1]),
    ([], []), ((), []), ({}, {}), ([[], {}], [[], {}]), ({"a": [], "b": {}}, {"a": [], "b": {}}),
    (np.bool_(True), True), (np.int64(-3), -3), (np.uint64(2**63), 2**63), (np.int8(1), 1),
    (np.float32(0.5), 0.5),
    (np.float16(0.25), 0.25), (np.longdouble("0.125"), 0.125), (np.float64("nan"), math.nan),
    (np.float32("inf"), math.inf),
    (np.arange(3), [0, 1, 2]), (np.array([[1.5, 2.0]]), [[1.5, 2]]), (np.array(4.5), 4.5),
    (np.array([True]), [True]),
    (np.array([]), []), (np.array(["a", "b"]), ["a", "b"]), (np.array([1, None, "x"], object), [1,
    None, "x"]),
    (np.array("s"), "s"), ({"a": np.arange(2)}, {"a": [0, 1]}), (np.arange(6).reshape(2, 3)[:,
    ::2], [[0, 2], [3, 5]]),
    (np.array([1.5], "g"), [1.5]), (np.array(["2020-01-01"], "M8[ns]"),
    ["2020-01-01T00:00:00.000000000"]),
    (np.array(3, "m8[ns]"), "3 nanoseconds"), (np.array([1 + 2j]), [str(np.complex128(1 + 2j))]),
    (np.array([b"z"]), ["b'z'"]),
    (np.ma.array([1, 2], mask=[0, 1]), [1, None]), (np.array(Shown(), object), "shown"),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "want"), REPAIRED, ids=lambda obj: repr(obj)[:30])
def test_repaired(obj, want):
    assert canonical(round_trip(obj)) == canonical(want)


def test_an_integral_double_arrives_as_int():
    for number in (
        1.0,
        -0.0,
        2.0**62,
        2.0**63,
        -(2.0**63),
        2.0**64,
        1.7976931348623157e308,
        123456789012.0,
    ):
        arrived = round_trip(number)
        assert type(arrived) is int
        assert arrived == int(number)


def test_an_int_too_large_for_a_double():
    for obj in (10**400, [-(10**400)], {"a": 10**400}):
        with pytest.raises(OverflowError, match="int too large to convert to float"):
            wire.python_to_value(obj)


def test_lone_surrogates():
    for obj in ("\ud800", ["a\udfff"], {"\ud800": 1}):
        with pytest.raises(UnicodeEncodeError):
            wire.python_to_value(obj)


def test_what_a_value_of_no_kind_or_a_strange_null_is():
    assert wire.value_to_python(struct_pb2.Value()) is None
    assert wire.value_to_python(struct_pb2.Value(null_value=0)) is None
    assert wire.value_to_python(struct_pb2.Value.FromString(b"\x08\x07")) is None
    assert wire.value_to_python(struct_pb2.Value.FromString(b"\x32\x02\x0a\x00")) == [None]


def test_the_old_peers_spelling_of_an_empty_list_is_none():
    assert wire.value_to_python(stock_to_value([])) is None


def test_wrong_arguments():
    for wrong in (None, 3, struct_pb2.ListValue(), data_pb2.Array()):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            wire.value_to_python(wrong)


def nested(levels, wrap):
    obj = 0
    for _ in range(levels):
        obj = wrap(obj)
    return obj


def raw_list(content):
    return sized(6, sized(1, content))


def raw_struct(content):
    return sized(5, sized(1, sized(1, b"k") + sized(2, content)))


@pytest.mark.parametrize(
    ("wrap", "raw"),
    [
        (lambda o: [o], raw_list),
        (lambda o: (o,), raw_list),
        (lambda o: {"k": o}, raw_struct),
        (lambda o: [{"k": o}], lambda content: raw_list(raw_struct(content))),
    ],
    ids=["list", "tuple", "dict", "both"],
)
def test_depth_is_refused_where_the_runtime_refuses_it(wrap, raw):
    # Bytes made by hand: upb's own objects leave a stray exception behind when they grow too deep.
    content = tag(2, 1) + bytes(8)
    for levels in range(60):
        obj = nested(levels, wrap)
        try:
            value = struct_pb2.Value.FromString(content)
        except DecodeError:
            with pytest.raises(PhiloteValidationError, match="nested too deeply"):
                wire.python_to_value(obj)
        else:
            assert wire.python_to_value(obj).SerializeToString() == content
            assert wire.value_to_python(value) == stock_to_python(value)
        content = raw(content)


def test_what_contains_itself_is_refused():
    cycle, ring = [], {}
    cycle.append(cycle)
    ring["self"] = (ring,)
    array = np.array([None], object)
    array[0] = array
    for obj in (cycle, ring, array, nested(100_000, lambda o: [o])):
        with pytest.raises((PhiloteValidationError, RecursionError)):
            wire.python_to_value(obj)


class Changing:
    """Changes the container that it is in while it is being read."""

    def __init__(self, change):
        self.change = change

    def __str__(self):
        self.change()
        return "x"


def test_containers_that_change_meanwhile():
    items = [1, 2, 3]
    items.insert(0, Changing(lambda: items.clear()))
    assert round_trip(items) == ["x"]
    fields = {}
    fields["a"] = Changing(lambda: fields.setdefault("b", 1))
    with pytest.raises(RuntimeError, match="changed size"):
        wire.python_to_value(fields)


def test_errors_of_the_object_itself_pass():
    class Rude:
        def __str__(self):
            raise KeyError("rude")

    with pytest.raises(KeyError, match="rude"):
        wire.python_to_value([Rude()])


def any_object(rng, depth=0):
    leaves = [None, True, 0, -7, 2**60, 0.1, 1e-300, "", "ü", "long" * 50, math.inf, math.nan]
    if depth > 4 or rng.random() < 0.5:
        return rng.choice(leaves)
    if rng.random() < 0.5:
        return [any_object(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {rng.choice("abcdé"): any_object(rng, depth + 1) for _ in range(rng.randint(0, 4))}


@pytest.mark.parametrize("seed", range(4))
def test_random_objects_through_a_message(seed):
    rng = random.Random(seed)
    for _ in range(500):
        obj = any_object(rng)
        assert canonical(round_trip(obj)) == canonical(obj)
        value = wire.python_to_value(obj)
        variable = data_pb2.DiscreteVariable(name="mode", type=4, value=value)
        read = wire.decode(data_pb2.VariableMessage(discrete=variable).SerializeToString())
        assert (read.name, read.type, canonical(read.value)) == ("mode", 4, canonical(obj))


def test_references_balance():
    watched = [
        ["some", "text", 1.25, {"key": "other text"}],
        {"k": [1, 2]},
        "text" * 9,
        wire.python_to_value([1, "a"]),
    ]
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(100):
        for index in range(3):
            wire.python_to_value(watched[index])
        wire.value_to_python(watched[3])
    assert [sys.getrefcount(item) for item in watched] == before
