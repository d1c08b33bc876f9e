"""What is left behind: by closing and stopping, by thousands of calls, and at a program's end."""

import sys
import textwrap
import threading

import pytest

from . import scripts
from .implementations import CLIENTS, NATIVE, PATIENCE, SERVERS
from .service import echo, serving

pytestmark = pytest.mark.skipif(
    NATIVE not in CLIENTS or NATIVE not in SERVERS, reason="there is no native transport"
)

ALIVE = {
    "an open channel": """
        channel = rpc.insecure_channel(address)
        assert channel.unary_unary(good)(b"a") == b"a"
    """,
    "a channel in a cycle": """
        class Cycle: pass
        cycle = Cycle()
        cycle.itself, cycle.channel = cycle, rpc.insecure_channel(address)
        assert cycle.channel.unary_unary(good)(b"a") == b"a"
    """,
    "a future": """
        channel = rpc.insecure_channel(address)
        future = channel.unary_unary(waiting).future(b"")
        future.add_done_callback(print)
        say("ready")
        sys.stdin.readline()
    """,
    "a stream": """
        channel = rpc.insecure_channel(address)
        call = channel.unary_stream(stream)(b"")
        next(call)
    """,
    "requests without end": """
        channel = rpc.insecure_channel(address)
        def requests():
            while True:
                yield b""
                time.sleep(0.01)
        call = channel.stream_stream(echoes)(requests())
        next(call)
    """,
    "daemon threads": """
        channel = rpc.insecure_channel(address)
        def wait():
            channel.unary_unary(waiting)(b"")
        def read():
            list(channel.unary_stream(stream)(b""))
        def call():
            while True:
                channel.unary_unary(good)(b"")
        for target in (wait, read, call, call):
            threading.Thread(target=target, daemon=True).start()
        say("ready")
        sys.stdin.readline()
    """,
    "a subscriber": """
        channel = rpc.insecure_channel(address)
        channel.subscribe(lambda state: None, try_to_connect=True)
        dead = rpc.insecure_channel("127.0.0.1:1")
        dead.subscribe(lambda state: None, try_to_connect=True)
        ready = grpc.channel_ready_future(dead)
    """,
    "a server": """
        server, there = serve()
        channel = rpc.insecure_channel(there)
        assert channel.unary_unary(good)(b"a") == b"a"
    """,
    "a server that was never started": """
        server = rpc.server(futures.ThreadPoolExecutor(2))
        server.add_insecure_port("127.0.0.1:0")
    """,
    "a server that is busy": """
        entered = threading.Event()
        def slow(request, context):
            entered.set()
            time.sleep(0.5)
            return b""
        class Slow(grpc.GenericRpcHandler):
            def service(self, details):
                return grpc.unary_unary_rpc_method_handler(slow)
        server, there = serve(1, Slow)
        channel = rpc.insecure_channel(there)
        calls = [channel.unary_unary(good).future(b"a") for _ in range(3)]
        entered.wait()
    """,
    "a call at exit": """
        channel = rpc.insecure_channel(address)
        def last():
            assert channel.unary_unary(good)(b"a", timeout=20) == b"a"
        atexit.register(last)
    """,
    "a channel closed at exit": """
        channel = rpc.insecure_channel(address)
        future = channel.unary_unary(waiting).future(b"")
        server, there = serve()
        atexit.register(channel.close)
        atexit.register(lambda: server.stop(None).wait(10))
    """,
    "objects that end slowly": """
        class Slow:
            def __del__(self, sleep=time.sleep):
                sleep(0.5)
        slow = Slow()
        channel = rpc.insecure_channel(address)
        threading.Thread(target=lambda: channel.unary_unary(waiting)(b""), daemon=True).start()
        say("ready")
        sys.stdin.readline()
    """,
}


@pytest.fixture(scope="module")
def peer(server):
    """Give the arguments with which a program calls: address and the paths of its methods."""
    release = threading.Event()
    entered = threading.Semaphore(0)

    def waiting(request, context):
        entered.release()
        release.wait(2 * PATIENCE)
        return b""

    def stream(request, context):
        yield b"1"
        release.wait(2 * PATIENCE)

    with serving(server, workers=40) as service:
        yield (
            (
                service.address,
                service.add("unary_unary", echo),
                service.add("unary_unary", waiting),
                service.add("unary_stream", stream),
                service.add("stream_stream", lambda requests, context: requests),
            ),
            entered,
        )
        release.set()


@pytest.mark.parametrize("case", ALIVE)
def test_a_program_may_end_with(case, peer, tmp_path):
    code = "address, good, waiting, stream, echoes = arguments\n" + textwrap.dedent(ALIVE[case])
    arguments, entered = peer
    with scripts.running(NATIVE, code, *arguments, directory=tmp_path) as process:
        if "stdin" in code:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            assert entered.acquire(timeout=PATIENCE)
        found = scripts.finish(process, "\n")
    assert (process.returncode, *found) == (0, "", "")


