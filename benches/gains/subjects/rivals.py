"""The calls of the rivals: the same bytes or the same array there and back, no Philote.

Where bytes travel they are those of a Philote request; an answer is that request.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack

from gains.children import Rival
from philote_fast.bench.counting import PREFIX
from philote_fast.bench.rivals import FLIGHT, RAW, ZEROMQ, array_messages, scalar_messages
from philote_fast.bench.subjects import rivals
from philote_fast.bench.timing import Subject


def rival(name: str, subject: str) -> Callable[[int], Subject]:
    """Make subjects of a rival that carries what a subject of Philote's does."""
    messages = scalar_messages if subject == "scalars" else array_messages

    def make(size: int) -> Subject:
        request = sum(len(message) + PREFIX for message in messages(size))
        exchanges = [(request, request)]
        stack = ExitStack()
        server = stack.enter_context(Rival(name, exchanges))
        made = rivals.call(name, server.address, subject, size, exchanges)
        stack.callback(made.close)
        return dataclasses.replace(made, close=stack.close)

    return make


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "raw.scalars": rival(RAW, "scalars"),
    "raw.echo": rival(RAW, "echo"),
    "zeromq.scalars": rival(ZEROMQ, "scalars"),
    "flight.echo": rival(FLIGHT, "echo"),
}
