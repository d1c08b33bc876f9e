"""Calls of many messages, driven by ourselves on grpcio's own channel and server."""

import os
import signal
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
import pytest
from philote_mdo.utils.validation import PhiloteServerError

import philote_fast
from philote_fast.patches import grpcio_client, grpcio_server

from . import local, peers
from .interrupting import at_any_point

MANY = 300


class Many(pmdo.ExplicitDiscipline):
    """Doubles many scalars and one large array; can be told to wait, fail or die."""

    def setup(self):
        for k in range(MANY):
            self.add_input(f"x{k}")
            self.add_output(f"y{k}")
        self.add_input("big", shape=(300_000,))
        self.add_output("twice", shape=(300_000,))
        self.waiting = threading.Event()
        self.released = threading.Event()
        self.fail = None

    def compute(self, inputs, outputs):
        self.waiting.set()
        if self.fail == "wait":
            self.released.wait(30)
        if self.fail == "raise":
            raise ValueError("no")
        for k in range(MANY):
            outputs[f"y{k}"] = 2 * inputs[f"x{k}"]
        outputs["twice"] = 2 * inputs["big"]


def values(start=0.0):
    inputs = {f"x{k}": np.array([start + k]) for k in range(MANY)}
    return {**inputs, "big": np.arange(300_000.0) + start}


def check(client, start=0.0):
    inputs = values(start)
    outputs = client.run_compute(inputs)
    for k in range(MANY):
        assert outputs[f"y{k}"].tolist() == [2 * (start + k)]
    np.testing.assert_array_equal(outputs["twice"], 2 * inputs["big"])


@pytest.mark.parametrize("num_double", [1_000, 100_000])
def test_many_and_large_messages(num_double, flavour):
    with local.explicit(Many()) as (client, server):
        client._stream_options.num_double = server._stream_opts.num_double = num_double
        for start in range(3):
            check(client, float(start))


