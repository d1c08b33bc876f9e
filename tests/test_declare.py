"""Declaring variables: each case runs on stock and patched, with equal outcomes."""

import copy
import enum
import gc
import pickle
import weakref
from collections import namedtuple
from unittest import mock

import numpy as np
import pytest
from philote_mdo.general import Discipline, ImplicitDiscipline
from philote_mdo.general import discipline as stock_module
from philote_mdo.generated import data_pb2 as data
from philote_mdo.utils.validation import PhiloteValidationError

import philote_fast
from philote_fast.patches import discipline as patch

from .declaring import agree

ADDERS = ("add_input", "add_output", "add_discrete_input", "add_discrete_output")


@pytest.fixture(params=["stock", "fast"])
def implementation(request):
    if request.param == "stock":
        philote_fast.uninstall()
    else:
        philote_fast.install()
    yield request.param
    philote_fast.install()


class Name(str):
    __slots__ = ()


class Size(enum.IntEnum):
    TWO = 2


Shape = namedtuple("Shape", "rows columns")

NAMES = [
    "x", "", "été", "名前", "a\0b", "x" * 5000, Name("x"), np.str_("x"), b"x", None, 3, "\ud800",
]  # fmt: skip
SHAPES = [
    (1,), (), (2, 3), (1,) * 40, (2**62,), (2**63,), (2**80,), (0,), (-1,), (1, -2), [2], 3, None,
    (True,), (1.0,), ("a",), (Size.TWO, 3), (np.int64(2),), Shape(2, 3), np.array([2]),
    (300, 70000),
]  # fmt: skip
UNITS = ["", "m**2", "°C", None, 3, b"m", Name("m"), "\udc80", "u" * 300]
DYNAMIC = [False, True, 0, 1, None, np.True_, "yes", 2]


@pytest.mark.parametrize("adder", ADDERS)
@pytest.mark.parametrize("name", NAMES, ids=lambda n: ascii(n)[:20])
def test_names(adder, name):
    agree(lambda d: getattr(d, adder)(name))


@pytest.mark.parametrize("adder", ADDERS[:2])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: repr(s)[:30])
def test_shapes(adder, shape):
    agree(lambda d: getattr(d, adder)("x", shape=shape))
    agree(lambda d: getattr(d, adder)("x", shape=shape, dynamic_shape=True))


@pytest.mark.parametrize("adder", ADDERS[:2])
def test_units_and_dynamic_shape(adder):
    for units in UNITS:
        agree(lambda d, units=units: getattr(d, adder)("x", units=units))
    for dynamic in DYNAMIC:
        agree(lambda d, dynamic=dynamic: getattr(d, adder)("x", (2,), "m", dynamic))


def test_the_order_of_errors():
    """Of several faults the one that stock finds first is reported."""
    error, _ = agree(lambda d: d.add_input("", shape=3, units=None))
    assert "must not be empty" in error[1]
    error, _ = agree(lambda d: d.add_input("x", shape=3, units=None))
    assert "'shape'" in error[1]

    def twice(d):
        d.add_input("x")
        d.add_input("x", units=None)

    error, _ = agree(twice)
    assert "'units'" in error[1]


@pytest.mark.parametrize("adder", ADDERS)
def test_a_name_is_taken_once(adder):
    def case(d):
        getattr(d, adder)("x")
        getattr(d, adder)("y")
        getattr(d, adder)("x")

    error, _ = agree(case)
    assert error[0] is PhiloteValidationError
    assert "'x' is already defined" in error[1]


def test_each_kind_has_its_own_names():
    def case(d):
        for adder in ADDERS:
            getattr(d, adder)("x")

    error, (continuous, discrete) = agree(case)
    assert error is None
    assert (len(continuous), len(discrete)) == (2, 2)


def test_missing_and_unknown_arguments():
    agree(lambda d: d.add_input())
    agree(lambda d: d.add_input("x", form=3))
    agree(lambda d: d.add_input("x", (1,), "", False, 1))
    agree(lambda d: d.add_discrete_input("x", 3, 4))


def test_residuals(implementation):
    discipline = ImplicitDiscipline()
    discipline.add_output("y", shape=(2, 3), units="m")
    discipline.add_output("z", dynamic_shape=True)
    with pytest.raises(PhiloteValidationError, match="output 'y' is already defined"):
        discipline.add_output("y")
    assert [(m.name, m.type) for m in discipline._var_meta] == [
        ("y", data.kOutput),
        ("y", data.kResidual),
        ("z", data.kOutput),
        ("z", data.kResidual),
    ]
    assert discipline._var_meta[0].shape == discipline._var_meta[1].shape == [2, 3]


