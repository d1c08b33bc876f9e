"""Ctrl-C and signal handlers that raise, wherever a program waits."""

import os
import signal
import threading

import pytest

from . import scripts
from .implementations import GRPCIO, PATIENCE
from .service import echo, serving

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")

WAITING = """
address, waiting, stream, joined, good = arguments
channel = rpc.insecure_channel(address)
server, _ = serve()
dead = rpc.insecure_channel("127.0.0.1:1")
never = threading.Event()

def requests():
    never.wait(60)
    yield b""

def a_future():
    channel.unary_unary(waiting).future(b"").result()

def ready():
    grpc.channel_ready_future(dead).result()

def wait_for_ready():
    dead.unary_unary(waiting)(b"", wait_for_ready=True)

WAYS = {
    "a call": lambda: channel.unary_unary(waiting)(b""),
    "a call with a timeout": lambda: channel.unary_unary(waiting)(b"", timeout=50),
    "a future": a_future,
    "a stream": lambda: next(channel.unary_stream(stream)(b"")),
    "a stream of requests": lambda: channel.stream_unary(joined)(requests()),
    "initial metadata": lambda: channel.unary_stream(stream)(b"").initial_metadata(),
    "a code": lambda: channel.unary_stream(stream)(b"").code(),
    "a channel that is not ready": ready,
    "a call that waits for a server": wait_for_ready,
    "a server's end": server.wait_for_termination,
}
for name, wait in WAYS.items():
    say("waiting for", name)
    try:
        wait()
        say("went on")
    except KeyboardInterrupt:
        say("interrupted")
    assert channel.unary_unary(good)(b"good") == b"good"
never.set()
dead.close()
channel.close()
server.stop(None).wait()
say("done")
"""


def test_ctrl_c(client, server, tmp_path):
    """It ends each way of waiting, the server sees the end, and the next call works."""
    entered, ended = threading.Semaphore(0), threading.Semaphore(0)
    release = threading.Event()

    def unary(request, context):
        context.add_callback(ended.release)
        entered.release()
        release.wait(PATIENCE)
        return b""

    def stream(request, context):
        yield unary(request, context)

    with serving(server, workers=12) as service:
        paths = [
            service.add("unary_unary", unary),
            service.add("unary_stream", stream),
            service.add("stream_unary", unary),
            service.add("unary_unary", echo),
        ]
        with scripts.running(
            client, WAITING, service.address, *paths, directory=tmp_path
        ) as process:
            try:
                _interrupt_each(process, entered, ended)
            finally:
                release.set()
            assert scripts.finish(process) == ("", "")
            assert process.returncode == 0


def _interrupt_each(process, entered, ended):
    for line in process.stdout:
        if line == "done\n":
            return
        assert line.startswith("waiting for"), line
        calls = "ready" not in line and "server" not in line
        if calls:
            assert entered.acquire(timeout=PATIENCE), line
        # The others give no sign of having begun to wait; and the call may still be on its way.
        threading.Event().wait(0.1 if calls else 0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n", line
        if calls:
            assert ended.acquire(timeout=PATIENCE), line
    raise AssertionError(process.stderr.read())


TERMINATING = """
class Stop(Exception):
    pass

def stop(*_):
    raise SystemExit(3) if arguments[2] == "exit" else Stop("stopped")

signal.signal(signal.SIGTERM, stop)
channel = rpc.insecure_channel(arguments[0])
try:
    channel.unary_unary(arguments[1])(b"")
except Stop as error:
    say(error)
"""


@pytest.mark.parametrize(("how", "code", "said"), [("exit", 3, ""), ("raise", 0, "stopped\n")])
def test_a_handler_that_raises(client, server, tmp_path, how, code, said):
    entered, release = threading.Event(), threading.Event()

    def behaviour(request, context):
        entered.set()
        release.wait(PATIENCE)
        return b""

    with serving(server) as service:
        path = service.add("unary_unary", behaviour)
        arguments = service.address, path, how
        with scripts.running(client, TERMINATING, *arguments, directory=tmp_path) as process:
            assert entered.wait(PATIENCE), process.stderr.read()
            process.send_signal(signal.SIGTERM)
            found = scripts.finish(process)
        release.set()
    assert (process.returncode, *found) == (code, said, "")


ANYWHERE = """
import random
armed = False

class Stop(Exception):
    pass

def stop(*_):
    if armed:
        raise Stop

def unraisable(given):
    "What is raised while an object ends goes nowhere, whoever wrote the object."
    if given.exc_type is not Stop:
        sys.__unraisablehook__(given)

sys.unraisablehook = unraisable
signal.signal(signal.SIGALRM, stop)
channel = rpc.insecure_channel(arguments[0])
unary, stream = channel.unary_unary(arguments[1]), channel.stream_stream(arguments[2])

def one():
    assert unary(b"1") == b"1"
    assert list(stream(iter([b"1", b"2", b"3"]))) == [b"1", b"2", b"3"]

one()
start = time.perf_counter()
one()
usual = time.perf_counter() - start
for _ in range(300):
    armed = True
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 1.2 * usual))
        one()
    except Stop:
        pass
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
one()
channel.close()
say("good")
"""


def test_a_handler_that_raises_at_any_point(client, service, tmp_path):
    """No call is left behind that would take the server's workers, and nothing is broken."""
    if client is GRPCIO:
        pytest.skip("grpcio waits for ever, or fails, when a handler raises in the wrong place")
    paths = (
        service.add("unary_unary", echo),
        service.add("stream_stream", lambda requests, context: requests),
    )
    arguments = service.address, *paths
    scripts.check(client, ANYWHERE, *arguments, directory=tmp_path, prints="good")


OTHER_THREADS = """
channel = rpc.insecure_channel(arguments[0])
waiting = channel.unary_unary(arguments[1])
results = []
def call():
    results.append(waiting(b"answer"))
thread = threading.Thread(target=call)
thread.start()
say("waiting")
try:
    waiting(b"")
except KeyboardInterrupt:
    say("interrupted")
thread.join()
say(results)
channel.close()
"""


def test_ctrl_c_leaves_the_calls_of_other_threads(client, server, tmp_path):
    entered, release = threading.Semaphore(0), threading.Event()

    def behaviour(request, context):
        entered.release()
        release.wait(PATIENCE)
        return request

    with serving(server) as service:
        path = service.add("unary_unary", behaviour)
        with scripts.running(
            client, OTHER_THREADS, service.address, path, directory=tmp_path
        ) as process:
            assert process.stdout.readline() == "waiting\n"
            for _ in range(2):
                assert entered.acquire(timeout=PATIENCE)
            threading.Event().wait(0.1)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            release.set()
            assert scripts.finish(process) == ("[b'answer']\n", "")
            assert process.returncode == 0
