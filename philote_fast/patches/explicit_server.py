"""Patches of ``philote_mdo.general.explicit_server``: a whole call at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from philote_mdo.general.explicit_server import ExplicitServer

from philote_fast.patches.discipline_server import SERVER
from philote_fast.patches.registration import RAW
from philote_fast.patches.serving import (
    Request,
    Rpc,
    has_discrete,
    raw_factory,
    serve_messages,
)


def _compute_function(server: Any, request: Request) -> Any:
    # Kept with the request, whose arrays are freed when the caller has its answer.
    outputs = request.outputs
    discrete_outputs: dict[str, Any] = {}
    if has_discrete(server, request):
        server._discipline.compute(
            request.inputs, outputs, request.discrete_inputs, discrete_outputs
        )
    else:
        server._discipline.compute(request.inputs, outputs)
    num_double = server._stream_opts.num_double
    return request.table.write_outputs(outputs, discrete_outputs, num_double, request.to)


def _compute_gradient(server: Any, request: Request) -> Any:
    discrete = (request.discrete_inputs,) if has_discrete(server, request) else ()
    server._discipline.compute_partials(request.inputs, request.partials, *discrete)
    num_double = server._stream_opts.num_double
    return request.table.write_partials(request.partials, num_double, request.to)


COMPUTE_FUNCTION = Rpc(
    "ComputeFunction", _compute_function, SERVER.stock(ExplicitServer, "ComputeFunction")
)
COMPUTE_GRADIENT = Rpc(
    "ComputeGradient",
    _compute_gradient,
    SERVER.stock(ExplicitServer, "ComputeGradient"),
    with_partials=True,
)


@SERVER.replaces(ExplicitServer, "ComputeFunction", "(self, request_iterator, context)")
def ComputeFunction(self: Any, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
    """Evaluate the functions."""
    return serve_messages(self, COMPUTE_FUNCTION, request_iterator, context)


@SERVER.replaces(ExplicitServer, "ComputeGradient", "(self, request_iterator, context)")
def ComputeGradient(self: Any, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
    """Evaluate the partials."""
    return serve_messages(self, COMPUTE_GRADIENT, request_iterator, context)


for _rpc in (COMPUTE_FUNCTION, COMPUTE_GRADIENT):
    RAW[_rpc.name] = raw_factory(_rpc)
