"""``stats()``: what is counted, compared with what an observer beside the calls counts."""

import contextlib
import threading
import time
from concurrent import futures
from types import SimpleNamespace

import grpc
import numpy as np
import philote_mdo.general as pmdo
import pytest
from philote_mdo.utils.validation import PhiloteValidationError

import philote_fast
from philote_fast.counting import Counts, Entry, Stats

from . import pairing
from .peers import channel_to, client_side
from .peers import server as make_server

FAST = ("patched", "native")
CARRIERS = {"patched": "grpcio", "native": "native"}
NAP = 0.05


class Naps(pmdo.ExplicitDiscipline):
    """Sleeps in compute; fails where it is told so."""

    def setup(self):
        self.add_input("x", shape=(3,))
        self.add_output("y", shape=(3,))

    def setup_partials(self):
        self.declare_partials("y", "x")

    def compute(self, inputs, outputs):
        if inputs["x"][0] < 0:
            time.sleep(NAP)
            raise ValueError("no such wing")
        if inputs["x"][0] > 0:
            time.sleep(NAP)
        outputs["y"] = inputs["x"] * 2

    def compute_partials(self, inputs, partials):
        partials["y", "x"] = np.eye(3)


class Observer(grpc.StreamStreamClientInterceptor):
    """Counts what a stock client's compute calls send and receive, message by message."""

    def __init__(self):
        self.counts = Counts()

    def _seen(self, messages, sent):
        for message in messages:
            size = message.ByteSize()
            self.counts += (
                Counts(messages_sent=1, bytes_sent=size)
                if sent
                else Counts(messages_received=1, bytes_received=size)
            )
            yield message

    def _call(self, continuation, details, requests):
        self.counts += Counts(calls=1)
        return self._seen(continuation(details, self._seen(requests, True)), False)

    def intercept_stream_stream(self, continuation, details, requests):
        return self._call(continuation, details, requests)


class Served:
    """A discipline on a server of the flavour, with a channel and a client that is set up."""

    def __init__(self, discipline, workers=2):
        self._made_of = discipline, workers

    def __enter__(self):
        discipline, workers = self._made_of
        self.pool = futures.ThreadPoolExecutor(workers)
        self.server = make_server(self.pool)
        pmdo.ExplicitServer(discipline=discipline).attach_to_server(self.server)
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(None).wait(20)
        self.pool.shutdown()


def client_of(channel, kind=pmdo.ExplicitClient):
    client = kind(channel=channel)
    client.send_stream_options()
    client.run_setup()
    client.get_variable_definitions()
    client.get_partials_definitions()
    return client


def of(found, side, carrier, name):
    """What all that live of that name have counted."""
    live = [each for each in found if each.number is not None]
    label = (side, carrier, name)
    return sum((each.counts for each in live if each.label == label), Counts())


def settled(read, done=lambda counts: True):
    """What ``read`` gives, once it does not change: a server ends a call after its client."""
    for _ in range(400):
        counts = read()
        time.sleep(0.02)
        if counts == read() and done(counts):
            return counts
    raise AssertionError(f"it never settles: {counts}")


def numbers(counts):
    """The messages, without times and calls."""
    return (
        counts.messages_sent,
        counts.bytes_sent,
        counts.messages_received,
        counts.bytes_received,
    )


def mirrored(counts):
    sent, bytes_sent, received, bytes_received = numbers(counts)
    return received, bytes_received, sent, bytes_sent


