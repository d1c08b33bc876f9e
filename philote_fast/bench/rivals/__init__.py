"""Other ways to carry what a call carries: a bare socket, ZeroMQ, Arrow Flight.

Each gives back what it gets. They carry bytes or arrays, know nothing of Philote, and so have no
values to set or to read.
"""

from __future__ import annotations

from philote_fast import wire
from philote_fast.bench.values import doubles
from philote_fast.patches.state import NUM_DOUBLE

RAW, ZEROMQ, FLIGHT = "raw", "zeromq", "flight"


def scalar_messages(size: int) -> list[bytes]:
    """Give the messages of a request of `size` scalars."""
    values = doubles(size)
    return [wire.encode_array(values[index : index + 1], name=f"x{index}") for index in range(size)]


def array_messages(size: int) -> list[bytes]:
    """Give the messages of a request of one array."""
    values = doubles(size)
    return [
        wire.encode_array(values[start : start + NUM_DOUBLE], name="x", start=start)
        for start in range(0, size, NUM_DOUBLE)
    ]
