"""Patches of ``philote_mdo.openmdao.implicit``: whole vectors in place of variables by name."""

from __future__ import annotations

from typing import Any

from philote_mdo.generated.data_pb2 import VariableType
from philote_mdo.openmdao.implicit import RemoteImplicitComponent

from philote_fast.patches.openmdao_calls import Rpc, by_vector
from philote_fast.patches.registry import Group

IMPLICIT = Group("openmdao implicit", "whole vectors of OpenMDAO's, without a look-up by name")

_apply_nonlinear = IMPLICIT.stock(RemoteImplicitComponent, "apply_nonlinear")
_solve_nonlinear = IMPLICIT.stock(RemoteImplicitComponent, "solve_nonlinear")
_linearize = IMPLICIT.stock(RemoteImplicitComponent, "linearize")

_APPLY = Rpc(
    "RemoteImplicitComponent.apply_nonlinear",
    "_impl_stub",
    "ComputeResiduals",
    ("run_compute_residuals", "_assemble_input_messages", "_recover_residuals"),
    int(VariableType.kResidual),
)
_SOLVE = Rpc(
    "RemoteImplicitComponent.solve_nonlinear",
    "_impl_stub",
    "SolveResiduals",
    ("run_solve_residuals", "_assemble_input_messages", "_recover_outputs"),
    int(VariableType.kOutput),
)
_LINEARIZE = Rpc(
    "RemoteImplicitComponent.linearize",
    "_impl_stub",
    "ComputeResidualGradients",
    ("run_residual_gradients", "_assemble_input_messages", "_recover_partials"),
    int(VariableType.kPartial),
)


@IMPLICIT.replaces(
    RemoteImplicitComponent,
    "apply_nonlinear",
    "(self, inputs, outputs, residuals, discrete_inputs=None, discrete_outputs=None)",
)
def apply_nonlinear(
    self: Any,
    inputs: Any,
    outputs: Any,
    residuals: Any,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> None:
    """Evaluate the residuals, from vectors to a vector."""
    discrete = (discrete_inputs, discrete_outputs)
    if by_vector(self, _APPLY, (inputs, outputs, residuals), *discrete) is None:
        _apply_nonlinear(self, inputs, outputs, residuals, *discrete)


@IMPLICIT.replaces(
    RemoteImplicitComponent,
    "solve_nonlinear",
    "(self, inputs, outputs, discrete_inputs=None, discrete_outputs=None)",
)
def solve_nonlinear(
    self: Any, inputs: Any, outputs: Any, discrete_inputs: Any = None, discrete_outputs: Any = None
) -> None:
    """Solve the residual equations, from vector to vector."""
    if by_vector(self, _SOLVE, (inputs, None, outputs), discrete_inputs) is None:
        _solve_nonlinear(self, inputs, outputs, discrete_inputs, discrete_outputs)


@IMPLICIT.replaces(
    RemoteImplicitComponent,
    "linearize",
    "(self, inputs, outputs, partials, discrete_inputs=None, discrete_outputs=None)",
)
def linearize(
    self: Any,
    inputs: Any,
    outputs: Any,
    partials: Any,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> None:
    """Evaluate the partials of the residuals, from vectors to the blocks of the Jacobian."""
    discrete = (discrete_inputs, discrete_outputs)
    if by_vector(self, _LINEARIZE, (inputs, outputs, partials), *discrete) is None:
        _linearize(self, inputs, outputs, partials, *discrete)