@pytest.mark.parametrize("flavour", FAST)
def test_counts_are_those_of_an_observer_of_stock(flavour):
    inputs = {"x": np.arange(25.0), "m": np.ones((2, 3)), "ünits": np.array([2.5])}
    discrete = {"d": {"deep": [1.0, "text"]}}

    def calls(client):
        for chunk in (100_000, 7):
            client._stream_options.num_double = chunk
            client.send_stream_options()
            for _ in range(3):
                client.run_compute(inputs, discrete)
                client.run_compute_partials(inputs, discrete)

    with client_side(flavour), Served(pairing.Explicit()) as served:
        name = served.address if flavour == "native" else "Explicit"
        read = lambda: of(philote_fast.stats(), "server", CARRIERS[flavour], name)  # noqa: E731
        with channel_to(served.address) as channel:
            client = pmdo.ExplicitClient(channel=channel)
            client.send_options({"size": 25, "fault": ""})
            client = client_of(channel)
            before, served_before = philote_fast.stats(), settled(read)
            calls(client)
            carrier = CARRIERS[flavour]
            fast = of(philote_fast.stats().since(before), "client", carrier, served.address)
            answered = settled(read) - served_before
        with client_side("stock"), channel_to(served.address) as channel:
            observer = Observer()
            calls(client_of(grpc.intercept_channel(channel, observer)))
    # The native channel has seen the two calls that tell the chunks, too: of one message each.
    options = 2 if flavour == "native" else 0
    assert (fast.calls, fast.timed, fast.failed) == (12 + options, 12, 0)
    assert (answered.calls, answered.timed, answered.failed) == (12 + options, 12, 0)
    seen = observer.counts
    assert seen.calls == 12
    assert seen.messages_sent > 12 * 4
    if flavour == "patched":
        assert numbers(fast) == numbers(seen)
    else:
        told = sum(
            pmdo.discipline_client.data.StreamOptions(num_double=chunk).ByteSize()
            for chunk in (100_000, 7)
        )
        sent, bytes_sent, received, bytes_received = numbers(seen)
        assert numbers(fast) == (sent + 2, bytes_sent + told, received + 2, bytes_received)
    assert numbers(answered) == mirrored(fast)


@pytest.mark.parametrize("flavour", FAST)
def test_large_messages_and_pieces_of_them_are_counted_once(flavour):
    size = 300_000
    carrier = CARRIERS[flavour]
    sized = Served(pairing.Explicit())
    with client_side(flavour), sized as served, channel_to(served.address) as channel:
        pmdo.ExplicitClient(channel=channel).send_options({"size": size, "fault": ""})
        client = client_of(channel)
        before = philote_fast.stats()
        values = {"x": np.ones(size), "m": np.ones((2, 3)), "ünits": np.ones(1)}
        client.run_compute(values, {"d": 1.0})
        counts = of(philote_fast.stats().since(before), "client", carrier, served.address)
    # Three chunks of 100,000, m, ünits and d; three, s and e.
    assert (counts.calls, counts.messages_sent, counts.messages_received) == (1, 6, 5)
    for transferred in (counts.bytes_sent, counts.bytes_received):
        assert 8 * size < transferred < 8 * size + 1000


@pytest.mark.parametrize("flavour", FAST)
def test_times_say_where_it_was_spent(flavour):
    with client_side(flavour), Served(Naps()) as served, channel_to(served.address) as channel:
        client = client_of(channel)
        name = served.address if flavour == "native" else "Naps"
        carrier = CARRIERS[flavour]
        read = lambda: of(philote_fast.stats(), "server", carrier, name)  # noqa: E731
        before, on_server = philote_fast.stats(), settled(read)
        began = time.perf_counter()
        for _ in range(4):
            client.run_compute({"x": np.ones(3)})
        took = time.perf_counter() - began
        mine = of(philote_fast.stats().since(before), "client", carrier, served.address)
        its = settled(read) - on_server
    assert mine.timed == its.timed == 4
    assert its.discipline >= 4 * NAP
    assert mine.discipline == 0
    assert mine.waiting >= 4 * NAP
    for counts in (mine, its):
        assert counts.encoding > 0
        assert counts.decoding > 0
    assert mine.total <= took
    assert mine.encoding + mine.waiting + mine.decoding <= mine.total


@pytest.mark.parametrize("flavour", FAST)
def test_failures_are_counted_with_the_time_they_took(flavour):
    with client_side(flavour), Served(Naps()) as served, channel_to(served.address) as channel:
        client = client_of(channel)
        name = served.address if flavour == "native" else "Naps"
        carrier = CARRIERS[flavour]
        read = lambda: of(philote_fast.stats(), "server", carrier, name)  # noqa: E731
        before, on_server = philote_fast.stats(), settled(read)
        client.run_compute({"x": np.zeros(3)})
        for _ in range(2):
            with pytest.raises(Exception, match="no such wing"):
                client.run_compute({"x": np.full(3, -1.0)})
        # Refused before there is a call.
        with pytest.raises(PhiloteValidationError, match="x"):
            client.run_compute({"x": np.ones(2)})
        mine = of(philote_fast.stats().since(before), "client", carrier, served.address)
        its = settled(read) - on_server
    assert (mine.calls, mine.failed, mine.timed) == (3, 2, 3)
    assert (its.calls, its.failed, its.timed) == (3, 2, 3)
    assert its.discipline >= 2 * NAP


