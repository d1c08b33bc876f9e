"""The arrays that a discipline and a client are given, and those that they may give."""

import numpy as np
import numpy.ma
import pytest

from . import local
from .made import Explicit, Implicit
from .peers import assert_identical, client_side

SHAPES = {
    "none": (),
    "one": (1,),
    "one by one": (1, 1),
    "vector": (5,),
    "matrix": (2, 3),
    "cube": (2, 3, 4),
    "column": (4, 1),
}


def declared_as(shape):
    """Return a discipline of an input and an output of a shape; ``add_input`` refuses ``()``."""

    class Shaped(Explicit):
        def setup(self):
            super().setup()
            for variable in self._var_meta:
                variable.shape[:] = shape

    return Shaped(
        {"x": (1,), "unsent": (1,)},
        {"y": (1,)},
        lambda inputs, outputs: outputs.update(y=inputs["x"]),
        [("y", "x")],
    )


def assert_fresh(value, shape):
    """Check that it is an array as ``np.zeros`` makes them."""
    reference = np.zeros(shape)
    assert type(value) is np.ndarray
    assert (value.dtype, value.shape, value.strides) == (
        reference.dtype,
        reference.shape,
        reference.strides,
    )
    assert value.dtype.isnative
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED"):
        assert value.flags[flag] == reference.flags[flag], flag
    assert value.base is None


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_a_discipline_and_a_client_are_given(shape, flavour):
    values = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    with local.explicit(declared_as(shape)) as (client, servicer):
        result = client.run_compute({"x": values})
        partials = client.run_compute_partials({"x": values})
        (inputs, outputs), (again, jacobian) = servicer._discipline.seen
    assert type(inputs) is type(outputs) is type(again) is type(result) is dict
    assert type(jacobian) is type(partials)
    assert list(inputs) == list(again) == ["x", "unsent"]
    given = [*inputs.values(), *again.values(), result["y"]]
    for value in given:
        assert_fresh(value, shape)
    assert_identical([inputs["x"], again["x"], result["y"]], [values] * 3)
    assert not inputs["unsent"].any()
    expected = {(): (), (1,): (1,), (1, 1): (1, 1, 1, 1)}.get(shape, shape + shape)
    for value in (*jacobian.values(), *partials.values()):
        assert_fresh(value, expected)
        assert not value.any()
    for at, one in enumerate(given):
        assert not any(np.shares_memory(one, other) for other in given[at + 1 :])


def test_what_an_implicit_discipline_and_its_client_are_given(flavour):
    discipline = Implicit(
        {"x": (2, 3)},
        {"y": (3,), "z": (1,)},
        lambda inputs, outputs, residuals: residuals.update(outputs),
        None,
        [("y", "x"), ("z", "z"), ("y", "y")],
    )
    x, outputs = {"x": np.ones((2, 3))}, {"y": np.arange(3.0), "z": np.ones(1)}
    with local.implicit(discipline) as (client, servicer):
        residuals = client.run_compute_residuals(x, outputs)
        solved = client.run_solve_residuals(x)
        partials = client.run_residual_gradients(x, outputs)
        seen = servicer._discipline.seen
    assert_identical(residuals, outputs)
    assert_identical(solved, {"y": np.zeros(3), "z": np.zeros(1)})
    shapes = {"y": (3,), "z": (1,), "x": (2, 3)}
    pairs = {("y", "x"): (3, 2, 3), ("z", "z"): (1,), ("y", "y"): (3, 3)}
    for values in (residuals, solved, *seen[0][:2], *seen[1], *seen[2][:2]):
        for name, value in values.items():
            assert_fresh(value, shapes[name])
    for values in (partials, seen[2][2]):
        assert list(values) == list(pairs)
        for key, value in values.items():
            assert_fresh(value, pairs[key])


