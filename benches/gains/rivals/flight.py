"""An Arrow Flight server that gives back the batches of an exchange."""

from __future__ import annotations

from typing import Any

import pyarrow.flight as flight

from gains.rivals.lifetime import serve


class Echo(flight.FlightServerBase):
    """Writes each batch that it reads."""

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        begun = False
        for chunk in reader:
            if not begun:
                writer.begin(chunk.data.schema)
                begun = True
            writer.write_batch(chunk.data)


def main() -> None:
    """Serve until standard input closes."""
    server = Echo("grpc://127.0.0.1:0")
    serve(server.port, server.serve)


if __name__ == "__main__":
    main()