@pytest.mark.parametrize("flavour", FAST)
def test_a_server_that_is_not_there(flavour):
    with client_side(flavour):
        with Served(Naps()) as served:
            channel = channel_to(served.address)
            opened = channel.__enter__()
            client = client_of(opened)
        before = philote_fast.stats()
        with pytest.raises(Exception, match="run_compute"):
            client.run_compute({"x": np.ones(3)})
        mine = of(philote_fast.stats().since(before), "client", CARRIERS[flavour], served.address)
        channel.__exit__(None, None, None)
    assert (mine.calls, mine.failed, mine.messages_received) == (1, 1, 0)


@pytest.mark.parametrize("flavour", FAST)
def test_calls_by_stocks_code_are_counted_as_not_timed(flavour):
    class Own(pmdo.ExplicitClient):
        def _assemble_input_messages(self, *arguments, **keywords):
            return super()._assemble_input_messages(*arguments, **keywords)

    carrier = CARRIERS[flavour]
    with client_side(flavour), Served(Naps()) as served, channel_to(served.address) as channel:
        clients = [
            client_of(channel, Own),
            client_of(grpc.intercept_channel(channel, Observer())),
        ]
        before = philote_fast.stats()
        for client in clients:
            client.run_compute({"x": np.zeros(3)})
        mine = of(philote_fast.stats().since(before), "client", carrier, served.address)
    assert (mine.calls, mine.timed, mine.untimed) == (2, 0, 2)
    assert mine.total == 0
    assert (mine.messages_sent == 2) == (flavour == "native")


@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_unary", "stream_stream"])
def test_every_kind_of_native_call_is_counted(kind):
    def behaviour(request, context):
        messages = [request] if kind.startswith("unary") else list(request)
        return iter(messages * 2) if kind.endswith("stream") else b"".join(messages)

    handler = getattr(grpc, f"{kind}_rpc_method_handler")(behaviour)
    generic = grpc.method_handlers_generic_handler("test.S", {"M": handler})
    pool = futures.ThreadPoolExecutor(2)
    server = philote_fast.server(pool, handlers=[generic])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with philote_fast.insecure_channel(address) as channel:
        method = getattr(channel, kind)("/test.S/M")
        requests = [b"abc"] if kind.startswith("unary") else [b"abc", b"", b"defgh"]
        for _ in range(5):
            answer = method(requests[0] if kind.startswith("unary") else iter(requests))
            answers = list(answer) if kind.endswith("stream") else [answer]
        with pytest.raises(grpc.RpcError):
            channel.unary_unary("/test.S/Missing")(b"12345678")
        read = lambda side: lambda: of(philote_fast.stats(), side, "native", address)  # noqa: E731
        mine = settled(read("client"))
        its = settled(read("server"))
    server.stop(None).wait(20)
    pool.shutdown()
    size = len(b"".join(requests))
    assert (mine.calls, mine.failed, mine.timed) == (6, 1, 0)
    assert numbers(mine) == (
        5 * len(requests) + 1,
        5 * size + 8,
        5 * len(answers),
        5 * len(b"".join(answers)),
    )
    assert (its.calls, its.failed, its.timed) == (6, 1, 0)
    # Nobody reads the request of a method that is not there.
    assert numbers(its) == (*numbers(mine)[2:], 5 * len(requests), 5 * size)


@pytest.mark.parametrize("flavour", FAST)
def test_many_threads_lose_nothing(flavour):
    threads, calls = 8, 50
    carrier = CARRIERS[flavour]
    naps = Served(Naps(), workers=4)

    def work(client):
        for _ in range(calls):
            client.run_compute({"x": np.zeros(3)})

    with client_side(flavour), naps as served, channel_to(served.address) as channel:
        clients = [client_of(channel) for _ in range(threads)]
        before = philote_fast.stats()
        workers = [threading.Thread(target=work, args=(client,)) for client in clients]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        counts = of(philote_fast.stats().since(before), "client", carrier, served.address)
    total = threads * calls
    assert (counts.calls, counts.failed, counts.timed) == (total, 0, total)
    assert (counts.messages_sent, counts.messages_received) == (total, total)


