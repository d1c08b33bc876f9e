"""Values of every dtype and layout are written as stock reads them: by float(), in C order."""

import datetime
import decimal
import fractions
import warnings

import numpy as np
import pytest

from philote_fast import wire

from .wire_oracle import array_message

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g"]


def encoded(values):
    return wire.encode_array(values, name="x", end=9)


def reference(values):
    """By float() on each element of the flattened array."""
    return array_message([float(item) for item in np.asarray(values).ravel()], name="x", end=9)


def sample(dtype):
    if dtype == "?":
        return np.arange(24) % 3 == 0
    base = np.arange(24).astype(dtype)
    if np.issubdtype(base.dtype, np.integer):
        limits = np.iinfo(base.dtype)
        base[:2] = limits.min, limits.max
        return base
    base[:6] = [np.nan, -np.inf, -0.0, 1 / 3, np.finfo(base.dtype).tiny, np.finfo("f2").max]
    return base


def layouts(a):
    """Every way in which the same kind of memory may be walked."""
    cube = a.reshape(2, 3, 4)
    unaligned = np.frombuffer(b"\0" + a.tobytes(), dtype=np.uint8)[1:].view(a.dtype)
    return {
        "plain": a, "matrix": a.reshape(4, 6), "scalar": a[3:4].reshape(()), "cube": cube,
        "fortran": np.asfortranarray(a.reshape(4, 6)), "transposed": cube.transpose(2, 0, 1),
        "strided": a[::3], "reversed": a[::-1], "two strides": a.reshape(4, 6)[::2, ::-2],
        "broadcast": np.broadcast_to(a[:3], (4, 3)), "zero stride": np.broadcast_to(a[2], (5,)),
        "empty": a[:0], "empty two": a.reshape(4, 6)[:, 2:2], "unaligned": unaligned,
        "of one": a[5:6], "column": a.reshape(4, 6)[:, 1:2],
    }  # fmt: skip


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_dtypes_and_layouts(dtype, order):
    a = sample(dtype)
    a = a.astype(a.dtype.newbyteorder(order))
    for label, view in layouts(a).items():
        for writable in (True, False):
            view = view.view()
            view.flags.writeable = writable and view.flags.writeable
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert encoded(view) == reference(view), label


def test_long_doubles_overflow_to_infinity_in_silence():
    values = np.array(["1e400", "-1e400", "1e-400"], dtype="g")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoded(values) == reference(values)


def test_lists_tuples_and_scalars():
    for values in ([1, 2.5, True], (1,), 3, 2.5, True, np.float32(0.1), [[1, 2], [3, 4]], range(5)):
        assert encoded(values) == reference(values)


def test_memmap(tmp_path):
    mapped = np.memmap(tmp_path / "values", dtype="f8", mode="w+", shape=(3, 4))
    mapped[:] = np.arange(12.0).reshape(3, 4)
    assert encoded(mapped) == reference(mapped)
    assert encoded(mapped[:, ::2]) == reference(mapped[:, ::2])


def test_masked_values_are_nan_with_numpys_warning():
    for masked in (
        np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
        np.ma.array([[1, 2, 3]], mask=[[0, 1, 0]]),
    ):
        with pytest.warns(UserWarning, match="masked element"):
            data = wire.decode(encoded(masked)).data
        np.testing.assert_array_equal(data, [1.0, np.nan, 3.0])
    unmasked = np.ma.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoded(unmasked) == reference(unmasked)


class Doubled(np.ndarray):
    """A subclass whose elements are not what its memory says."""

    def __getitem__(self, key):
        item = super().__getitem__(key)
        return item * 2 if isinstance(item, np.floating) else item

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def test_a_subclass_is_asked_for_its_elements():
    values = np.arange(3.0).view(Doubled)
    np.testing.assert_array_equal(wire.decode(encoded(values)).data, [0.0, 2.0, 4.0])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_is_flattened():
    assert encoded(np.matrix([[1, 2], [3, 4]])) == reference([1, 2, 3, 4])


def test_object_arrays_go_through_float():
    items = [
        1,
        2.5,
        True,
        np.float32(0.1),
        decimal.Decimal("0.1"),
        fractions.Fraction(1, 3),
        2**70,
        1 + 0j,
    ]
    want = array_message(
        [float(i.real if isinstance(i, complex) else i) for i in items], name="x", end=9
    )
    assert encoded(np.array(items, dtype=object)) == want
    assert encoded(np.array(items, dtype=object).reshape(2, 4).T.copy(order="F").T) == want


@pytest.mark.parametrize(
    "bad",
    [None, "1", b"1", bytearray(b"1"), np.str_("1"), np.bytes_(b"1"), object(), [1.0], 1j,
    np.complex64(1j),
     np.datetime64("2020-01-01"), np.datetime64(1, "ns"), np.timedelta64(3, "s"),
     datetime.date(2020, 1, 1)],
    ids=repr,
)  # fmt: skip
def test_an_object_that_is_no_real_number_names_variable_and_element(bad):
    values = np.array([1.0, 0.0, 2.0], dtype=object)
    values[1] = bad
    expected = (
        "variable 'wing'"
        if isinstance(bad, (complex, np.complexfloating))
        else "variable 'wing': element 1 "
    )
    with pytest.raises(TypeError, match=expected) as caught:
        wire.encode_array(values, name="wing")
    if bad is None:
        assert isinstance(caught.value.__cause__, TypeError)


def test_an_object_too_large_for_a_double():
    with pytest.raises(OverflowError, match="variable 'wing': element 1 "):
        wire.encode_array(np.array([1, 10**400], dtype=object), name="wing")


def test_another_error_of_an_element_is_not_touched():
    class Rude:
        def __float__(self):
            raise KeyError("rude")

    with pytest.raises(KeyError, match="rude"):
        wire.encode_array(np.array([Rude()], dtype=object), name="x")
    assert wire.encode_array([1.0], name="x")  # no exception is left behind


@pytest.mark.parametrize("dtype", ["F", "D", "G", ">c16"])
def test_complex_values(dtype):
    values = np.array([1.5, -2.0, np.nan], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoded(values) == reference(values.real)
        assert encoded(values[::-2]) == reference(values.real[::-2])
    for imaginary in (1e-40, np.nan):
        values[1] = complex(0, imaginary)
        with pytest.raises(
            TypeError, match=rf"a complex step .* \(variable 'wing', dtype {values.dtype}\)"
        ):
            wire.encode_array(values, name="wing")


@pytest.mark.parametrize(
    "values",
    [["a"], np.array([b"a"]), np.array(["2020"], "M8[Y]"), np.array([1], "m8[s]"), np.zeros(2,
    "f8,i4"),
     np.zeros(2, [("a", "f8")]), np.zeros(1, "V8"), np.array([], "U1"), np.array([], "M8[ns]")],
    ids=lambda v: str(np.asarray(v).dtype),
)  # fmt: skip
def test_other_dtypes_are_refused_by_name(values):
    with pytest.raises(TypeError, match=r"variable 'wing'.*dtype") as caught:
        wire.encode_array(values, name="wing")
    assert str(np.asarray(values).dtype) in str(caught.value)


@pytest.mark.parametrize("values", [None, "text", object(), {"a": 1}, [1, None], [[1], [1, 2]]])
def test_what_is_no_array_of_numbers_is_refused(values):
    with pytest.raises(TypeError, match="variable 'wing'"):
        wire.encode_array(values, name="wing")


def test_the_values_are_not_shared():
    values = np.ones(5)
    message = wire.encode_array(values, name="x")
    values[:] = 7
    assert (wire.decode(message).data == 1).all()
