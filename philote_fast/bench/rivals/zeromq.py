"""ZeroMQ, REQ/REP: the bytes of one variable in each part."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import zmq

from philote_fast.bench.timing import Subject, nothing


def serve() -> tuple[int, Callable[[], None]]:
    """Serve until the process ends; give the port, and what ends it."""
    replier: Any = zmq.Context.instance().socket(zmq.REP)
    port = replier.bind_to_random_port("tcp://127.0.0.1")

    def loop() -> None:
        while True:
            replier.send_multipart(replier.recv_multipart())

    threading.Thread(target=loop, daemon=True).start()
    return port, nothing


def call(address: str, request: list[bytes]) -> Subject:
    """Make a subject that sends a request of one part for each message, and gets it back."""
    context = zmq.Context()
    requester = context.socket(zmq.REQ)
    requester.connect(f"tcp://{address}")

    def run() -> Any:
        requester.send_multipart(request)
        return requester.recv_multipart()

    def check(answer: Any) -> None:
        if answer != request:
            raise AssertionError("not the parts that were sent")

    return Subject(run, check, close=lambda: context.destroy(linger=0))
