"""Patches of ``philote_mdo.general.implicit_client``: a whole call at once, in bytes."""

from __future__ import annotations

from typing import Any

from philote_mdo.general.implicit_client import ImplicitClient
from philote_mdo.utils.validation import validate_is_dict

from philote_fast.patches.calling import raw_call
from philote_fast.patches.discipline_client import (
    CLIENT,
    call,
    read_outputs,
    read_partials,
    read_residuals,
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
    _check(title, inputs, outputs)
    values = (inputs, outputs, discrete_inputs, discrete_outputs)
    return call(self, title, raw, read_residuals, values)


@CLIENT.replaces(ImplicitClient, "run_solve_residuals", "(self, inputs, discrete_inputs=None)")
def run_solve_residuals(self: Any, inputs: Any, discrete_inputs: Any = None) -> Any:
    """Solve the residual equations in one call of raw bytes."""
    raw = raw_call(
        self, self._impl_stub, "SolveResiduals", "_assemble_input_messages", "_recover_outputs"
    )
    if raw is None:
        return _run_solve_residuals(self, inputs, discrete_inputs)
    validate_is_dict(inputs, "run_solve_residuals (inputs)")
    values = (inputs, None, discrete_inputs, None)
    return call(self, "run_solve_residuals", raw, read_outputs, values)


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
    _check(title, inputs, outputs)
    values = (inputs, outputs, discrete_inputs, discrete_outputs)
    return call(self, title, raw, read_partials, values, with_partials=True)


def _check(title: str, inputs: Any, outputs: Any) -> None:
    validate_is_dict(inputs, f"{title} (inputs)")
    validate_is_dict(outputs, f"{title} (outputs)")
