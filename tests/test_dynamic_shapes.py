"""Dynamic shapes: set, set again, by this client and by another, and while calls are running."""

import threading

import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils import PhiloteServerError, PhiloteValidationError

from . import local
from .peers import channel_to
from .test_metadata_changes import check


class Dynamic(pmdo.ExplicitDiscipline):
    """An input and an output whose shapes the client sets."""

    def setup(self):
        self.add_input("x", dynamic_shape=True)
        self.add_output("y", dynamic_shape=True)

    def setup_partials(self):
        self.declare_partials("y", "x")

    def compute(self, inputs, outputs):
        outputs["y"] = inputs["x"] * 2

    def compute_partials(self, inputs, partials):
        partials["y", "x"] = np.diag(inputs["x"])


def set_shapes(client, size):
    client.send_variable_shapes(
        [
            client.set_variable_shape("x", (size,)),
            client.set_variable_shape("y", (size,), data.kOutput),
        ]
    )


def test_dynamic_shapes(flavour):
    with local.explicit(Dynamic()) as (client, _):
        with pytest.raises(PhiloteServerError, match="dynamic_shape=True but no shape"):
            client.run_compute({"x": np.ones(4)})
        for size in (4, 1000, 1, 2):
            set_shapes(client, size)
            check(client, size)


def test_shapes_given_as_an_iterator():
    """Stock uses the iterable twice, so that an iterator leaves its own metadata as it was."""
    with local.explicit(Dynamic()) as (client, _):
        client.send_variable_shapes(
            client.set_variable_shape(name, (4,), kind)
            for name, kind in (("x", data.kInput), ("y", data.kOutput))
        )
        check(client, 4)


def test_shapes_refused_change_nothing():
    with local.explicit(Dynamic()) as (client, servicer):
        set_shapes(client, 3)
        bad = [
            client.set_variable_shape("x", (9,)),
            client.set_variable_shape("q", (9,)),
        ]
        with pytest.raises(Exception, match="'q' not found"):
            client.send_variable_shapes(bad)
        shapes = [list(v.shape) for v in (*servicer._discipline._var_meta, *client._var_meta)]
        assert shapes == [[3]] * 4
        check(client, 3)


def test_shapes_of_residuals_follow_their_outputs(flavour):
    class Solver(pmdo.ImplicitDiscipline):
        def setup(self):
            self.add_input("x", dynamic_shape=True)
            self.add_output("y", dynamic_shape=True)

        def compute_residuals(self, inputs, outputs, residuals):
            residuals["y"] = outputs["y"] - inputs["x"]

    with local.implicit(Solver()) as (client, servicer):
        for size in (2, 6):
            set_shapes(client, size)
            values = np.arange(1.0, size + 1)
            found = client.run_compute_residuals({"x": values}, {"y": 3 * values})
            assert found["y"].tolist() == (2 * values).tolist()
            shapes = [list(v.shape) for v in (*servicer._discipline._var_meta, *client._var_meta)]
            assert shapes == [[size]] * 6


def test_another_client_sets_the_shapes():
    """The first client's metadata is then old. It is told so, with both sizes."""
    discipline = Dynamic()
    servicer = pmdo.ExplicitServer(discipline=discipline)
    with (
        local.served(servicer) as address,
        channel_to(address) as one,
        channel_to(address) as two,
    ):
        first, second = pmdo.ExplicitClient(one), pmdo.ExplicitClient(two)
        first.run_setup()
        for client in (first, second):
            client.get_variable_definitions()
            client.get_partials_definitions()
        set_shapes(first, 3)
        check(first, 3)
        for size in (5, 2):
            set_shapes(second, size)
            check(second, size)
            with pytest.raises(PhiloteServerError, match=f"'x'.*with {size} values"):
                first.run_compute({"x": np.ones(3)})
        set_shapes(first, 3)
        check(first, 3)


def test_shapes_changed_by_another_thread():
    """Calls of one size, while another client changes the shapes: right numbers or an error."""
    servicer = pmdo.ExplicitServer(discipline=Dynamic())
    stop = threading.Event()
    with (
        local.served(servicer) as address,
        channel_to(address) as one,
        channel_to(address) as two,
    ):
        client, other = pmdo.ExplicitClient(one), pmdo.ExplicitClient(two)
        client.run_setup()
        for each in (client, other):
            each.get_variable_definitions()
            each.get_partials_definitions()
        set_shapes(client, 3)

        def change():
            at = 0
            while not stop.is_set():
                at += 1
                set_shapes(other, 3 if at % 2 else 40)

        thread = threading.Thread(target=change)
        thread.start()
        refusals = []
        try:
            for at in range(300):
                try:
                    check(client, 3, start=float(at))
                except (PhiloteServerError, PhiloteValidationError) as error:
                    refusals.append(str(error))
        finally:
            stop.set()
            thread.join()
        assert all("declared with" in text for text in refusals), refusals
        set_shapes(client, 3)
        check(client, 3)
