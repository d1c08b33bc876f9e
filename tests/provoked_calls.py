"""Errors of calls, as ``provoked`` has those of processes and connections."""

import contextlib
import re

import grpc
import numpy as np
import philote_mdo.general as pmdo

import philote_fast

from . import local, peers
from .made import Explicit
from .provoked import error_of, provokes

# Calls


def compute(inputs, outputs):
    x = inputs["x"]
    if x[0] < 0:
        raise RuntimeError("the solver diverged")
    if x[0] > 0:
        outputs["f" if x[1] > 0 else "g"] = x[:2]
    else:
        outputs["f"] = x.sum()


@contextlib.contextmanager
def discipline(size=3, **arguments):
    made = Explicit({"x": (size,)}, {"f": (1,)}, compute)
    with local.explicit(made, **arguments) as (client, _):
        yield client


def error_of_compute(*x, name="x", **arguments):
    with discipline(**arguments) as client:
        return error_of(client.run_compute, {name: np.array(x)})


@provokes("The discipline has failed")
def fails():
    return error_of_compute(-1.0, 0.0, 0.0)


@provokes("The server does not know the call")
def unknown_call():
    with discipline(client=pmdo.ImplicitClient) as client:
        return error_of(client.run_solve_residuals, {"x": np.zeros(3)})


@provokes("A message is too large")
def too_large():
    with discipline(1_000_000) as client:
        client._stream_options.num_double = 600_000
        return error_of(client.run_compute, {"x": np.zeros(1_000_000)})


@provokes("The server is gone")
def gone():
    with (
        peers.start_server("disciplines:Dying", "native") as server,
        peers.channel_to(server.address) as channel,
    ):
        client = pmdo.ExplicitClient(channel)
        client.run_setup()
        return error_of(client.run_compute, {"x": np.zeros(1)})


@provokes("The channel is closed")
def closed():
    with discipline() as client:
        pass
    return error_of(client.run_setup)


@provokes("The chunk has no size")
def no_chunk():
    with discipline() as client:
        client._stream_options.num_double = 0
        return error_of(client.send_stream_options)


# Values


@provokes("A wrong size")
def wrong_size():
    return error_of_compute(1.0, 2.0, 3.0, 4.0)


@provokes("Not an array")
def a_list():
    with discipline() as client:
        return error_of(client.run_compute, {"x": [1.0, 2.0, 3.0]})


@provokes("Complex values")
def complex_values():
    return error_of_compute(1.0, 2.0, 3.0 + 1e-20j)


@provokes("Values that are no numbers")
def no_numbers():
    return error_of_compute(1.0, None, 2.0)


@provokes("An input that is not declared")
def undeclared_input():
    return error_of_compute(1.0, 2.0, 3.0, name="z")


@provokes("A reply that is not declared")
def unknown_reply():
    with discipline(setup=False) as client:
        client.run_setup()
        return error_of(client.run_compute, {"x": np.zeros(3)})


@provokes("An output that is not declared")
def undeclared_output():
    return error_of_compute(1.0, 0.0, 0.0)


@provokes("An output of a wrong size")
def wrong_output():
    return error_of_compute(1.0, 1.0, 0.0)


# Not as fast as expected


class Interceptor(grpc.StreamStreamClientInterceptor):
    def intercept_stream_stream(self, continuation, details, requests):
        return continuation(details, requests)


@provokes("Calls go the slow way")
def intercepted():
    before = set(str(philote_fast.status()).splitlines())
    servicer = pmdo.ExplicitServer(Explicit({"x": (3,)}, {"f": (1,)}, compute))
    with local.served(servicer) as address, peers.channel_to(address) as channel:
        client = pmdo.ExplicitClient(grpc.intercept_channel(channel, Interceptor()))
        local.set_up(client)
        client.run_compute({"x": np.zeros(3)})
    (line,) = set(str(philote_fast.status()).splitlines()) - before
    return re.sub(r"used \d+ times", "used 1 times", line)
