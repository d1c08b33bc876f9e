"""A server process: ``python -m gains.server FLAVOUR PROBLEM SIZE``.

It prints its port, and ends when its standard input closes: at the latest with its parent.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from philote_mdo.general import ExplicitServer

from gains.flavours import flavoured
from gains.problems import PROBLEMS
from philote_fast.processes import wait_for_parent


def serve(problem: str, size: int) -> None:
    """Serve a problem on a free port of the loopback until standard input closes."""
    server = grpc.server(ThreadPoolExecutor(max_workers=10))
    ExplicitServer(discipline=PROBLEMS[problem](size)).attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    wait_for_parent()
    server.stop(None).wait()


def main() -> None:
    """Run the server that the command line asks for."""
    flavour, problem, size = sys.argv[1:]
    with flavoured(flavour):
        serve(problem, int(size))


if __name__ == "__main__":
    main()
