"""Whole calls: this process is the client, a child is the server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import grpc
import numpy as np
from philote_mdo.general import ExplicitClient

from gains.children import Server
from gains.flavours import server_flavour
from gains.problems import doubles, same_bits
from gains.subjects.metadata import check_shapes, shape_messages
from gains.timing import Subject


def channel_to(problem: str, size: int, stack: ExitStack) -> grpc.Channel:
    """Start a server and give a channel to it."""
    server = stack.enter_context(Server(server_flavour(), problem, size))
    return open_channel(server.target, stack)


def open_channel(target: str, stack: ExitStack) -> grpc.Channel:
    """Give a channel of this process's flavour."""
    return stack.enter_context(grpc.insecure_channel(target))


def connect(problem: str, size: int, stack: ExitStack) -> ExplicitClient:
    """Start a server and give a client that is set up for it."""
    return set_up(ExplicitClient(channel_to(problem, size, stack)))


def set_up(client: ExplicitClient) -> ExplicitClient:
    """Make a client ready for calls, as the OpenMDAO component does."""
    client.send_stream_options()
    client.run_setup()
    client.get_variable_definitions()
    client.get_partials_definitions()
    return client


def echo(size: int) -> Subject:
    """Send `size` doubles and get them back."""
    stack = ExitStack()
    client = connect("echo", size, stack)
    values = doubles(size)
    inputs = {"x": values}

    def check(outputs: Any) -> None:
        if list(outputs) != ["y"]:
            raise AssertionError(f"expected y, got {list(outputs)}")
        same_bits(outputs["y"], values)

    return Subject(lambda: client.run_compute(inputs), check, close=stack.close)


def scalars(size: int) -> Subject:
    """Send `size` scalars and get as many back."""
    stack = ExitStack()
    client = connect("scalars", size, stack)
    values = doubles(size)
    inputs = {f"x{index}": values[index : index + 1] for index in range(size)}

    def check(outputs: Any) -> None:
        if list(outputs) != [f"y{index}" for index in range(size)]:
            raise AssertionError("not the outputs that were declared")
        same_bits(np.concatenate(list(outputs.values())), values)

    return Subject(lambda: client.run_compute(inputs), check, close=stack.close)


def gradient(size: int) -> Subject:
    """Ask for `size` declared partials of a discipline with `size` scalar inputs."""
    stack = ExitStack()
    client = connect("gradient", size, stack)
    values = doubles(size)
    inputs = {f"x{index}": values[index : index + 1] for index in range(size)}

    def check(partials: Any) -> None:
        if list(partials) != [("f", f"x{index}") for index in range(size)]:
            raise AssertionError("not the partials that were declared")
        same_bits(np.concatenate(list(partials.values())), values)

    return Subject(lambda: client.run_compute_partials(inputs), check, close=stack.close)


def shapes(size: int) -> Subject:
    """Set the shapes of `size` dynamic variables on client and server."""
    stack = ExitStack()
    client = connect("dynamic", size, stack)
    messages = shape_messages(size)

    def fetch() -> None:
        client._var_meta = []
        client.get_variable_definitions()

    def check(_: Any) -> None:
        check_shapes(client._var_meta, size)
        # The server tells what shapes it has; then both forget them.
        fetch()
        check_shapes(client._var_meta, size)
        client.run_setup()
        fetch()

    return Subject(lambda: client.send_variable_shapes(messages), check, close=stack.close)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "call.echo": echo,
    "call.scalars": scalars,
    "call.gradient": gradient,
    "call.shapes": shapes,
}
