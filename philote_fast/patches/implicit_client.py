"""Patches of ``philote_mdo.general.implicit_client``: a whole call at once, in bytes."""

from __future__ import annotations

from typing import Any

from philote_mdo.general.implicit_client import ImplicitClient
from philote_mdo.utils.validation import validate_is_dict

from philote_fast.patches.calling import exchange, raw_call
from philote_fast.patches.discipline_client import (
    CLIENT,
    read_outputs,
    read_partials,
    read_residuals,
    request_of,
)

_BOTH = "(self, inputs, outputs, discrete_inputs=None, discrete_outputs=None)"
_run_compute_residuals = CLIENT.stock(ImplicitClient, "run_compute_residuals")
_run_solve_residuals = CLIENT.stock(ImplicitClient, "run_solve_residuals")
_run_residual_gradients = CLIENT.stock(ImplicitClient, "run_residual_gradients")


@CLIENT.replaces(ImplicitClient, "run_compute_residuals", _BOTH)
def run_compute_residuals(
    self: Any, inputs: Any, outputs: Any, discrete_inputs: Any = None, discrete_outputs: Any = None
) -> Any:
    """Evaluate the residuals in one call of raw bytes."""
    raw = raw_call(
        self, self._impl_stub, "ComputeResiduals", "_assemble_input_messages", "_recover_residuals"
    )
    if raw is None:
        return _run_compute_residuals(self, inputs, outputs, discrete_inputs, discrete_outputs)
    title = "run_compute_residuals"
    request = _request(self, title, inputs, outputs, discrete_inputs, discrete_outputs)
    return exchange(title, raw, request, lambda reply: read_residuals(self, reply))


@CLIENT.replaces(ImplicitClient, "run_solve_residuals", "(self, inputs, discrete_inputs=None)")
def run_solve_residuals(self: Any, inputs: Any, discrete_inputs: Any = None) -> Any:
    """Solve the residual equations in one call of raw bytes."""
    raw = raw_call(
        self, self._impl_stub, "SolveResiduals", "_assemble_input_messages", "_recover_outputs"
    )
    if raw is None:
        return _run_solve_residuals(self, inputs, discrete_inputs)
    validate_is_dict(inputs, "run_solve_residuals (inputs)")
    request = request_of(self, inputs, None, discrete_inputs, None)
    return exchange("run_solve_residuals", raw, request, lambda reply: read_outputs(self, reply))


@CLIENT.replaces(ImplicitClient, "run_residual_gradients", _BOTH)
def run_residual_gradients(
    self: Any, inputs: Any, outputs: Any, discrete_inputs: Any = None, discrete_outputs: Any = None
) -> Any:
    """Evaluate the partials of the residuals in one call of raw bytes."""
    raw = raw_call(
        self,
        self._impl_stub,
        "ComputeResidualGradients",
        "_assemble_input_messages",
        "_recover_partials",
    )
    if raw is None:
        return _run_residual_gradients(self, inputs, outputs, discrete_inputs, discrete_outputs)
    title = "run_residual_gradients"
    request = _request(self, title, inputs, outputs, discrete_inputs, discrete_outputs)
    return exchange(title, raw, request, lambda reply: read_partials(self, reply))


def _request(
    client: Any, title: str, inputs: Any, outputs: Any, discrete_in: Any, discrete_out: Any
) -> list[bytes]:
    validate_is_dict(inputs, f"{title} (inputs)")
    validate_is_dict(outputs, f"{title} (outputs)")
    return request_of(client, inputs, outputs, discrete_in, discrete_out)
