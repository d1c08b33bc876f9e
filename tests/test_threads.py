"""Many threads, failing and cancelled calls, and a thousand calls that leave nothing behind."""

import gc
import sys
import threading
from concurrent import futures

import grpc
import numpy as np
import philote_mdo.general as pmdo
import pytest
from philote_mdo.utils import PhiloteServerError

from . import local
from .made import Explicit, array, raw, serialized
from .peers import channel_to

THREADS = 8


def doubling(size=50):
    """Return a discipline that fails where the first value is a multiple of five."""

    def compute(inputs, outputs, discrete_inputs, discrete_outputs):
        if inputs["x"][0] % 5 == 0:
            raise ArithmeticError(f"five: {inputs['x'][0]:g}")
        outputs["y"] = inputs["x"] * 2
        discrete_outputs["e"] = discrete_inputs["d"]

    def partials(inputs, jacobian, discrete_inputs):
        jacobian["y", "x"] = np.diag(inputs["x"])

    discipline = Explicit({"x": (size,)}, {"y": (size,)}, compute, [("y", "x")], partials)
    discipline.discrete = (("d",), ("e",))
    return discipline


def check(client, number, size=50):
    """Make two calls whose right answers differ from those of every other number."""
    x = {"x": np.arange(float(number), number + size)}
    if number % 5 == 0:
        with pytest.raises(PhiloteServerError, match=f"five: {number}$"):
            client.run_compute(x, {"d": number})
    else:
        outputs, discrete = client.run_compute(x, {"d": [number]})
        assert outputs["y"].tolist() == (x["x"] * 2).tolist()
        assert discrete == {"e": [number]}
    jacobian = client.run_compute_partials(x, {"d": number})["y", "x"]
    assert jacobian.tolist() == np.diag(x["x"]).tolist()


def in_threads(work):
    """Call ``work(number)`` for many numbers in eight threads at once."""
    with futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(1, 201)))


@pytest.mark.parametrize("chunk", [300, 100_000])
def test_one_client_for_all(chunk, flavour):
    with local.explicit(doubling()) as (client, servicer):
        client._stream_options.num_double = servicer._stream_opts.num_double = chunk
        in_threads(lambda number: check(client, number))


def test_one_channel_for_all(flavour):
    with local.served(pmdo.ExplicitServer(doubling())) as address, channel_to(address) as channel:
        clients = [pmdo.ExplicitClient(channel) for _ in range(THREADS)]
        local.set_up(clients[0])
        for client in clients[1:]:
            client._var_meta = list(clients[0]._var_meta)
            client._partials_meta = list(clients[0]._partials_meta)
        in_threads(lambda number: check(clients[number % THREADS], number))


def test_a_first_call_from_every_thread():
    """The tables are built once, whoever is first."""
    for _ in range(10):
        with local.explicit(doubling()) as (client, _):
            barrier = threading.Barrier(THREADS)

            def first(number, client=client, barrier=barrier):
                barrier.wait()
                check(client, number + 1)

            with futures.ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(first, range(THREADS)))


def test_arrays_changed_by_another_thread():
    """What is sent is one of the values that an element had; nothing crashes."""
    value, stop = np.ones(200_000), threading.Event()

    def change():
        while not stop.wait(0.0005):
            value[:] = -value

    discipline = Explicit({"x": (200_000,)}, {"y": (200_000,)})
    discipline.functions = (lambda inputs, outputs: outputs.update(y=inputs["x"]), None)
    thread = threading.Thread(target=change)
    with local.explicit(discipline) as (client, _):
        thread.start()
        try:
            for _ in range(30):
                assert np.all(np.abs(client.run_compute({"x": value})["y"]) == 1)
        finally:
            stop.set()
            thread.join()


