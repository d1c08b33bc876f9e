"""What a discipline may set its outputs, residuals and partials to."""

import grpc
import numpy as np
import philote_mdo.general as pmdo
import pytest
from philote_mdo.utils import PhiloteServerError

from . import local
from .made import Explicit, Implicit
from .peers import assert_identical

FIVE = np.arange(1.0, 6.0)


def explicit(value):
    def compute(inputs, outputs):
        outputs["y"] = value() if callable(value) else value

    def partials(inputs, jacobian):
        jacobian["s", "x"] = value() if callable(value) else value

    return Explicit({"x": (5,)}, {"y": (5,), "s": (1,)}, compute, [("s", "x")], partials)


def implicit(value):
    def residuals(inputs, outputs, residuals):
        residuals["y"] = value() if callable(value) else value

    def solve(inputs, outputs):
        outputs["y"] = value() if callable(value) else value

    def partials(inputs, outputs, jacobian):
        jacobian["s", "x"] = value() if callable(value) else value

    return Implicit({"x": (5,)}, {"y": (5,), "s": (1,)}, residuals, solve, [("s", "x")], partials)


X, Y = {"x": np.ones(5)}, {"y": np.zeros(5), "s": np.zeros(1)}
CALLS = {
    "output": lambda client: client.run_compute(X)["y"],
    "partial": lambda client: client.run_compute_partials(X)["s", "x"],
    "residual": lambda client: client.run_compute_residuals(X, Y)["y"],
    "solved output": lambda client: client.run_solve_residuals(X)["y"],
    "partial of a residual": lambda client: client.run_residual_gradients(X, Y)["s", "x"],
}


@pytest.fixture(params=CALLS)
def call(request):
    """Give a function that makes a call of a discipline which sets that value."""

    def make(value):
        make_one, pair = (
            (explicit, local.explicit)
            if request.param in ("output", "partial")
            else (implicit, local.implicit)
        )
        with pair(make_one(value)) as (client, _):
            return CALLS[request.param](client)

    return make


ACCEPTED = {
    "float32": FIVE.astype("f4"),
    "float16": FIVE.astype("f2"),
    "big-endian": FIVE.astype(">f8"),
    "longdouble": FIVE.astype("longdouble"),
    "int64": FIVE.astype("i8"),
    "uint8": FIVE.astype("u1"),
    "bool": FIVE > 2,
    "objects": FIVE.astype(object),
    "strided": np.arange(1.0, 11.0)[::2],
    "reversed": FIVE[::-1],
    "two dimensions": FIVE.reshape(5, 1),
    "a row": FIVE.reshape(1, 5),
    "Fortran order": np.asfortranarray(FIVE.reshape(5, 1)),
    "spread": np.broadcast_to(7.0, 5),
    "read-only": np.frombuffer(FIVE.tobytes()),
    "NaN and infinities": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324]),
    "zeros": np.zeros(5),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_accepted(call, case, flavour):
    expected = ACCEPTED[case].astype("f8").ravel()
    assert_identical(call(ACCEPTED[case]), expected)


def test_complex_without_imaginary_part(call):
    assert_identical(call(FIVE.astype(complex)), FIVE)