def test_arrays_may_be_kept_and_changed(flavour):
    """Buffers are fresh and zero at each call, whatever a discipline or a user does with them."""
    kept = []

    def compute(inputs, outputs):
        kept.append(inputs["x"])
        outputs["y"] = inputs["x"]
        inputs["x"] += 1
        inputs["unsent"] += 7

    def partials(inputs, jacobian):
        kept.append(jacobian["y", "x"])
        jacobian["y", "x"] += np.eye(3)

    discipline = Explicit({"x": (3,), "unsent": (2,)}, {"y": (3,)}, compute, [("y", "x")], partials)
    with local.explicit(discipline) as (client, servicer):
        sent, results = np.arange(3.0), []
        for _ in range(4):
            result = client.run_compute({"x": sent})["y"]
            jacobian = client.run_compute_partials({"x": sent})["y", "x"]
            assert result.tolist() == [1.0, 2, 3]
            assert jacobian.tolist() == np.eye(3).tolist()
            result += 100
            jacobian += 100
            results += [result, jacobian]
        assert sent.tolist() == [0.0, 1, 2]
        for inputs, _ in servicer._discipline.seen[::2]:
            assert inputs["unsent"].tolist() == [7.0, 7]
    everything = [sent, *kept, *results]
    for at, one in enumerate(everything):
        assert not any(np.shares_memory(one, other) for other in everything[at + 1 :])
    for array in kept[::2]:
        assert array.tolist() == [1.0, 2, 3]


NUMBERS = np.arange(1.0, 13)


def unaligned():
    buffer = np.zeros(12 * 8 + 1, np.uint8)
    array = buffer[1:].view("f8")
    array[:] = NUMBERS
    assert not array.flags.aligned
    return array


LAYOUTS = {
    "plain": lambda: NUMBERS,
    "strided": lambda: np.repeat(NUMBERS, 2)[::2],
    "reversed": lambda: NUMBERS[::-1],
    "Fortran": lambda: np.asfortranarray(NUMBERS.reshape(3, 4)),
    "transposed": lambda: NUMBERS.reshape(3, 4).T,
    "a slice of columns": lambda: np.arange(24.0).reshape(3, 8)[:, 1::2],
    "spread": lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
    "stride zero": lambda: np.lib.stride_tricks.as_strided(np.array([3.5]), (12,), (0,)),
    "overlapping": lambda: np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 4),
    "unaligned": unaligned,
    "read-only": lambda: np.frombuffer(NUMBERS.tobytes()),
    "subclass": lambda: NUMBERS.view(type("Mine", (np.ndarray,), {})),
    "record": lambda: np.rec.array([(v, 1) for v in NUMBERS], dtype=[("a", "f8"), ("b", "i1")])[
        "a"
    ],
    "three dimensions": lambda: NUMBERS.reshape(2, 3, 2).swapaxes(0, 2),
}
for code in ("f2", "f4", ">f4", ">f8", "longdouble", "i1", "i2", "i4", "i8", ">i8", "u1", "u8"):
    LAYOUTS[code] = lambda code=code: NUMBERS.astype(code)
LAYOUTS["bool"] = lambda: NUMBERS > 5
LAYOUTS["object"] = lambda: NUMBERS.astype(object)
LAYOUTS["mixed objects"] = lambda: np.array([1, 2.5, True, np.float32(3), *range(8)], dtype=object)
LAYOUTS["large ints"] = lambda: np.array([2**53 + 1, 2**64 - 1, 2**63 + 1025] * 4, dtype="u8")
LAYOUTS["large int objects"] = lambda: np.array([2**53 + 1, 10**300, -(3**500)] * 4, dtype=object)


def echoing(size=12):
    return Explicit(
        {"x": (size,)}, {"y": (size,)}, lambda inputs, outputs: outputs.update(y=inputs["x"])
    )


@pytest.fixture(scope="module")
def stock_echo():
    """What stock makes of each layout."""
    with client_side("stock"), local.explicit(echoing()) as (client, _):
        return {name: client.run_compute({"x": make()})["y"] for name, make in LAYOUTS.items()}


@pytest.fixture(scope="module")
def echo():
    with local.explicit(echoing()) as (client, _):
        yield client


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("chunk", [1, 5, 100_000])
def test_every_layout_and_dtype(name, chunk, stock_echo, echo):
    echo._stream_options.num_double = chunk
    value = LAYOUTS[name]()
    before = value.copy()
    assert_identical(echo.run_compute({"x": value})["y"], stock_echo[name])
    np.testing.assert_array_equal(value, before)


