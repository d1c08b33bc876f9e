"""The calls of the rivals: the same bytes or the same array there and back, no Philote.

Where bytes travel they are those of a Philote request; an answer is that request.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from gains.children import Child
from gains.peer.tables import CHUNK
from gains.problems import doubles, same_bits
from gains.rivals import raw
from gains.timing import Subject
from philote_fast import wire


def scalar_messages(size: int) -> list[bytes]:
    """Give the messages of a request of `size` scalars."""
    values = doubles(size)
    return [wire.encode_array(values[index : index + 1], name=f"x{index}") for index in range(size)]


def array_messages(size: int) -> list[bytes]:
    """Give the messages of a request of one array."""
    values = doubles(size)
    return [
        wire.encode_array(values[start : start + CHUNK], name="x", start=start)
        for start in range(0, size, CHUNK)
    ]


def start(stack: ExitStack, rival: str, *arguments: object) -> int:
    """Start a server and give its port."""
    server = stack.enter_context(Child(f"gains.rivals.{rival}", *arguments))
    return int(server.read_line())


def socket_echo(messages: Callable[[int], list[bytes]]) -> Callable[[int], Subject]:
    """Make subjects that send a request as gRPC frames it, and read as many bytes."""

    def subject(size: int) -> Subject:
        # gRPC puts a flag and a length of four bytes before each message.
        framed = [b"\0" + len(part).to_bytes(4, "big") + part for part in messages(size)]
        request = b"".join(framed)
        answer = bytearray(len(request))
        stack = ExitStack()
        port = start(stack, "raw", len(request))
        connection = stack.enter_context(raw.connect(("127.0.0.1", port)))
        view = memoryview(answer)

        def run() -> None:
            connection.sendall(request)
            if not raw.receive(connection, view):
                raise ConnectionError("the echo has gone")

        def check(_: Any) -> None:
            if answer != request:
                raise AssertionError("not the bytes that were sent")
            # The next answer must not be right because this one was.
            answer[:] = bytes(len(answer))

        return Subject(run, check, close=stack.close)

    return subject


def zeromq(messages: Callable[[int], list[bytes]]) -> Callable[[int], Subject]:
    """Make subjects that send a request of one part for each message."""

    def subject(size: int) -> Subject:
        import zmq

        request = messages(size)
        stack = ExitStack()
        port = start(stack, "zeromq")
        context = stack.enter_context(zmq.Context())
        requester = stack.enter_context(context.socket(zmq.REQ))
        requester.connect(f"tcp://127.0.0.1:{port}")

        def run() -> Any:
            requester.send_multipart(request)
            return requester.recv_multipart()

        def check(answer: Any) -> None:
            if answer != request:
                raise AssertionError("not the parts that were sent")

        return Subject(run, check, close=stack.close)

    return subject


def flight_exchange(size: int) -> Subject:
    """Send an array as one batch of an exchange, and get it back; an exchange for each call."""
    import pyarrow as arrow
    from pyarrow import flight

    stack = ExitStack()
    port = start(stack, "flight")
    client = stack.enter_context(flight.FlightClient(f"grpc://127.0.0.1:{port}"))
    values = doubles(size)
    schema = arrow.schema([("x", arrow.float64())])
    descriptor = flight.FlightDescriptor.for_command(b"echo")

    def run() -> Any:
        writer, reader = client.do_exchange(descriptor)
        with writer:
            writer.begin(schema)
            writer.write_batch(arrow.record_batch([arrow.array(values)], schema=schema))
            writer.done_writing()
            return reader.read_chunk().data.column(0).to_numpy()

    return Subject(run, lambda got: same_bits(got, values), close=stack.close)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "raw.scalars": socket_echo(scalar_messages),
    "raw.echo": socket_echo(array_messages),
    "zeromq.scalars": zeromq(scalar_messages),
    "flight.echo": flight_exchange,
}
