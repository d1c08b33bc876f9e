"""Patches of ``philote_mdo.general.explicit_client``: a whole call at once, in bytes."""

from __future__ import annotations

from typing import Any

from philote_mdo.general.explicit_client import ExplicitClient
from philote_mdo.utils.validation import validate_is_dict

from philote_fast.patches.calling import raw_call
from philote_fast.patches.discipline_client import CLIENT, call, read_outputs, read_partials

_run_compute = CLIENT.stock(ExplicitClient, "run_compute")
_run_compute_partials = CLIENT.stock(ExplicitClient, "run_compute_partials")


@CLIENT.replaces(ExplicitClient, "run_compute", "(self, inputs, discrete_inputs=None)")
def run_compute(self: Any, inputs: Any, discrete_inputs: Any = None) -> Any:
    """Evaluate the functions in one call of raw bytes."""
    raw = raw_call(
        self, self._expl_stub, "ComputeFunction", "_assemble_input_messages", "_recover_outputs"
    )
    if raw is None:
        return _run_compute(self, inputs, discrete_inputs)
    validate_is_dict(inputs, "run_compute (inputs)")
    return call(self, "run_compute", raw, read_outputs, (inputs, None, discrete_inputs, None))


@CLIENT.replaces(ExplicitClient, "run_compute_partials", "(self, inputs, discrete_inputs=None)")
def run_compute_partials(self: Any, inputs: Any, discrete_inputs: Any = None) -> Any:
    """Evaluate the partials in one call of raw bytes."""
    raw = raw_call(
        self, self._expl_stub, "ComputeGradient", "_assemble_input_messages", "_recover_partials"
    )
    if raw is None:
        return _run_compute_partials(self, inputs, discrete_inputs)
    validate_is_dict(inputs, "run_compute_partials (inputs)")
    values = (inputs, None, discrete_inputs, None)
    return call(self, "run_compute_partials", raw, read_partials, values, with_partials=True)