REFUSED = {
    "complex": (FIVE + 1e-30j, "complex step"),
    "None among the objects": (np.array([1, None, 3, 4, 5], dtype=object), "element 1"),
    "text": (np.array(["1"] * 5), "dtype <U1"),
    "too short": (np.ones(3), r"shape \(5,\) \(5 values\).*shape \(3,\)"),
    "too long": (np.ones(7), r"shape \(5,\) \(5 values\).*shape \(7,\)"),
    "one for five": (np.ones(1), r"shape \(5,\) \(5 values\).*shape \(1,\)"),
    "a scalar array": (np.array(1.0), r"shape \(5,\) \(5 values\).*shape \(\)"),
    "a NumPy scalar": (np.float64(1), r"shape \(5,\) \(5 values\).*shape \(\)"),
    "none for five": (np.ones(0), r"shape \(5,\) \(5 values\).*shape \(0,\)"),
    "a list": ([1.0] * 5, "must be a NumPy array, got list"),
    "a float": (1.0, "must be a NumPy array, got float"),
    "None": (None, "must be a NumPy array, got NoneType"),
    "a function": (lambda: len, "must be a NumPy array, got builtin"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(call, case):
    value, text = REFUSED[case]
    with pytest.raises(PhiloteServerError, match=text) as caught:
        call(value)
    assert caught.value.__cause__.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "'y'" in str(caught.value) or "'s' with respect to 'x'" in str(caught.value)


SILENT = {
    "too short": (np.ones(3), [1.0, 1, 1, 0, 0]),
    "none for five": (np.ones(0), [0.0] * 5),
    "one for five": (np.ones(1), [1.0, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("case", SILENT)
def test_silent_wrong_numbers_of_stock(case, flavour):
    """The fault is real."""
    value, silent = SILENT[case]
    with local.explicit(explicit(value)) as (client, _):
        if flavour == "stock":
            assert client.run_compute(X)["y"].tolist() == silent
        else:
            with pytest.raises(PhiloteServerError, match="output 'y'"):
                client.run_compute(X)


@pytest.mark.parametrize("value", [2.5, -0.0, np.nan])
def test_a_numpy_scalar_for_one_value(value, flavour):
    """Stock takes whatever has a size and ravels, and so do we."""
    discipline = Explicit(
        {"x": (1,)}, {"y": (1,)}, lambda inputs, outputs: outputs.update(y=np.float64(value))
    )
    with local.explicit(discipline) as (client, _):
        assert_identical(client.run_compute({"x": np.ones(1)})["y"], np.array([value]))


class Ravels:
    """Not an array, and good enough for stock."""

    size = 5

    def ravel(self):
        return FIVE


def test_what_only_ravels(call, flavour):
    assert_identical(call(Ravels()), FIVE)


def test_forgotten(call_nothing, flavour):
    """What is not set stays zero, as in stock."""
    for value in call_nothing:
        assert value.ravel().tolist() == [0.0] * 5


@pytest.fixture
def call_nothing(flavour):
    with local.explicit(Explicit({"x": (5,)}, {"y": (5,)}, None, [("y", "x")])) as (client, _):
        yield [client.run_compute(X)["y"], client.run_compute_partials(X)["y", "x"][0]]


def test_undeclared(flavour):
    """Stock's client fails with the bare name; ours is told what it is about."""

    def compute(inputs, outputs):
        outputs["q"] = np.ones(5)

    def partials(inputs, jacobian):
        jacobian["y", "q"] = np.ones(5)

    discipline = Explicit({"x": (5,)}, {"y": (5,)}, compute, [("y", "x")], partials)
    with local.explicit(discipline) as (client, _):
        calls = {"output 'q'": client.run_compute, "'y' with respect to 'q'": None}
        calls["'y' with respect to 'q'"] = client.run_compute_partials
        for text, run in calls.items():
            if flavour == "stock":
                with pytest.raises(KeyError):
                    run(X)
            else:
                with pytest.raises(PhiloteServerError, match=f"{text}.*does not declare it"):
                    run(X)


@pytest.mark.parametrize("key", ["y", ("y",), ("y", "x", "z"), ["y", "x"], 5, None])
def test_a_partial_that_is_no_pair(key, flavour):
    def partials(inputs, jacobian):
        jacobian[key] = np.ones(5)

    with (
        local.explicit(Explicit(X_SHAPE, {"y": (1,)}, None, [("y", "x")], partials)) as (client, _),
        pytest.raises(PhiloteServerError, match=r"PairDict keys must be a 2-tuple, got"),
    ):
        client.run_compute_partials(X)


X_SHAPE = {"x": (5,)}


def test_names_that_are_no_text():
    for name in (None, 5, 1.5, ("y",), b"\xff"):
        discipline = Explicit(X_SHAPE, {"y": (5,)}, lambda i, o, name=name: o.update({name: FIVE}))
        with (
            local.explicit(discipline) as (client, _),
            pytest.raises(PhiloteServerError, match=r"must be a string|can't decode"),
        ):
            client.run_compute(X)


def test_bytes_for_a_name(flavour):
    """The protobuf runtime takes them for a text."""
    discipline = Explicit(X_SHAPE, {"y": (5,)}, lambda i, outputs: outputs.update({b"y": i["x"]}))
    with local.explicit(discipline) as (client, _):
        assert client.run_compute({b"x": FIVE})["y"].tolist() == FIVE.tolist()


def test_outputs_replaced_while_they_are_read():
    """An array whose conversion changes the dict does not confuse the reply."""

    class Meddling(np.ndarray):
        def ravel(self, *_):
            outputs_seen[0].clear()
            return super().ravel()

    outputs_seen = []

    def compute(inputs, outputs):
        outputs_seen[:] = [outputs]
        outputs["y"] = FIVE.view(Meddling)
        outputs["s"] = np.ones(1)

    discipline = Explicit(X_SHAPE, {"y": (5,), "s": (1,)}, compute)
    with local.explicit(discipline) as (client, _):
        assert client.run_compute(X)["y"].tolist() == FIVE.tolist()


def test_inputs_given_back_as_outputs(flavour):
    """The same array under two names, and an input as an output."""

    def compute(inputs, outputs):
        outputs["y"] = outputs["z"] = inputs["x"]

    with local.explicit(Explicit(X_SHAPE, {"y": (5,), "z": (5,)}, compute)) as (client, _):
        result = client.run_compute({"x": FIVE})
    assert_identical(result, {"y": FIVE, "z": FIVE})
    assert not np.shares_memory(result["y"], result["z"])


def test_a_discipline_that_is_not_of_philote_mdo(flavour):
    """Only what stock asks of a discipline is asked."""
    declared = Explicit(X_SHAPE, {"y": (5,)})
    declared.setup()

    class Duck:
        _var_meta = declared._var_meta
        _discrete_var_meta = ()
        _partials_meta = ()

        def compute(self, inputs, outputs):
            outputs["y"] = inputs["x"] + 1

    with local.explicit(Duck(), setup=False) as (client, _):
        client._var_meta = list(declared._var_meta)
        assert client.run_compute({"x": FIVE})["y"].tolist() == [2.0, 3, 4, 5, 6]
    assert isinstance(client, pmdo.ExplicitClient)
