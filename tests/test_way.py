"""``Way``: what is asked at each call of a remote component before values move as they did last."""

import numpy as np
import openmdao.api as om
import philote_mdo.generated.data_pb2 as data
import pytest

from philote_fast._core import Places, Tables, Way

INPUT, OUTPUT = data.kInput, data.kOutput
COMM = object()


def variable(kind, name):
    return data.VariableMetaData(type=kind, name=name, shape=(2,))


@pytest.fixture
def metadata():
    return [variable(INPUT, "x"), variable(OUTPUT, "y")]


@pytest.fixture
def vectors():
    """The inputs and the outputs of a component of OpenMDAO's own."""
    prob = om.Problem(reports=False)
    component = prob.model.add_subsystem("c", om.ExplicitComponent(), promotes=["*"])
    component.add_input("x", shape=2)
    component.add_output("y", shape=2)
    prob.setup()
    prob.final_setup()
    component._inputs.read_only = component._outputs.read_only = False
    return component._inputs, component._outputs


@pytest.fixture
def way(metadata, vectors):
    tables = Tables()
    table = tables.get(metadata)
    lanes = [
        (vector, table.place(kind, vector.asarray(), vector.items()))
        for kind, vector in zip((INPUT, OUTPUT), vectors, strict=True)
    ]
    return Way(tables, table, COMM, lanes[0], None, lanes[1], OUTPUT)


def reply(*values):
    array = data.Array(name="y", type=OUTPUT, start=0, end=1, data=values)
    return [data.VariableMessage(continuous=array).SerializeToString()]


def test_it_leads_while_all_is_as_it_was(way, vectors):
    inputs, outputs = vectors
    assert way.leads(COMM, inputs, None, outputs)
    assert not way.leads(object(), inputs, None, outputs)
    assert not way.leads(COMM, outputs, None, outputs)
    assert not way.leads(COMM, inputs, outputs, outputs)
    assert not way.leads(COMM, inputs, None, inputs)
    assert not way.leads(COMM, {"x": np.zeros(2)}, None, outputs)


@pytest.mark.parametrize("which", [0, 1])
def test_another_array_in_the_same_vector(way, vectors, which):
    array = vectors[which]._data
    vectors[which]._data = array.astype(complex)
    assert not way.leads(COMM, vectors[0], None, vectors[1])
    vectors[which]._data = array
    assert way.leads(COMM, vectors[0], None, vectors[1])


def test_a_vector_that_must_not_be_written(way, vectors):
    vectors[1].read_only = True
    assert not way.leads(COMM, vectors[0], None, vectors[1])


def test_a_call_from_vector_to_vector(way, metadata, vectors):
    vectors[0].set_val([3.0, -0.0])
    messages = way.write(None, None, 1000, lambda: None)
    (sent,) = map(data.VariableMessage.FromString, messages)
    assert (sent.continuous.name, list(sent.continuous.data)) == ("x", [3.0, -0.0])
    assert way.read(metadata, None, 1000, reply(5.0, 6.0)) == {}
    assert vectors[1].asarray().tolist() == [5.0, 6.0]


def test_metadata_that_says_something_else_by_now(way, metadata, vectors):
    before = vectors[1].asarray().tolist()
    metadata.append(variable(INPUT, "more"))
    assert way.read(metadata, None, 1000, reply(5.0, 6.0)) is None
    assert vectors[1].asarray().tolist() == before


def test_places_hold_stock_or_a_replacement():
    stock, ours, double = object(), object(), object()
    namespace = {"name": stock}
    places = Places([(namespace, "name")], [stock], {id(ours): "name"})
    assert places.untouched()
    for found, expected in [(ours, True), (double, False), (ours, True), (stock, True)]:
        namespace["name"] = found
        # Twice: what was accepted is compared with first.
        assert [places.untouched(), places.untouched()] == [expected, expected]
    namespace.clear()
    assert not places.untouched()
    with pytest.raises(ValueError, match="one object for each place"):
        Places([(namespace, "name")], [], {})