def test_many_threads_and_channels():
    with local.explicit(Many()) as (client, _), peers.client_side("patched"):
        errors = []

        def work(start):
            try:
                for at in range(5):
                    check(client, start + at)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(100.0 * n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []


def test_an_error_of_the_server_is_an_rpc_error_with_all_its_parts(flavour):
    with local.explicit(Many()) as (client, server):
        server._discipline.fail = "raise"
        with pytest.raises(PhiloteServerError, match="ComputeFunction failed: no") as caught:
            client.run_compute(values())
        cause = caught.value.__cause__
        assert isinstance(cause, grpc.RpcError)
        assert isinstance(cause, grpc.Call)
        assert cause.code() is grpc.StatusCode.INTERNAL
        assert cause.details() == "ComputeFunction failed: no"
        assert "ComputeFunction failed" in cause.debug_error_string()
        assert list(cause.trailing_metadata() or ()) == []
        server._discipline.fail = None
        check(client)


def test_an_unreachable_server(flavour):
    with peers.channel_to("127.0.0.1:1") as channel:
        client = pmdo.ExplicitClient(channel)
        with pytest.raises(PhiloteServerError, match="Server error during run_compute") as caught:
            client.run_compute({"x": np.zeros(3)})
        assert caught.value.__cause__.code() is grpc.StatusCode.UNAVAILABLE


def test_a_closed_channel(flavour):
    with peers.channel_to("127.0.0.1:1") as channel:
        client = pmdo.ExplicitClient(channel)
    with pytest.raises(ValueError, match=r"(?i)channel closed|closed channel"):
        client.run_compute({"x": np.zeros(3)})


def test_a_channel_closed_in_the_middle_of_a_call(flavour):
    with local.explicit(Many()) as (client, server):
        discipline = server._discipline
        discipline.fail = "wait"
        with local.served(server) as address:
            channel = grpc.insecure_channel(address)
            second = pmdo.ExplicitClient(channel)
            second._var_meta = client._var_meta
            caught = []

            def call():
                try:
                    second.run_compute(values())
                except Exception as error:
                    caught.append(error)

            thread = threading.Thread(target=call)
            discipline.waiting.clear()
            thread.start()
            assert discipline.waiting.wait(10)
            channel.close()
            thread.join(10)
            assert not thread.is_alive()
            discipline.released.set()
        assert [type(error) for error in caught] == [PhiloteServerError]
        assert caught[0].__cause__.code() is grpc.StatusCode.CANCELLED


SCRIPT = """
import signal, sys, threading, time
import numpy as np, grpc
import philote_fast
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data
channel = grpc.insecure_channel(sys.argv[1])
client = pmdo.ExplicitClient(channel)
client.get_variable_definitions()
inputs = {v.name: np.zeros(tuple(v.shape)) for v in client._var_meta if v.type == 0}
print("calling", flush=True)
try:
    client.run_compute(inputs)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
print("again", client.run_compute(inputs)["twice"].size, flush=True)
channel.close()
print(threading.active_count(), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_a_waiting_call_and_the_next_one_works(tmp_path):
    with local.explicit(Many()) as (_, server), local.served(server) as address:
        discipline = server._discipline
        discipline.fail = "wait"
        discipline.waiting.clear()
        command = [sys.executable, "-c", SCRIPT, address]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=tmp_path) as child:
            assert child.stdout.readline() == "calling\n"
            assert discipline.waiting.wait(30)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            discipline.fail = None
            discipline.released.set()
            answer, _ = child.communicate("\n", timeout=30)
        assert answer.splitlines() == ["again 300000", "1"]
        assert child.returncode == 0


class Raising:
    """A call of grpcio's where a signal handler raises, once, beside one of its methods."""

    def __init__(self, call, method, at, after):
        self._call, self._method, self._left, self._after = call, method, at, after

    def _do(self, name, *arguments):
        self._left -= name == self._method
        raises = self._left == 0 and name == self._method
        if raises and not self._after:
            raise KeyboardInterrupt
        answer = getattr(self._call, name)(*arguments)
        if raises:
            raise KeyboardInterrupt
        return answer

    def operate(self, *arguments):
        return self._do("operate", *arguments)

    def next_event(self):
        return self._do("next_event")

    def cancel(self, *arguments):
        return self._do("cancel", *arguments)


@at_any_point
def test_an_interruption_at_any_point_ends_the_call(monkeypatch, method, at, after):
    create = grpcio_client._create
    discipline = Many()
    servicer = pmdo.ExplicitServer(discipline=discipline)
    # With a single worker a call that is not ended stops all others.
    with local.served(servicer, workers=1) as address, peers.channel_to(address) as channel:
        client = pmdo.ExplicitClient(channel)
        local.set_up(client)
        with monkeypatch.context() as patch, peers.client_side("patched"):
            patch.setattr(grpcio_client, "_create", lambda m: Raising(create(m), method, at, after))
            with pytest.raises(KeyboardInterrupt):
                client.run_compute(values())
        check(client)


SIGNALS_SCRIPT = """
import faulthandler, random, signal, sys, time
faulthandler.dump_traceback_later(100, exit=True)
import numpy as np, grpc
import philote_fast
import philote_mdo.general as pmdo
class Stop(Exception):
    pass
armed = False
def stop(*_):
    if armed:
        raise Stop
signal.signal(signal.SIGALRM, stop)
channel = grpc.insecure_channel(sys.argv[1])
client = pmdo.ExplicitClient(channel)
client.get_variable_definitions()
inputs = {v.name: np.ones(tuple(v.shape)) for v in client._var_meta if v.type == 0}
del inputs["big"]
client.run_compute(inputs)
start = time.perf_counter()
client.run_compute(inputs)
usual = time.perf_counter() - start
for _ in range(300):
    armed = True
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, usual))
        client.run_compute(inputs)
    except Stop:
        pass
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
print(client.run_compute(inputs)["y7"])
channel.close()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_signal_handlers_that_raise_leave_no_call_behind(tmp_path):
    servicer = pmdo.ExplicitServer(discipline=Many())
    with local.served(servicer, workers=1) as address:
        with peers.channel_to(address) as channel:
            pmdo.ExplicitClient(channel).run_setup()
        command = [sys.executable, "-c", SIGNALS_SCRIPT, address]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[2.]\n", "")


EXIT_SCRIPT = """
import sys, threading, time
import numpy as np, grpc
import philote_fast
import philote_mdo.general as pmdo
client = pmdo.ExplicitClient(grpc.insecure_channel(sys.argv[1]))
client.get_variable_definitions()
inputs = {v.name: np.zeros(tuple(v.shape)) for v in client._var_meta if v.type == 0}
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(1)
slow = Slow()
threading.Thread(target=client.run_compute, args=(inputs,), daemon=True).start()
sys.stdin.readline()
"""


def test_a_process_may_exit_while_a_daemon_thread_waits_for_a_reply(tmp_path):
    with local.explicit(Many()) as (_, server), local.served(server) as address:
        discipline = server._discipline
        discipline.fail = "wait"
        discipline.waiting.clear()
        command = [sys.executable, "-c", EXIT_SCRIPT, address]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path
        ) as child:
            assert discipline.waiting.wait(30)
            answer = child.communicate("\n", timeout=30)
        discipline.released.set()
        assert (child.returncode, *answer) == (0, "", "")


def test_a_server_killed_in_the_middle_of_a_call(flavour):
    server = peers.start_server("disciplines:Slow")
    with server, peers.channel_to(server.address) as channel:
        client = pmdo.ExplicitClient(channel)
        local.set_up(client)
        killer = threading.Timer(1.0, os.kill, (server.pid, signal.SIGKILL))
        killer.start()
        with pytest.raises(PhiloteServerError) as caught:
            client.run_compute({"x": np.zeros(1)})
        killer.join()
        assert caught.value.__cause__.code() is grpc.StatusCode.UNAVAILABLE


def test_a_flood_of_requests_waits_in_the_channel():
    """A server whose handler does not read takes no more than it may."""
    taken = []

    def handler(requests, context):
        stream = grpcio_server.requests_of(requests)
        next(stream)
        deadline = time.monotonic() + 30
        before = -1
        while before != stream._bytes and time.monotonic() < deadline:
            before = stream._bytes
            time.sleep(0.5)
        taken.append(stream._bytes)
        rest = sum(len(request) for request in stream)
        return grpcio_server.send_all(context, [str(rest + 1_000_000).encode()])

    method = grpc.stream_stream_rpc_method_handler(handler)
    generic = grpc.method_handlers_generic_handler("flood.Service", {"Take": method})
    with local.generic_server(generic) as address, peers.channel_to(address) as channel:
        call = channel.stream_stream("/flood.Service/Take")
        answer = list(call(iter([bytes(1_000_000)] * 40)))
    assert answer == [b"40000000"]
    assert taken[0] <= grpcio_server.QUEUE_BYTES + 1_000_000 + grpcio_server.REQUEST_BYTES


def test_a_flood_of_empty_requests_waits_too(monkeypatch):
    monkeypatch.setattr(grpcio_server, "QUEUE_BYTES", 6400)
    taken = []

    def handler(requests, context):
        stream = grpcio_server.requests_of(requests)
        next(stream)
        time.sleep(1)
        taken.append(len(stream._taken))
        return grpcio_server.send_all(context, [str(sum(1 for _ in stream)).encode()])

    method = grpc.stream_stream_rpc_method_handler(handler)
    generic = grpc.method_handlers_generic_handler("flood.Service", {"Take": method})
    with local.generic_server(generic) as address, peers.channel_to(address) as channel:
        answer = list(channel.stream_stream("/flood.Service/Take")(iter([b""] * 1000)))
    assert answer == [b"999"]
    assert taken[0] <= 100


def test_nothing_falls_back_on_a_plain_channel():
    with local.explicit(Many()) as (client, _):
        before = philote_fast.status().fallbacks
        check(client)
        assert philote_fast.status().fallbacks == before


def test_a_wrong_message_is_answered_while_the_request_goes_on(flavour):
    wrong = data.VariableMessage(continuous=data.Array(name="nobody", data=[1.0]))
    answered = threading.Event()

    def request():
        yield wrong
        answered.wait(10)

    with local.explicit(Many()) as (client, _):
        try:
            with pytest.raises(grpc.RpcError, match="nobody") as caught:
                list(client._expl_stub.ComputeFunction(request(), timeout=5))
        finally:
            answered.set()
        assert caught.value.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
        check(client)
