"""Metadata that changes between two calls, by every route: what is computed is never stale."""

import numpy as np
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PhiloteServerError, PhiloteValidationError

from . import local
from .made import Explicit, Implicit


def doubling(size=3):
    return Explicit(
        {"x": (size,)},
        {"y": (size,)},
        lambda inputs, outputs: outputs.update(y=inputs["x"] * 2),
        [("y", "x")],
        lambda inputs, partials: partials.update({("y", "x"): np.diag(inputs["x"])}),
    )


def check(client, size, start=1.0):
    """Both calls of an explicit client give what they must for variables of that size."""
    x = np.arange(start, start + size)
    result = client.run_compute({"x": x})
    assert result["y"].tolist() == (2 * x).tolist()
    partials = client.run_compute_partials({"x": x})
    expected = np.diag(x) if size > 1 else x
    assert partials["y", "x"].shape == expected.shape
    assert partials["y", "x"].tolist() == expected.tolist()


def fetch_anew(client):
    """Get the definitions again; stock adds them to those that it has."""
    client._var_meta, client._discrete_var_meta, client._partials_meta = [], [], []
    client.get_variable_definitions()
    client.get_partials_definitions()


def test_setup_again_with_other_shapes(flavour):
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        for size in (7, 1, 4):
            servicer._discipline.declared = ({"x": (size,)}, {"y": (size,)})
            client.run_setup()
            fetch_anew(client)
            check(client, size)


def test_definitions_fetched_again_replace_the_first(flavour):
    """Stock's double; then its variables are twice there and OpenMDAO refuses them."""
    with local.explicit(doubling()) as (client, _):
        names = [v.name for v in client._var_meta]
        local.set_up(client)
        again = [v.name for v in client._var_meta]
        assert again == (names * 2 if flavour == "stock" else names)
        assert len(client._partials_meta) == (2 if flavour == "stock" else 1)
        check(client, 3)


def test_a_fetch_that_fails_keeps_what_was_there():
    with local.explicit(doubling()) as (client, servicer):
        before = list(client._var_meta)
        servicer._discipline._var_meta = [*before, "not metadata"]
        with pytest.raises(Exception, match="serializ"):
            client.get_variable_definitions()
        assert client._var_meta == before


def test_the_lists_are_the_same_objects_after_a_fetch():
    """Whoever holds the client's list of variables sees what was fetched."""
    with local.explicit(doubling()) as (client, _):
        held = client._var_meta, client._partials_meta, client._discrete_var_meta
        local.set_up(client)
        for one, other in zip(
            held,
            (client._var_meta, client._partials_meta, client._discrete_var_meta),
            strict=True,
        ):
            assert one is other


def test_clear_data_and_setup_called_on_the_discipline(flavour):
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        discipline = servicer._discipline
        discipline._clear_data()
        discipline.declared = ({"x": (5,)}, {"y": (5,)})
        discipline.setup()
        discipline.setup_partials()
        fetch_anew(client)
        check(client, 5)


def test_cleared_and_not_set_up():
    """Nothing is declared any more: clear errors, and none of the old arrays."""
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        servicer._discipline._clear_data()
        with pytest.raises(PhiloteServerError, match=r"'x'.*not declared"):
            client.run_compute({"x": np.ones(3)})


def test_another_discipline_attached(flavour):
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        other = doubling(6)
        other.setup()
        other.setup_partials()
        servicer.attach_discipline(other)
        fetch_anew(client)
        check(client, 6)
        servicer.attach_discipline(doubling(2))
        client.run_setup()
        fetch_anew(client)
        check(client, 2)


@pytest.mark.parametrize("sizes", [(1, 7), (100_000, 2), (3, 1000)])
def test_num_double_changed_on_either_side(sizes, flavour):
    with local.explicit(doubling(10)) as (client, servicer):
        for client_size in sizes:
            for server_size in sizes:
                client._stream_options.num_double = server_size
                client.send_stream_options()
                assert servicer._stream_opts.num_double == server_size
                client._stream_options.num_double = client_size
                check(client, 10)
        client._stream_options = data.StreamOptions(num_double=4)
        servicer._stream_opts = data.StreamOptions(num_double=3)
        check(client, 10)


@pytest.mark.parametrize("size", [0, -1, -(2**63)])
def test_num_double_of_nothing_is_refused_where_it_is_set(size):
    with local.explicit(doubling()) as (client, servicer):
        client._stream_options.num_double = size
        with pytest.raises(PhiloteValidationError, match=f"positive integer, got {size}"):
            client.send_stream_options()
        with pytest.raises(Exception, match=f"positive integer, got {size}"):
            client._disc_stub.SetStreamOptions(client._stream_options)
        assert servicer._stream_opts.num_double == 100_000
        with pytest.raises(PhiloteValidationError, match=f"positive integer, got {size}"):
            client.run_compute({"x": np.ones(3)})
        client._stream_options.num_double = 2
        check(client, 3)


def test_num_double_of_nothing_set_by_hand_on_the_server(flavour):
    with local.explicit(doubling()) as (client, servicer):
        servicer._stream_opts.num_double = 0
        with pytest.raises(PhiloteServerError, match="chunk_size must be a positive integer"):
            client.run_compute({"x": np.ones(3)})
        servicer._stream_opts.num_double = 2
        check(client, 3)


