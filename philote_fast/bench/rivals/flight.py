"""Arrow Flight: an exchange for each call, with the arrays of it as one batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as arrow
from numpy.typing import NDArray
from pyarrow import flight

from philote_fast.bench.timing import Subject
from philote_fast.bench.values import same_bits


class Echo(flight.FlightServerBase):  # type: ignore[misc] # pyarrow has no types
    """Writes each batch that it reads."""

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Give an exchange back."""
        begun = False
        for chunk in reader:
            if not begun:
                writer.begin(chunk.data.schema)
                begun = True
            writer.write_batch(chunk.data)


def serve() -> tuple[int, Callable[[], None]]:
    """Serve until the process ends; give the port, and what ends it."""
    server = Echo("grpc://127.0.0.1:0")
    threading.Thread(target=server.serve, daemon=True).start()
    return server.port, server.shutdown


def call(address: str, arrays: Mapping[str, NDArray[np.float64]]) -> Subject:
    """Make a subject that sends arrays of one length as one batch, and gets them back."""
    client = flight.FlightClient(f"grpc://{address}")
    schema = arrow.schema([(name, arrow.float64()) for name in arrays])
    descriptor = flight.FlightDescriptor.for_command(b"echo")

    def run() -> Any:
        writer, reader = client.do_exchange(descriptor)
        with writer:
            writer.begin(schema)
            columns = [arrow.array(values) for values in arrays.values()]
            writer.write_batch(arrow.record_batch(columns, schema=schema))
            writer.done_writing()
            return [column.to_numpy() for column in reader.read_chunk().data.columns]

    def check(found: Any) -> None:
        for got, expected in zip(found, arrays.values(), strict=True):
            same_bits(got, expected)

    return Subject(run, check, close=client.close)
