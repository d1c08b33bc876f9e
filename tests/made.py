"""Disciplines made of functions, messages made by hand, and a peer that sends what it is told."""

import contextlib
from concurrent import futures

import grpc
import philote_mdo.general as pmdo
import philote_mdo.generated.data_pb2 as data


class Explicit(pmdo.ExplicitDiscipline):
    """Declares ``{name: shape}`` and calls functions; keeps what it was given in ``seen``."""

    def __init__(self, inputs, outputs, compute=None, partials=(), compute_partials=None):
        self.declared = (inputs, outputs)
        self.pairs = partials
        self.functions = (compute, compute_partials)
        self.discrete = ((), ())
        self.seen = []
        super().__init__()

    def setup(self):
        inputs, outputs = self.declared
        for name, shape in inputs.items():
            self.add_input(name, shape=shape)
        for name, shape in outputs.items():
            self.add_output(name, shape=shape)
        for name in self.discrete[0]:
            self.add_discrete_input(name)
        for name in self.discrete[1]:
            self.add_discrete_output(name)

    def setup_partials(self):
        for pair in self.pairs:
            self.declare_partials(*pair)

    def compute(self, inputs, outputs, *discrete):
        self._call(0, inputs, outputs, *discrete)

    def compute_partials(self, inputs, partials, *discrete):
        self._call(1, inputs, partials, *discrete)

    def _call(self, which, *arguments):
        self.seen.append(arguments)
        if self.functions[which] is not None:
            self.functions[which](*arguments)


class Implicit(pmdo.ImplicitDiscipline):
    """As ``Explicit``; the functions are residuals, solve and partials."""

    def __init__(
        self, inputs, outputs, residuals=None, solve=None, partials=(), residual_partials=None
    ):
        self.declared = (inputs, outputs)
        self.pairs = partials
        self.functions = (residuals, solve, residual_partials)
        self.discrete = ((), ())
        self.seen = []
        super().__init__()

    setup = Explicit.setup
    setup_partials = Explicit.setup_partials
    _call = Explicit._call

    def compute_residuals(self, inputs, outputs, residuals, *discrete):
        self._call(0, inputs, outputs, residuals, *discrete)

    def solve_residuals(self, inputs, outputs, *discrete):
        self._call(1, inputs, outputs, *discrete)

    def residual_partials(self, inputs, outputs, partials, *discrete):
        self._call(2, inputs, outputs, partials, *discrete)


def array(name, values, start=0, end=None, kind=data.kInput, subname=""):
    """Return a chunk of doubles as a message; ``end`` is that of the values if not given."""
    end = start + len(values) - 1 if end is None else end
    fields = {"name": name, "subname": subname, "start": start, "end": end, "data": values}
    return data.VariableMessage(continuous=data.Array(type=kind, **fields))


def output(name, values, **fields):
    return array(name, values, kind=data.kOutput, **fields)


def serialized(*messages):
    return [m if isinstance(m, bytes) else m.SerializeToString() for m in messages]


def rpc_path(rpc):
    explicit = rpc in ("ComputeFunction", "ComputeGradient")
    return f"/philote.{'Explicit' if explicit else 'Implicit'}Service/{rpc}"


def raw(channel, rpc):
    """Return a compute RPC of a channel that takes and gives bytes."""
    return channel.stream_stream(rpc_path(rpc))


def refusal(channel, rpc, *messages):
    """Send messages that must be refused; gives the error."""
    try:
        replies = list(raw(channel, rpc)(iter(serialized(*messages))))
    except grpc.RpcError as error:
        return error
    raise AssertionError(f"not refused: {replies}")


@contextlib.contextmanager
def hostile(replies=None):
    """Serve compute RPCs that answer with given bytes; gives the address and the list of replies.

    A client may ask as often as it likes: what is in the list at the time is the answer. Requests
    are kept in the list's attribute ``requests``.
    """
    replies = Replies() if replies is None else replies

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.stream_stream_rpc_method_handler(replies.answer)

    pool = futures.ThreadPoolExecutor(2)
    server = grpc.server(pool, handlers=[Handler()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}", replies
    finally:
        server.stop(None).wait()
        pool.shutdown()


class Replies(list):
    """What a hostile server answers, and what it was asked."""

    def __init__(self):
        self.requests = []

    def answer(self, requests, context):
        self.requests.append([data.VariableMessage.FromString(request) for request in requests])
        yield from serialized(*self)