def edits():
    """Edits by hand, each as a function of the metadata that gives variables of five values."""

    def elements(owner):
        for variable in owner._var_meta:
            variable.shape[:] = [5]

    def replaced(owner):
        owner._var_meta[:] = [
            data.VariableMetaData(type=v.type, name=v.name, shape=[5]) for v in owner._var_meta
        ]

    def another_list(owner):
        owner._var_meta = [
            data.VariableMetaData(type=v.type, name=v.name, shape=[5]) for v in owner._var_meta
        ]

    def a_tuple(owner):
        another_list(owner)
        owner._var_meta = tuple(owner._var_meta)

    return [elements, replaced, another_list, a_tuple]


@pytest.mark.parametrize("edit", edits(), ids=lambda edit: edit.__name__)
def test_metadata_edited_by_hand(edit, flavour):
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        edit(servicer._discipline)
        edit(client)
        check(client, 5)


def test_a_request_of_the_old_size_after_an_edit_by_hand():
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        for owner in (client, servicer._discipline):
            owner._var_meta[0].shape[:] = owner._var_meta[1].shape[:] = [5]
        with pytest.raises(PhiloteValidationError, match=r"shape \(5,\).*shape \(3,\)"):
            client.run_compute({"x": np.ones(3)})
        check(client, 5)


def test_a_request_that_only_the_edited_metadata_of_the_client_refuses():
    """The old table lets it pass, the server too; the client's own metadata has the last word."""
    with local.explicit(doubling()) as (client, _):
        check(client, 3)
        client._var_meta[0].shape[:] = [5]
        for call in (client.run_compute, client.run_compute_partials):
            with pytest.raises(PhiloteValidationError, match=r"'x' is declared with the shape"):
                call({"x": np.ones(3)})
        client._var_meta[0].shape[:] = [3]
        check(client, 3)


def test_variables_added_and_taken_by_hand(flavour):
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        extra = [
            data.VariableMetaData(type=data.kInput, name="w", shape=[2]),
            data.VariableMetaData(type=data.kOutput, name="v", shape=[2]),
        ]
        for owner in (client, servicer._discipline):
            owner._var_meta.extend(extra)
        servicer._discipline.functions = (
            lambda inputs, outputs: outputs.update(y=inputs["x"], v=inputs["w"] + 1),
            None,
        )
        result = client.run_compute({"w": np.ones(2), "x": np.ones(3)})
        assert list(result) == ["y", "v"]
        assert result["v"].tolist() == [2.0, 2.0]
        for owner in (client, servicer._discipline):
            del owner._var_meta[1]
        servicer._discipline.functions = (lambda i, outputs: outputs.update(v=i["w"]), None)
        assert list(client.run_compute({"w": np.ones(2), "x": np.ones(3)})) == ["v"]


def test_a_variable_renamed_by_hand(flavour):
    with local.explicit(doubling()) as (client, servicer):
        check(client, 3)
        for owner in (client, servicer._discipline):
            owner._var_meta[1].name = "z"
        servicer._discipline.functions = (lambda i, outputs: outputs.update(z=i["x"]), None)
        assert client.run_compute({"x": np.ones(3)})["z"].tolist() == [1.0] * 3


def test_partials_edited_by_hand(flavour):
    discipline = Explicit(
        {"x": (3,)},
        {"y": (3,), "z": (1,)},
        None,
        [("y", "x")],
        lambda inputs, partials: [np.copyto(partials[key], 1.0) for key in partials] and None,
    )
    with local.explicit(discipline) as (client, servicer):
        assert client.run_compute_partials({"x": np.ones(3)})["y", "x"].shape == (3, 3)
        for owner in (client, servicer._discipline):
            owner._partials_meta.append(data.PartialsMetaData(name="z", subname="x"))
        found = client.run_compute_partials({"x": np.ones(3)})
        assert {key: value.shape for key, value in found.items()} == {
            ("y", "x"): (3, 3),
            ("z", "x"): (3,),
        }
        for owner in (client, servicer._discipline):
            owner._partials_meta[0].name = "z"
            del owner._partials_meta[1]
        assert {
            k: v.tolist() for k, v in client.run_compute_partials({"x": np.ones(3)}).items()
        } == {("z", "x"): [1.0] * 3}


def test_a_partial_of_a_shared_name(flavour):
    """An input and an output of one name: stock takes the shape of whichever is declared first."""
    discipline = Explicit({"x": (3,)}, {"x": (2,)}, None, [("x", "x")])
    with local.explicit(discipline) as (client, _):
        found = client.run_compute_partials({"x": np.ones(3)})["x", "x"]
    assert found.shape == ((3, 3) if flavour == "stock" else (2, 3))


def test_a_residual_by_a_shared_name():
    discipline = Implicit({"x": (3,)}, {"x": (2,)}, None, None, [("x", "x")])
    with local.implicit(discipline) as (client, _):
        found = client.run_residual_gradients({"x": np.ones(3)}, {"x": np.ones(2)})["x", "x"]
    assert found.shape == (2, 3)


def test_a_partial_of_nothing():
    discipline = Explicit({"x": (3,)}, {"y": (2,)}, None, [("y", "q")])
    with local.explicit(discipline) as (client, _):
        assert client.run_compute({"x": np.ones(3)})["y"].shape == (2,)
        text = "'y' with respect to 'q'.*no variable 'q'"
        with pytest.raises(PhiloteValidationError, match=text):
            client.run_compute_partials({"x": np.ones(3)})
        client._partials_meta = []
        with pytest.raises(PhiloteServerError, match=text):
            client.run_compute_partials({"x": np.ones(3)})