def test_the_exit_code_of_a_program(peer, tmp_path):
    """An exception that ends a program is told as usual, and its exit code stays."""
    code = "channel = rpc.insecure_channel(arguments[0])\n"
    code += "assert channel.unary_unary(arguments[1])(b'a') == b'a'\n"
    arguments, _ = peer
    found = scripts.run(NATIVE, code + "sys.exit(5)", *arguments, directory=tmp_path)
    assert found == (5, "", "")
    found = scripts.run(
        NATIVE, code + "raise ValueError('the end')", *arguments, directory=tmp_path
    )
    assert found[:2] == (1, "")
    assert found[2].endswith("ValueError: the end\n")


NOTHING_LEFT = """
def left():
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

def everything(close):
    server, address = serve()
    channel = rpc.insecure_channel(address)
    states = []
    channel.subscribe(states.append, try_to_connect=True)
    unary = channel.unary_unary("/any/thing")
    assert unary(b"a") == b"a"
    assert unary.future(b"a").result() == b"a"
    done = threading.Event()
    unary.future(b"a").add_done_callback(lambda _: done.set())
    done.wait(20)
    with rpc.insecure_channel("127.0.0.1:1") as dead:
        try:
            dead.unary_unary("/any/thing")(b"")
        except grpc.RpcError:
            pass
    if close == "channel first":
        channel.close()
        server.stop(None).wait(20)
    elif close == "server first":
        server.stop(None).wait(20)
        channel.close()
    else:
        server.stop(None)
    # The pool is the program's own.
    return server

def settle(before):
    "Threads of the program's own pools end a little later than they are asked to."
    import gc
    for _ in range(200):
        gc.collect()
        if left() <= before:
            return
        time.sleep(0.05)

class Pool(futures.ThreadPoolExecutor):
    made = []
    def __init__(self, *given):
        super().__init__(*given)
        Pool.made.append(self)

futures.ThreadPoolExecutor = Pool
before = left()
for close in ("channel first", "server first", "forgotten") * 3:
    everything(close)
    for pool in Pool.made:
        pool.shutdown()
    Pool.made.clear()
settle(before)
assert left() == before, (before, left(), threading.enumerate())
say("nothing")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_thread_and_no_socket_is_left(tmp_path):
    scripts.check(NATIVE, NOTHING_LEFT, directory=tmp_path, prints="nothing")


MEMORY = """
import gc
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def behaviour(requests, context):
    for request in requests:
        if request == b"fail":
            context.abort(grpc.StatusCode.NOT_FOUND, "x" * 1000)
        yield request

class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == "/unary/":
            return grpc.unary_unary_rpc_method_handler(echo)
        return grpc.stream_stream_rpc_method_handler(behaviour)

server, address = serve(4, Handler)
channel = rpc.insecure_channel(address)
unary, stream = channel.unary_unary("/unary/"), channel.stream_stream("/stream/")
metadata = [("key", "x" * 100), ("data-bin", b"y" * 100)]

def calls(count):
    for n in range(count):
        assert unary(b"request" * 100, metadata=metadata, timeout=60) == b"request" * 100
        if n % 10 == 0:
            assert list(stream(iter([b"1" * 10_000] * 3))) == [b"1" * 10_000] * 3
            try:
                list(stream(iter([b"fail"])))
            except grpc.RpcError as error:
                assert error.code() is grpc.StatusCode.NOT_FOUND
            stream(iter([b"1"])).cancel()
            unary.future(b"a").result()
            unary.future(b"a").cancel()

calls(1000)
before = resident()
calls(10_000)
grown = resident() - before
channel.close()
server.stop(None).wait(20)
say("flat" if grown < 12e6 else grown)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_flat(tmp_path):
    """Over ten thousand good calls and some thousands that fail or are cancelled."""
    scripts.check(NATIVE, MEMORY, directory=tmp_path, prints="flat")


CHANNELS = (
    MEMORY.split("server, address")[0]
    + """
server, address = serve(4, Handler)
def channels(count):
    for _ in range(count):
        with rpc.insecure_channel(address) as channel:
            assert channel.unary_unary("/unary/")(b"a") == b"a"
        rpc.insecure_channel(address)
        rpc.server(futures.ThreadPoolExecutor(1)).add_insecure_port("127.0.0.1:0")

channels(100)
before = resident()
channels(1000)
grown = resident() - before
server.stop(None).wait(20)
say("flat" if grown < 12e6 else grown)
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_channels(tmp_path):
    scripts.check(NATIVE, CHANNELS, directory=tmp_path, prints="flat")
