"""Disciplines that fail on demand, served on real sockets."""

import contextlib
from concurrent import futures

import grpc
import numpy as np
import pytest
from google.protobuf.empty_pb2 import Empty
from philote_mdo.general import (
    ExplicitDiscipline,
    ImplicitDiscipline,
)
from philote_mdo.generated import data_pb2 as data
from philote_mdo.generated import disciplines_pb2_grpc as disc

# Long enough for a loaded machine; a call that stock never answers takes the short one.
PATIENCE = 60
IMPATIENCE = 1.5


class Explicit(ExplicitDiscipline):
    """y = 2 x, unless told to fail."""

    def __init__(self, fault=None, where="compute"):
        super().__init__()
        self.fault, self.where = fault, where

    def fail(self, where):
        if self.fault is not None and where == self.where:
            raise self.fault

    def setup(self):
        self.fail("setup")
        self.add_input("x", shape=(3,))
        self.add_output("y", shape=(3,))

    def setup_partials(self):
        self.declare_partials("y", "x")

    def set_options(self, options):
        self.fail("set_options")

    def compute(self, inputs, outputs):
        self.fail("compute")
        outputs["y"] = 2 * inputs["x"]

    def compute_partials(self, inputs, partials):
        self.fail("compute_partials")
        partials["y", "x"] = np.eye(3) * 2


class Implicit(ImplicitDiscipline):
    """y - x = 0, unless told to fail."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def setup(self):
        self.add_input("x", shape=(1,))
        self.add_output("y", shape=(1,))

    def compute_residuals(self, inputs, outputs, residuals):
        raise self.fault

    def solve_residuals(self, inputs, outputs):
        raise self.fault

    def residual_partials(self, inputs, outputs, partials):
        raise self.fault


@contextlib.contextmanager
def serving(servicer, workers=1, interceptors=None):
    """Serve a servicer; by default with one worker, whose death nobody could make up for."""
    server = grpc.server(futures.ThreadPoolExecutor(workers), interceptors=interceptors)
    servicer.attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        server.stop(None)


def inputs(count=3):
    array = data.Array(name="x", start=0, end=count - 1, type=data.kInput, data=[1.0] * count)
    return iter([data.VariableMessage(continuous=array)])


def setup(channel):
    disc.DisciplineServiceStub(channel).Setup(Empty(), timeout=PATIENCE)


def compute(channel, timeout=PATIENCE, method="ComputeFunction", count=3):
    stub = disc.ExplicitServiceStub(channel)
    return list(getattr(stub, method)(inputs(count), timeout=timeout))


def error_of(call, *args, **keywords):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **keywords)
    return caught.value.code(), caught.value.details()