def test_what_is_gone_is_kept_by_name_and_takes_no_more_room():
    before = philote_fast.stats()
    first = pool = futures.ThreadPoolExecutor(1)
    server = philote_fast.server(pool)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    names = [f"127.0.0.{n}:{port}" for n in range(1, 120)]
    for name in (names[0], names[0], *names):
        with philote_fast.insecure_channel(name) as channel, pytest.raises(grpc.RpcError):
            channel.unary_unary("/a/b")(b"1234", timeout=20)
        del channel
    since = philote_fast.stats().since(before)
    mine = [entry for entry in since if entry.side == "client"]
    server.stop(None).wait(20)
    first.shutdown()
    assert all(entry.number is None for entry in mine)
    assert sum(entry.counts.calls for entry in mine) == len(names) + 2
    assert len([entry for entry in philote_fast.stats() if entry.number is None]) <= 32 + 4
    again = philote_fast.stats()
    assert not again.since(again).entries


def test_sums_of_times_leave_nothing_over():
    """Floats do: 0.1 + 0.2 - 0.3 is 5.6e-17, and would be an entry of no calls that took time."""
    sum_of_two = Counts(calls=1, other=0.1) + Counts(calls=1, other=0.2)
    assert sum_of_two == Counts(calls=2, other=0.3)
    assert not sum_of_two - Counts(calls=2, other=0.3)
    name = ("client", "native", "a:1")
    before = Stats((Entry(*name, Counts(other=0.1), 7), Entry(*name, Counts(other=0.2))))
    assert not Stats((Entry(*name, Counts(other=0.3)),)).since(before).entries


@pytest.mark.parametrize("shown", [philote_fast.stats, philote_fast.status])
def test_what_a_notebook_shows(shown):
    pieces = []
    told = shown()
    told._repr_pretty_(SimpleNamespace(text=pieces.append), False)
    assert pieces == [str(told)]


def test_since_follows_a_channel_to_its_end():
    pool = futures.ThreadPoolExecutor(1)
    server = philote_fast.server(pool)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()

    def call(channel, times):
        for _ in range(times):
            with pytest.raises(grpc.RpcError):
                channel.unary_unary("/a/b")(b"1234")

    channel = philote_fast.insecure_channel(address)
    call(channel, 3)
    before = philote_fast.stats()
    call(channel, 2)
    channel.close()
    del channel
    since = philote_fast.stats().since(before)
    server.stop(None).wait(20)
    pool.shutdown()
    mine = [entry for entry in since if entry.side == "client"]
    assert [entry.counts.calls for entry in mine] == [2]


def test_without_the_patches_it_goes_on():
    with contextlib.ExitStack() as stack:
        stack.enter_context(client_side("native"))
        served = stack.enter_context(Served(Naps()))
        stack.enter_context(client_side("stock"))
        channel = stack.enter_context(philote_fast.insecure_channel(served.address))
        client = client_of(channel)
        before = philote_fast.stats()
        client.run_compute({"x": np.zeros(3)})
        mine = of(philote_fast.stats().since(before), "client", "native", served.address)
    assert (mine.calls, mine.failed, mine.timed, mine.messages_sent) == (1, 0, 0, 1)


def test_the_table():
    counts = Counts(3, 1, 2, 4, 500, 6, 7000, 0.5, 1.25, 0.25, 0.0, 0.001)
    entries = (
        Entry("client", "native", "127.0.0.1:1", counts, 0),
        Entry("server", "grpcio", "", counts),
        Entry("server", "native", "unused", Counts(), 1),
    )
    header, client, server = str(Stats(entries)).splitlines()
    assert " ".join(header.split()) == (
        "calls failed not timed sent bytes received bytes encoding waiting decoding discipline"
        " other total"
    )
    figures = "3 1 1 4 500 6 7000 500 ms 1.25 s 250 ms - 1 ms 2 s"
    assert " ".join(client.split()) == f"native client 127.0.0.1:1 {figures}"
    assert " ".join(server.split()) == f"grpcio server (others) (gone) {figures}"
    assert str(Stats(())) == "no calls were counted"