def test_a_discipline_that_fails_keeps_the_server_serving(flavour):
    """Every kind of failure in a row, and a good call after each."""

    class OddError(Exception):
        def __str__(self):
            return "odd"

    failures = [ValueError("v"), KeyError("k"), OddError(), MemoryError("m"), RecursionError("r")]
    at = []

    def compute(inputs, outputs):
        outputs["y"] = inputs["x"]
        if inputs["x"][0]:
            raise failures[len(at)]

    with local.explicit(Explicit({"x": (2,)}, {"y": (2,)}, compute)) as (client, _):
        for failure in failures:
            with pytest.raises(PhiloteServerError, match="ComputeFunction failed"):
                client.run_compute({"x": np.ones(2)})
            at.append(failure)
            assert client.run_compute({"x": np.zeros(2)})["y"].tolist() == [0.0, 0.0]


def resident():
    """Return the memory that the process holds, in bytes."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_thousand_calls_leave_nothing_behind():
    """Neither good calls nor refused ones: 500 of each, 0.4 MB each way."""
    with local.explicit(doubling(50_000)) as (client, servicer):
        good = {"x": np.arange(1.0, 50_001)}
        bad = serialized(array("x", good["x"][:5000]), array("q", [1.0]))
        with local.served(servicer) as address, channel_to(address) as channel:
            refused = raw(channel, "ComputeFunction")

            def rounds(count):
                for _ in range(count):
                    servicer._discipline.seen.clear()
                    client.run_compute(good, {"d": ["text"] * 10})
                    with pytest.raises(grpc.RpcError):
                        list(refused(iter(bad)))
                gc.collect()

            rounds(100)
            before = resident()
            rounds(500)
            grown = resident() - before
    # A leak of one array, of request or reply, would be 200 MB.
    assert grown < 60e6


def test_no_reference_is_kept():
    """Of the values sent, of those received, and of the client itself."""
    with local.explicit(doubling()) as (client, servicer):
        value = np.arange(1.0, 51)
        check(client, 1)
        count = sys.getrefcount(value)
        for _ in range(50):
            result, _ = client.run_compute({"x": value}, {"d": 1})
            partials = client.run_compute_partials({"x": value}, {"d": 1})
        assert sys.getrefcount(value) == count
        inputs = servicer._discipline.seen[-1][0]
        control = {"x": np.ones(1)}
        held = [
            sys.getrefcount(control["x"]),
            sys.getrefcount(result["y"]),
            sys.getrefcount(partials["y", "x"]),
            sys.getrefcount(inputs["x"]),
        ]
        assert len(set(held)) == 1, held


@pytest.mark.parametrize("raw_bytes", [True, False], ids=["bytes", "messages"])
def test_a_waiting_call_is_cancelled(raw_bytes):
    """The discipline is not interrupted, its answer is dropped, and the server serves on."""
    entered, leave = threading.Event(), threading.Event()

    def compute(inputs, outputs):
        entered.set()
        assert leave.wait(30)
        outputs["y"] = inputs["x"]

    with (
        local.explicit(Explicit({"x": (2,)}, {"y": (2,)}, compute)) as (client, servicer),
        local.served(servicer) as address,
        channel_to(address) as channel,
    ):
        request = [array("x", [1.0, 2.0])]
        if raw_bytes:
            call = raw(channel, "ComputeFunction")(iter(serialized(*request)))
        else:
            call = pmdo.ExplicitClient(channel)._expl_stub.ComputeFunction(iter(request))
        assert entered.wait(30)
        call.cancel()
        with pytest.raises(grpc.RpcError) as caught:
            list(call)
        assert caught.value.code() == grpc.StatusCode.CANCELLED
        leave.set()
        assert client.run_compute({"x": np.ones(2)})["y"].tolist() == [1.0, 1.0]


def test_a_channel_closed_under_a_waiting_call(flavour):
    """The call ends with an error that names it."""
    entered, leave = threading.Event(), threading.Event()

    def compute(inputs, outputs):
        entered.set()
        assert leave.wait(30)

    with local.explicit(Explicit({"x": (2,)}, {"y": (2,)}, compute)) as (client, servicer):
        with local.served(servicer) as address, channel_to(address) as channel:
            other = pmdo.ExplicitClient(channel)
            with futures.ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(other.run_compute, {"x": np.ones(2)})
                assert entered.wait(30)
                channel.close()
                with pytest.raises(PhiloteServerError, match="Server error during run_compute"):
                    waiting.result(timeout=30)
            leave.set()
        client.run_compute({"x": np.ones(2)})
