"""Whole calls: this process is the client, a child is the server."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import grpc
from philote_mdo.general import ExplicitClient

from gains.children import Server
from gains.flavours import server_flavour
from gains.subjects.metadata import check_shapes, shape_messages
from philote_fast.bench.subjects import calls
from philote_fast.bench.timing import Subject


def channel_to(problem: str, size: int, stack: ExitStack) -> grpc.Channel:
    """Start a server and give a channel to it."""
    server = stack.enter_context(Server(server_flavour(), problem, size))
    return open_channel(server.address, stack)


def open_channel(target: str, stack: ExitStack) -> grpc.Channel:
    """Give a channel of this process's flavour."""
    return stack.enter_context(grpc.insecure_channel(target))


def served(
    problem: str, make: Callable[[Any, int], Subject], problem_size: int | None = None
) -> Callable[[int], Subject]:
    """Make subjects of calls to a problem, which is of their own size if of no other."""

    def subject(size: int) -> Subject:
        stack = ExitStack()
        channel = channel_to(problem, problem_size or size, stack)
        made = make(channel, size)
        stack.callback(made.close)
        return dataclasses.replace(made, close=stack.close)

    return subject


def shapes(channel: Any, size: int) -> Subject:
    """Set the shapes of `size` dynamic variables on client and server."""
    client = calls.set_up(ExplicitClient(channel))
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

    return Subject(lambda: client.send_variable_shapes(messages), check)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "call.echo": served("echo", calls.echo),
    "call.scalars": served("scalars", calls.scalars),
    "call.gradient": served("gradient", calls.gradient),
    "call.shapes": served("dynamic", shapes),
}
