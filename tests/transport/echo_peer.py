"""A plain service and one that uses all of it, for any version of grpcio.

Imported by tests, and run as a file by the Python of another environment: ``echo_peer.py serve``
prints its port and serves until its input ends, ``echo_peer.py call ADDRESS`` prints what it found.
"""

import json
import sys
import threading
import time
from concurrent import futures

import grpc

OPTIONS = [("grpc.max_receive_message_length", 5_000_000)]


def _unary(request, context):
    metadata = dict(context.invocation_metadata())
    if "fail" in metadata:
        context.set_trailing_metadata((("why-bin", b"\x00\xff"), ("why", "because")))
        context.abort(grpc.StatusCode.DATA_LOSS, "lost: 50 %\n→")
    if "wait" in metadata:
        time.sleep(float(metadata["wait"]))
    context.send_initial_metadata(
        [pair for pair in context.invocation_metadata() if pair[0].startswith("key")]
    )
    context.set_trailing_metadata((("length", str(len(request))),))
    return request


def _stream(requests, context):
    context.set_compression(grpc.Compression.Gzip)
    yield from requests


def _split(request, context):
    for at in range(0, len(request), 1000):
        yield request[at : at + 1000]


def _join(requests, context):
    return b"".join(requests)


def _raising(request, context):
    raise ValueError("raised")


def handlers():
    """The service's methods."""
    return grpc.method_handlers_generic_handler(
        "test.Echo",
        {
            "Unary": grpc.unary_unary_rpc_method_handler(_unary),
            "Split": grpc.unary_stream_rpc_method_handler(_split),
            "Join": grpc.stream_unary_rpc_method_handler(_join),
            "Stream": grpc.stream_stream_rpc_method_handler(_stream),
            "Raising": grpc.unary_unary_rpc_method_handler(_raising),
        },
    )


def _failure(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except grpc.RpcError as error:
        return [error.code().name, error.details()]
    raise AssertionError("no failure")


def _own(metadata):
    names = "key", "key-bin", "length", "why", "why-bin"
    return [[key, repr(value)] for key, value in metadata if key in names]


def exercise(channel):
    """Call every method in many ways; gives what was found, as JSON has it."""
    unary = channel.unary_unary("/test.Echo/Unary")
    split = channel.unary_stream("/test.Echo/Split")
    join = channel.stream_unary("/test.Echo/Join")
    stream = channel.stream_stream("/test.Echo/Stream")
    found = {"sizes": [], "streams": []}
    for size in (0, 1, 100, 16_384, 70_000, 4_999_000):
        message = (bytes(range(256)) * (size // 256 + 1))[:size]
        parts = [message[at : at + 50_000] for at in range(0, size, 50_000)]
        found["sizes"].append(unary(message) == message)
        found["sizes"].append(unary(message, compression=grpc.Compression.Gzip) == message)
        found["streams"].append(b"".join(split(message)) == message)
        found["streams"].append(join(iter(parts)) == message)
        found["streams"].append(list(stream(iter(parts))) == parts)
    metadata = [("key", "value"), ("key", "other"), ("key-bin", bytes(range(200)))]
    _, call = unary.with_call(b"abc", metadata=metadata)
    found["initial"] = _own(call.initial_metadata())
    found["trailing"] = _own(call.trailing_metadata())
    found["failure"] = _failure(unary, b"", metadata=[("fail", "yes")])
    try:
        unary(b"", metadata=[("fail", "yes")])
    except grpc.RpcError as error:
        found["metadata of a failure"] = _own(error.trailing_metadata())
    found["raised"] = _failure(channel.unary_unary("/test.Echo/Raising"), b"")
    found["unknown"] = _failure(channel.unary_unary("/test.Echo/None"), b"")
    found["large"] = _failure(unary, bytes(5_000_001))[0]
    found["late"] = _failure(unary, b"", metadata=[("wait", "0.6")], timeout=0.1)
    future = unary.future(b"", metadata=[("wait", "0.5")])
    future.cancel()
    found["cancelled"] = [future.code().name, future.cancelled()]
    many = [unary.future(str(n).encode()) for n in range(200)]
    found["many"] = [each.result() for each in many] == [str(n).encode() for n in range(200)]
    found["threads"] = _from_threads(unary)
    return found


def _from_threads(unary):
    wrong = []

    def work(number):
        for n in range(50):
            text = f"{number} {n}".encode()
            if unary(text, timeout=60) != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not wrong


def _serve():
    server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[handlers()], options=OPTIONS)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(None).wait()


def _call(address):
    with grpc.insecure_channel(address, OPTIONS) as channel:
        print(json.dumps({"version": grpc.__version__, "found": exercise(channel)}))


if __name__ == "__main__":
    {"serve": _serve, "call": _call}[sys.argv[1]](*sys.argv[2:])
