"""Servers and calls of the rivals, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from philote_fast.bench.rivals import FLIGHT, RAW, array_messages, raw, scalar_messages
from philote_fast.bench.subjects.calls import scalars_of
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles


def serve(rival: str, exchanges: raw.Exchanges) -> tuple[int, Callable[[], None]]:
    """Serve a rival; give its port, and what ends it."""
    if rival == RAW:
        return raw.serve(exchanges)
    # Imported when they are asked for: not everybody has them.
    if rival == FLIGHT:
        from philote_fast.bench.rivals import flight

        return flight.serve()
    from philote_fast.bench.rivals import zeromq

    return zeromq.serve()


def call(rival: str, address: str, subject: str, size: int, exchanges: raw.Exchanges) -> Subject:
    """Make a subject of what a rival needs for what a subject of Philote's carries."""
    if rival == RAW:
        return raw.call(address, exchanges)
    if rival == FLIGHT:
        from philote_fast.bench.rivals import flight

        arrays: dict[str, Any] = scalars_of(size) if subject == "scalars" else {"x": doubles(size)}
        return flight.call(address, arrays)
    from philote_fast.bench.rivals import zeromq

    messages = scalar_messages if subject == "scalars" else array_messages
    return zeromq.call(address, messages(size))
