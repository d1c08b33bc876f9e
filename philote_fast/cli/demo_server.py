"""The demo's server process: serves the spar until its parent closes it, or dies."""

from __future__ import annotations

import os
import sys
from concurrent import futures

import grpc
import philote_mdo.general as pmdo

import philote_fast
from philote_fast.cli.demo_discipline import SparDiscipline
from philote_fast.processes import wait_for_parent


def main(stations: int) -> None:
    """Serve a spar of ``stations`` stations, as any Philote script does, and print the port."""
    if os.environ.get("PHILOTE_FAST") != "0" and not philote_fast.installed():
        raise SystemExit(f"nothing is patched\n{philote_fast.status()}")
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
    pmdo.ExplicitServer(discipline=SparDiscipline(stations)).attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    wait_for_parent()
    server.stop(None).wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