def test_a_subclass_that_overrides_and_calls_super(implementation):
    class Prefixed(Discipline):
        def add_input(self, name, **keywords):
            super().add_input("p_" + name, **keywords)

    discipline = Prefixed()
    discipline.add_input("x", shape=(2,))
    assert [m.name for m in discipline._var_meta] == ["p_x"]
    with pytest.raises(PhiloteValidationError, match="p_x"):
        discipline.add_input("x")


def test_a_subclass_with_a_list_of_its_own(implementation):
    class Loud(list):
        added = 0

        def __iadd__(self, other):
            self.added += 1
            return super().__iadd__(other)

    discipline = Discipline()
    discipline._var_meta = Loud()
    discipline.add_input("x")
    assert discipline._var_meta.added == 1


def test_a_class_attribute_becomes_the_instance_own(implementation):
    class Shared(Discipline):
        _var_meta = []  # noqa: RUF012

        def __init__(self):
            pass

    one = Shared()
    one.add_input("x")
    assert vars(one)["_var_meta"] is Shared._var_meta


def test_an_instance_that_cannot_be_hashed_or_referred_to(implementation):
    class Equal(Discipline):
        def __eq__(self, other):
            return True

    class Slots:
        __slots__ = ("_is_implicit", "_var_meta")

    first, second, slots = Equal(), Equal(), Slots()
    slots._var_meta, slots._is_implicit = [], False
    for discipline in (first, second):
        discipline.add_input("x")
    for _ in range(2):
        Discipline.add_output(slots, f"y{len(slots._var_meta)}")
    with pytest.raises(PhiloteValidationError):
        first.add_input("x")
    with pytest.raises(PhiloteValidationError):
        Discipline.add_output(slots, "y1")


def test_without_init(implementation):
    class Lazy(Discipline):
        def __init__(self):
            pass

    with pytest.raises(PhiloteValidationError):
        Lazy().add_input(3)
    with pytest.raises(AttributeError, match="_var_meta"):
        Lazy().add_input("x")


def test_copies_have_names_of_their_own(implementation):
    original = Discipline()
    original.add_input("x")
    copied = copy.deepcopy(original)
    copied.add_input("y")
    original.add_input("y")
    with pytest.raises(PhiloteValidationError):
        copied.add_input("x")
    # A shallow copy shares the list until one of the two replaces it.
    shallow = copy.copy(original)
    shallow.add_input("z")
    with pytest.raises(PhiloteValidationError):
        original.add_input("z")


def test_pickle(implementation):
    discipline = Discipline()
    discipline.add_input("x")
    # The generated messages cannot be pickled, with stock neither.
    discipline._clear_data()
    again = pickle.loads(pickle.dumps(discipline))
    again.add_input("x")
    with pytest.raises(PhiloteValidationError):
        again.add_input("x")
    function = pickle.loads(pickle.dumps(Discipline.add_input))
    assert function is Discipline.add_input


def test_nothing_is_left_on_the_instance(implementation):
    discipline = Discipline()
    before = set(vars(discipline))
    for adder in ADDERS:
        getattr(discipline, adder)("x")
    assert set(vars(discipline)) == before


def test_a_discipline_and_its_metadata_are_let_go():
    discipline = Discipline()
    discipline.add_input("x")
    key, gone = id(discipline), weakref.ref(discipline)
    assert key in patch._indexes
    del discipline
    gc.collect()
    assert gone() is None
    assert key not in patch._indexes


def test_doubles_of_what_stock_calls_are_called(implementation):
    for name in ("validate_name", "validate_shape", "validate_units"):
        with mock.patch.object(stock_module, name) as double:
            Discipline().add_input("x")
        double.assert_called_once()
    with mock.patch.object(stock_module, "data") as double:
        Discipline().add_input("x")
    double.VariableMetaData.assert_called_once_with()


def test_the_metadata_is_an_ordinary_message():
    discipline = Discipline()
    discipline.add_input("x", shape=(2, 3), units="m")
    (message,) = discipline._var_meta
    assert type(message) is data.VariableMetaData
    assert message == data.VariableMetaData(
        name="x", type=data.kInput, shape=[2, 3], units="m", dynamic_shape=False
    )
    message.shape.append(4)
    assert list(discipline._var_meta[0].shape) == [2, 3, 4]


def test_many_variables_agree():
    def case(d):
        for i in range(300):
            d.add_input(f"x{i}", shape=(i + 1, 2), units="m")
            d.add_output(f"x{i}", dynamic_shape=bool(i % 2))
            d.add_discrete_input(f"x{i}")

    error, (continuous, discrete) = agree(case)
    assert error is None
    assert (len(continuous), len(discrete)) == (600, 300)
