"""Patches of ``philote_mdo.general.implicit_server``: a whole call, with an inclusive ``end``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from philote_mdo.general.implicit_server import ImplicitServer

from philote_fast.patches.discipline_server import SERVER
from philote_fast.patches.registration import RAW
from philote_fast.patches.serving import (
    Request,
    Rpc,
    has_discrete,
    raw_factory,
    serve_messages,
)


def _discrete(server: Any, request: Request) -> tuple[dict[str, Any], ...]:
    if has_discrete(server, request):
        return (request.discrete_inputs, request.discrete_outputs)
    return ()


def _compute_residuals(server: Any, request: Request) -> Any:
    residuals: dict[str, Any] = {}
    server._discipline.compute_residuals(
        request.inputs, request.outputs, residuals, *_discrete(server, request)
    )
    num_double = server._stream_opts.num_double
    return request.table.write_residuals(residuals, num_double, request.to)


def _solve_residuals(server: Any, request: Request) -> Any:
    server._discipline.solve_residuals(
        request.inputs, request.outputs, *_discrete(server, request)[:1]
    )
    num_double = server._stream_opts.num_double
    return request.table.write_outputs(request.outputs, None, num_double, request.to)


def _compute_residual_gradients(server: Any, request: Request) -> Any:
    server._discipline.residual_partials(
        request.inputs, request.outputs, request.partials, *_discrete(server, request)
    )
    num_double = server._stream_opts.num_double
    return request.table.write_partials(request.partials, num_double, request.to)


COMPUTE_RESIDUALS = Rpc(
    "ComputeResiduals",
    _compute_residuals,
    SERVER.stock(ImplicitServer, "ComputeResiduals"),
    with_outputs=True,
    takes_discrete_outputs=True,
)
SOLVE_RESIDUALS = Rpc(
    "SolveResiduals",
    _solve_residuals,
    SERVER.stock(ImplicitServer, "SolveResiduals"),
    with_outputs=True,
)
COMPUTE_RESIDUAL_GRADIENTS = Rpc(
    "ComputeResidualGradients",
    _compute_residual_gradients,
    SERVER.stock(ImplicitServer, "ComputeResidualGradients"),
    with_outputs=True,
    takes_discrete_outputs=True,
    with_partials=True,
)


@SERVER.replaces(ImplicitServer, "ComputeResiduals", "(self, request_iterator, context)")
def ComputeResiduals(self: Any, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
    """Evaluate the residuals."""
    return serve_messages(self, COMPUTE_RESIDUALS, request_iterator, context)


@SERVER.replaces(ImplicitServer, "SolveResiduals", "(self, request_iterator, context)")
def SolveResiduals(self: Any, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
    """Solve the residual equations."""
    return serve_messages(self, SOLVE_RESIDUALS, request_iterator, context)


@SERVER.replaces(ImplicitServer, "ComputeResidualGradients", "(self, request_iterator, context)")
def ComputeResidualGradients(  # noqa: N802
    self: Any, request_iterator: Any, context: Any
) -> Iterator[Any]:
    """Evaluate the partials of the residuals."""
    return serve_messages(self, COMPUTE_RESIDUAL_GRADIENTS, request_iterator, context)


for _rpc in (COMPUTE_RESIDUALS, SOLVE_RESIDUALS, COMPUTE_RESIDUAL_GRADIENTS):
    RAW[_rpc.name] = raw_factory(_rpc)
