"""The variables of a discipline in one flat array: ``Table.place`` and the calls that go by it."""

import numpy as np
import philote_mdo.generated.data_pb2 as data
import pytest

from philote_fast._core import Tables

from .peers import assert_identical

INPUT, OUTPUT, RESIDUAL = data.kInput, data.kOutput, data.kResidual


def variable(kind, name, shape):
    return data.VariableMetaData(type=kind, name=name, shape=shape)


@pytest.fixture
def table():
    """Inputs of 6 and of 1, outputs of 2 and of none."""
    variables = [
        variable(INPUT, "a", (2, 3)),
        variable(OUTPUT, "f", (2,)),
        variable(INPUT, "b", ()),
        variable(OUTPUT, "none", (0,)),
    ]
    partials = [data.PartialsMetaData(name="f", subname="a")]
    return Tables().get(variables, partials)


def views(array, *shapes):
    """Views of an array, one after the other."""
    found, start = [], 0
    for name, shape in shapes:
        size = int(np.prod(shape))
        found.append((name, array[start : start + size].reshape(shape)))
        start += size
    return found


def vector(*shapes):
    array = np.arange(float(sum(int(np.prod(shape)) for _, shape in shapes)))
    return array, views(array, *shapes)


def sent(table, flat):
    """The values of a request that is written from a flat array, by name."""
    messages = map(
        data.VariableMessage.FromString, table.write_request(flat, None, None, None, 1000)
    )
    return {m.continuous.name: list(m.continuous.data) for m in messages}


@pytest.mark.parametrize(
    "order",
    [
        (("a", (2, 3)), ("b", (1,))),
        (("b", ()), ("a", (6,))),
        (("mine", (2,)), ("b", (1, 1)), ("yours", ()), ("a", (3, 2)), ("last", (0,))),
    ],
    ids=["as declared", "another order", "among others"],
)
def test_variables_are_found_where_they_lie(table, order):
    array, values = vector(*order)
    flat = table.place(INPUT, array, values)
    assert flat.array is array
    expected = {name: value.ravel().tolist() for name, value in values if name in "ab"}
    assert sent(table, flat) == expected
    # What is sent is what is there at the time of the call.
    array[:] = -array
    assert sent(table, flat) == {name: [-v for v in vs] for name, vs in expected.items()}


def test_a_scalar_is_a_number(table):
    """OpenMDAO gives a variable of the shape () as a float, which lies nowhere."""
    array, values = vector(("b", ()), ("a", (2, 3)))
    assert sent(table, table.place(INPUT, array, [("b", float(array[0])), values[1]]))["b"] == [0.0]


@pytest.mark.parametrize(
    "change",
    {
        "one is missing": lambda array, values: (array[:6], values[:1]),
        "the end is missing": lambda array, values: (np.zeros(8), values),
        "one is too large": lambda array, values: vector(("a", (7,)), ("b", (1,))),
        "a copy": lambda array, values: (array, [(name, v.copy()) for name, v in values]),
        "a gap": lambda array, values: (np.zeros(9), views(np.zeros(9), ("a", 6), ("b", 1))),
        "turned over": lambda array, values: (array, [("a", values[0][1][::-1]), values[1]]),
        "complex": lambda array, values: (
            array.astype(complex),
            [(name, v.astype(complex)) for name, v in values],
        ),
        "every second": lambda array, values: (np.zeros(14)[::2], values),
        "a list": lambda array, values: (list(array), values),
        "read-only": lambda array, values: (np.broadcast_to(0.0, 7), values),
        "more than there is": lambda array, values: (array, [*values, ("c", 1.0)]),
    }.items(),
    ids=lambda change: change[0],
)
def test_what_is_not_one_array_is_not_found(table, change):
    array, values = change[1](*vector(("a", (2, 3)), ("b", (1,))))
    assert table.place(INPUT, array, values) is None


def test_variables_of_no_known_shape_or_type_are_not_found():
    dynamic = variable(INPUT, "x", ())
    dynamic.dynamic_shape = True
    table = Tables().get([dynamic])
    assert table.place(INPUT, *vector(("x", (1,)))) is None
    assert table.place(data.kDiscreteInput, *vector(("x", (1,)))) is None


def reply(kind, **values):
    made = []
    for name, value in values.items():
        name, _, subname = name.partition("__")
        array = data.Array(name=name, subname=subname, type=kind, start=0, end=len(value) - 1)
        array.data.extend(value)
        made.append(data.VariableMessage(continuous=array).SerializeToString())
    return made


def test_a_reply_is_put_into_the_array_when_all_has_come(table):
    array, values = vector(("mine", (1,)), ("f", (2,)), ("none", (0,)), ("yours", (1,)))
    flat = table.place(OUTPUT, array, values)
    assert table.read_outputs(reply(OUTPUT, f=[5.0, -0.0]), 1000, flat) == ({}, {})
    assert_identical(array, np.array([0.0, 5.0, -0.0, 3.0]))
    broken = [*reply(OUTPUT, f=[7.0, 7.0]), b"\x0a\x05"]
    with pytest.raises(ValueError, match="malformed VariableMessage"):
        table.read_outputs(broken, 1000, flat)
    with pytest.raises(ValueError, match="'f'"):
        table.read_outputs(reply(OUTPUT, f=[7.0]), 1000, flat)
    assert_identical(array, np.array([0.0, 5.0, -0.0, 3.0]))
    # What is not sent is zero, as in the client.
    table.read_outputs([], 1000, flat)
    assert_identical(array, np.array([0.0, 0.0, 0.0, 3.0]))


def test_partials_are_read_into_their_blocks(table):
    assert table.pairs() == (("f", "a"),)
    block = np.ones((2, 6))
    assert table.fits_partials([block])
    table.read_partials_into(reply(data.kPartial, f__a=list(range(12))), 1000, [block])
    assert_identical(block, np.arange(12.0).reshape(2, 6))
    table.read_partials_into([], 1000, [block])
    assert not block.any()


@pytest.mark.parametrize(
    "blocks",
    [[], [np.zeros((2, 6))] * 2, [np.zeros((2, 5))], [np.zeros((6, 2)).T], [np.zeros(12, complex)]],
    ids=["none", "two", "short", "turned", "complex"],
)
def test_blocks_that_do_not_fit(table, blocks):
    assert not table.fits_partials(blocks)
    with pytest.raises(ValueError, match="not those of the declared partials"):
        table.read_partials_into([], 1000, blocks)


def test_a_flat_array_of_another_table_is_refused(table):
    other = Tables().get([variable(INPUT, "a", (2, 3)), variable(INPUT, "b", (1,))])
    flat = other.place(INPUT, *vector(("a", (2, 3)), ("b", (1,))))
    assert not table.has_variables_of(other)
    assert not table.is_same(other)
    with pytest.raises(ValueError, match="made for other variables"):
        table.write_request(flat, None, None, None, 1000)
    with pytest.raises(ValueError, match="made for other variables"):
        other.read_outputs([], 1000, flat)


def test_an_array_that_has_shrunk_is_noticed(table):
    array, values = vector(("a", (2, 3)), ("b", (1,)))
    flat = table.place(INPUT, array, values)
    del values
    array.resize(3, refcheck=False)
    with pytest.raises(RuntimeError, match="has changed"):
        table.write_request(flat, None, None, None, 1000)
