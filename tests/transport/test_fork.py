"""Forking with channels and servers: the child never hangs, and the parent goes on."""

import os
import time

import pytest

from . import scripts
from .implementations import CLIENTS, NATIVE, SERVERS
from .service import echo

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    # grpcio's own support for forks has to be asked for, and hangs at times.
    pytest.mark.skipif(NATIVE not in CLIENTS or NATIVE not in SERVERS, reason="not native"),
]

# ``forked`` runs a function in a child, which ends as programs do; gives its exit code.
FORK = """
def forked(function):
    pid = os.fork()
    if pid == 0:
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(20)
        function()
        sys.exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def connect(address):
    return rpc.insecure_channel(address)

def outcome(call, *given, **keywords):
    "Its result, or the name of a clear error."
    try:
        return call(*given, **keywords)
    except (grpc.RpcError, grpc.FutureCancelledError, RuntimeError, ValueError) as error:
        assert str(error)
        return "refused"
"""

CHILD_CALLS = """
address, path = arguments
channel = connect(address)
unary = channel.unary_unary(path)
assert unary(b"first") == b"first"

def child():
    for _ in range(3):
        assert outcome(unary, b"child", timeout=10) in (b"child", "refused")
    with connect(address) as own:
        assert own.unary_unary(path)(b"own", timeout=10) == b"own"

for n in range(3):
    assert forked(child) == 7
    assert unary(b"parent", timeout=10) == b"parent"
unused = connect(address)
assert forked(lambda: outcome(unused.unary_unary(path), b"a", timeout=10)) == 7
assert unused.unary_unary(path)(b"parent", timeout=10) == b"parent"
assert forked(channel.close) == 7
assert unary(b"parent", timeout=10) == b"parent"
say("good")
"""


def check(code, service, tmp_path, *arguments):
    arguments = service.address, *arguments
    scripts.check(NATIVE, FORK + code, *arguments, directory=tmp_path, prints="good")


def test_an_inherited_channel(service, tmp_path):
    check(CHILD_CALLS, service, tmp_path, service.add("unary_unary", echo))


IN_FLIGHT = """
address, path, stream = arguments
channel = connect(address)
unary = channel.unary_unary(path)
future = unary.future(b"slow")
call = channel.unary_stream(stream)(b"3")
assert next(call) == b"0"

def child():
    assert outcome(future.result, timeout=10) in ("refused",)
    assert outcome(list, call) == "refused"
    assert outcome(future.code) is not None
    future.cancel()
    call.cancel()

assert forked(child) == 7
assert list(call) == [b"1", b"2"]
assert future.result(timeout=20) == b"slow"
channel.close()
say("good")
"""


def test_calls_in_flight(service, tmp_path):
    """In the child they have ended; in the parent they come to their own end."""

    def slow(request, context):
        time.sleep(1)
        return request

    def numbers(request, context):
        for n in range(int(request)):
            yield str(n).encode()
            time.sleep(0.5)

    paths = service.add("unary_unary", slow), service.add("unary_stream", numbers)
    check(IN_FLIGHT, service, tmp_path, *paths)


WHILE_OTHERS_CALL = """
address, path = arguments
channel = connect(address)
unary = channel.unary_unary(path)
stop, wrong, made = threading.Event(), [], []

def work():
    while not stop.is_set():
        try:
            assert unary(b"a", timeout=20) == b"a"
            made.append(1)
        except BaseException as error:
            wrong.append(error)
            return

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(10):
    assert forked(lambda: outcome(unary, b"child", timeout=10)) == 7
stop.set()
for thread in threads:
    thread.join()
assert not wrong, wrong
assert made
say("good")
"""


def test_forks_while_other_threads_call(service, tmp_path):
    check(WHILE_OTHERS_CALL, service, tmp_path, service.add("unary_unary", echo))


SERVER = """
server, address = serve()
channel = connect(address)
unary = channel.unary_unary("/any/thing")
assert unary(b"a", timeout=10) == b"a"

def child():
    outcome(server.stop, None)
    outcome(server.add_insecure_port, "127.0.0.1:0")
    outcome(server.start)

for _ in range(3):
    assert forked(lambda: None) == 7
    assert forked(child) == 7
    assert unary(b"b", timeout=10) == b"b"
    with connect(address) as another:
        assert another.unary_unary("/any/thing")(b"c", timeout=10) == b"c"

def own():
    another, there = serve()
    with connect(there) as channel:
        assert channel.unary_unary("/any/thing")(b"d", timeout=10) == b"d"
    another.stop(None).wait(10)

assert forked(own) == 7
server.stop(None).wait(10)
with connect(address) as late:
    assert outcome(late.unary_unary("/any/thing"), b"e", timeout=10) == "refused"
say("good")
"""


def test_an_inherited_server(service, tmp_path):
    """The child's copy is dead; the parent's serves on, and its port is free when it stops."""
    check(SERVER, service, tmp_path)


POOL = """
import multiprocessing
address, path = arguments
channel = connect(address)
unary = channel.unary_unary(path)
assert unary(b"first") == b"first"

def work(n):
    with connect(address) as own:
        found = own.unary_unary(path)(str(n).encode(), timeout=20)
    return found, outcome(unary, b"inherited", timeout=20)

with multiprocessing.get_context("fork").Pool(3) as pool:
    for n, (own, inherited) in enumerate(pool.map(work, range(12))):
        assert own == str(n).encode()
        assert inherited in (b"inherited", "refused")
assert unary(b"last", timeout=20) == b"last"
say("good")
"""


def test_a_pool_of_processes(service, tmp_path):
    check(POOL, service, tmp_path, service.add("unary_unary", echo))
