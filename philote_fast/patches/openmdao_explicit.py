"""Patches of ``philote_mdo.openmdao.explicit``: whole vectors in place of variables by name."""

from __future__ import annotations

from typing import Any

import philote_mdo.openmdao.utils as utils
from philote_mdo.generated.data_pb2 import VariableType
from philote_mdo.openmdao.explicit import RemoteExplicitComponent

from philote_fast.patches.openmdao_calls import Rpc, by_vector
from philote_fast.patches.registry import Group

EXPLICIT = Group("openmdao explicit", "whole vectors of OpenMDAO's, without a look-up by name")

_compute = EXPLICIT.stock(RemoteExplicitComponent, "compute")
_compute_partials = EXPLICIT.stock(RemoteExplicitComponent, "compute_partials")

_COMPUTE = Rpc(
    "RemoteExplicitComponent.compute",
    "_expl_stub",
    "ComputeFunction",
    ("run_compute", "_assemble_input_messages", "_recover_outputs"),
    int(VariableType.kOutput),
)
_COMPUTE_PARTIALS = Rpc(
    "RemoteExplicitComponent.compute_partials",
    "_expl_stub",
    "ComputeGradient",
    ("run_compute_partials", "_assemble_input_messages", "_recover_partials"),
    int(VariableType.kPartial),
)


@EXPLICIT.replaces(
    RemoteExplicitComponent,
    "compute",
    "(self, inputs, outputs, discrete_inputs=None, discrete_outputs=None)",
)
def compute(
    self: Any, inputs: Any, outputs: Any, discrete_inputs: Any = None, discrete_outputs: Any = None
) -> None:
    """Evaluate the functions, from vector to vector."""
    found = by_vector(self, _COMPUTE, (inputs, None, outputs), discrete_inputs)
    if found is None:
        _compute(self, inputs, outputs, discrete_inputs, discrete_outputs)
    elif found and discrete_outputs is not None:
        utils.assign_global_outputs(found, discrete_outputs)


@EXPLICIT.replaces(
    RemoteExplicitComponent,
    "compute_partials",
    "(self, inputs, partials, discrete_inputs=None, discrete_outputs=None)",
)
def compute_partials(
    self: Any, inputs: Any, partials: Any, discrete_inputs: Any = None, discrete_outputs: Any = None
) -> None:
    """Evaluate the partials, from a vector to the blocks of the Jacobian."""
    if by_vector(self, _COMPUTE_PARTIALS, (inputs, None, partials), discrete_inputs) is None:
        _compute_partials(self, inputs, partials, discrete_inputs, discrete_outputs)
