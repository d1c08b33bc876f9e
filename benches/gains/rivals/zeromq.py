"""A ZeroMQ server that gives back each request, part by part."""

from __future__ import annotations

import zmq

from gains.rivals.lifetime import serve


def main() -> None:
    """Serve until standard input closes."""
    replier = zmq.Context.instance().socket(zmq.REP)
    port = replier.bind_to_random_port("tcp://127.0.0.1")

    def loop() -> None:
        while True:
            replier.send_multipart(replier.recv_multipart())

    serve(port, loop)


if __name__ == "__main__":
    main()
