"""The peer gives stock's answers: a rival that cheats would make the ratios worthless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import grpc
import numpy as np
import philote_mdo.generated.data_pb2 as data
import pytest
from gains.children import Server
from gains.flavours import PEER, STOCK, flavoured
from gains.peer import codec
from gains.subjects.codec import stock_message
from philote_mdo.general import ExplicitClient, ExplicitDiscipline
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast.bench.values import doubles, same_bits

# 12 and 13 stand on the two sides of the peer's own limit for small arrays.
SIZES = (1, 2, 12, 13, 1000, 100_000, 100_001)


@pytest.mark.parametrize("size", SIZES)
def test_message_is_what_stock_builds(size: int) -> None:
    values = doubles(size)
    got = codec.message(values, "x", 0)
    assert got.SerializeToString() == stock_message(values).SerializeToString()


@pytest.mark.parametrize("layout", ["reversed", "strided", "big-endian", "float32", "F-ordered"])
def test_layouts_are_written_as_stock_does(layout: str) -> None:
    values = {
        "reversed": np.arange(24.0)[::-1],
        "strided": np.arange(48.0)[::2],
        "big-endian": np.arange(24.0, dtype=">f8"),
        "float32": np.arange(24, dtype=np.float32),
        "F-ordered": np.asfortranarray(np.arange(24.0).reshape(4, 6)),
    }[layout]
    (got,) = codec.messages(values, "x", 0, 1000)
    assert got.SerializeToString() == stock_message(values).SerializeToString()


def test_unknown_fields_do_not_shift_the_payload() -> None:
    values = doubles(40)
    array = codec.message(values, "x", 0).continuous
    array.MergeFromString(b"\x7a\x03abc")
    flat = np.zeros(40)
    codec.copy_out(array, flat)
    same_bits(flat, values)


@pytest.fixture(params=[(STOCK, PEER), (PEER, STOCK), (PEER, PEER)], ids="-".join)
def flavours(request: Any) -> Any:
    return request.param


@pytest.fixture
def connected(flavours: Any) -> Iterator[Any]:
    """Give clients of one flavour that call servers of another."""
    client_flavour, server_flavour = flavours
    with ExitStack() as stack:

        def connect(problem: str, size: int) -> ExplicitClient:
            server = stack.enter_context(Server(server_flavour, problem, size))
            client = ExplicitClient(stack.enter_context(grpc.insecure_channel(server.address)))
            client.send_stream_options()
            client.run_setup()
            client.get_variable_definitions()
            client.get_partials_definitions()
            return client

        stack.enter_context(flavoured(client_flavour))
        yield connect


@pytest.mark.parametrize("size", [1, 2500, 100_001])
def test_values_arrive_between_flavours(connected: Any, size: int) -> None:
    values = doubles(size)
    same_bits(connected("echo", size).run_compute({"x": values})["y"], values)


def test_partials_arrive_between_flavours(connected: Any) -> None:
    values = doubles(7)
    inputs = {f"x{index}": values[index : index + 1] for index in range(7)}
    partials = connected("gradient", 7).run_compute_partials(inputs)
    assert list(partials) == [("f", f"x{index}") for index in range(7)]
    same_bits(np.concatenate(list(partials.values())), values)


def test_shapes_arrive_between_flavours(connected: Any) -> None:
    client = connected("dynamic", 3)
    kind = data.VariableType.kInput
    client.send_variable_shapes([client.set_variable_shape("x1", (2, 3), kind)])
    client._var_meta = []
    client.get_variable_definitions()
    assert [tuple(meta.shape) for meta in client._var_meta] == [(), (2, 3), (), (1,)]


def test_duplicates_are_refused_until_the_data_is_cleared() -> None:
    with flavoured(PEER):
        discipline = ExplicitDiscipline()
        discipline.add_input("x")
        discipline.add_output("x")
        with pytest.raises(PhiloteValidationError, match="'x' is already defined"):
            discipline.add_input("x")
        discipline._clear_data()
        discipline.add_input("x")