def test_a_matrix(echo):
    """Its ravel stays two-dimensional, which stock takes for an empty array."""
    assert_identical(echo.run_compute({"x": NUMBERS.reshape(3, 4).view(np.matrix)})["y"], NUMBERS)


def test_a_memory_map(tmp_path, echo, flavour):
    path = tmp_path / "values"
    NUMBERS.tofile(path)
    for mode in ("r", "r+", "c"):
        mapped = np.memmap(path, "f8", mode)
        assert_identical(echo.run_compute({"x": mapped})["y"], NUMBERS)


def test_masked(echo, flavour):
    """NaN where masked, with NumPy's warning."""
    masked = numpy.ma.array(NUMBERS, mask=NUMBERS > 10)
    with pytest.warns(UserWarning, match="converting a masked element to nan"):
        found = echo.run_compute({"x": masked})["y"]
    assert_identical(found, np.where(NUMBERS > 10, np.nan, NUMBERS))


def test_complex_without_imaginary_part(echo):
    for code in ("c8", "c16", "clongdouble", ">c16"):
        assert_identical(echo.run_compute({"x": NUMBERS.astype(code)})["y"], NUMBERS)


def test_bits(echo, flavour):
    """NaN payloads, signalling NaN, -0.0, infinities, subnormals and extremes."""
    words = [
        0x7FF8000000000000,
        0xFFF8000000000001,
        0x7FF0000000000001,
        0xFFF7FFFFFFFFFFFF,
        0x7FFFFFFFFFFFFFFF,
        0x8000000000000000,
        0x0000000000000000,
        0x0000000000000001,
        0x800FFFFFFFFFFFFF,
        0x7FEFFFFFFFFFFFFF,
        0x7FF0000000000000,
        0xFFF0000000000000,
    ]
    values = np.array(words, dtype="u8").view("f8")
    for view in (values, values.astype(">f8"), np.repeat(values, 2)[::2]):
        found = echo.run_compute({"x": view})["y"]
        if flavour != "stock" or view is values:
            assert found.tobytes() == values.tobytes()


def test_the_same_array_twice(flavour):
    discipline = Explicit(
        {"a": (3,), "b": (3,)},
        {"y": (3,)},
        lambda inputs, outputs: outputs.update(y=inputs["a"] + inputs["b"]),
    )
    with local.explicit(discipline) as (client, servicer):
        value = np.arange(3.0)
        assert client.run_compute({"a": value, "b": value})["y"].tolist() == [0.0, 2, 4]
        assert client.run_compute({"b": value[::-1], "a": value})["y"].tolist() == [2.0, 2, 2]
        inputs = servicer._discipline.seen[0][0]
        assert not np.shares_memory(inputs["a"], inputs["b"])


def test_the_values_are_those_at_the_time_of_the_call():
    """A discipline of this process changes the very arrays that were sent; nobody else sees it."""
    value = np.arange(3.0)

    def compute(inputs, outputs):
        value[:] = 99
        outputs["y"] = inputs["x"]

    with local.explicit(Explicit({"x": (3,)}, {"y": (3,)}, compute)) as (client, _):
        assert client.run_compute({"x": value})["y"].tolist() == [0.0, 1, 2]


@pytest.mark.parametrize("size", [1, 2, 7, 999, 1000, 1001, 100_000, 100_001, 1_000_000])
def test_sizes(size, flavour):
    values = np.random.default_rng(size).standard_normal(size)
    with local.explicit(echoing(size)) as (client, _):
        assert_identical(client.run_compute({"x": values})["y"], values)


@pytest.mark.parametrize("server_chunk", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("client_chunk", [1, 7, 1000, 100_000])
def test_chunk_sizes(client_chunk, server_chunk, flavour):
    values = np.arange(2500.0)
    with local.explicit(echoing(2500)) as (client, servicer):
        client._stream_options.num_double = client_chunk
        servicer._stream_opts.num_double = server_chunk
        assert_identical(client.run_compute({"x": values})["y"], values)
