"""The client's side of the peer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import philote_mdo.generated.data_pb2 as data
from philote_mdo.general.discipline_server import _python_to_value
from philote_mdo.utils.validation import (
    PhiloteValidationError,
    validate_is_dict,
    validate_numpy_array,
)

from gains.peer import codec
from gains.peer.codec import Doubles
from gains.peer.tables import CHUNK, apply_shapes, partials, zeros


def with_large_chunks(init: Callable[..., None]) -> Callable[..., None]:
    """Give a client chunks of 100,000 doubles by default."""

    @wraps(init)
    def initialise(self: Any, channel: Any) -> None:
        init(self, channel)
        self._stream_options.num_double = CHUNK

    return initialise


def assemble_input_messages(
    self: Any,
    inputs: Any,
    outputs: Any = None,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> list[Any]:
    """Build the messages of a request."""
    result: list[Any] = []
    limit = self._stream_options.num_double
    kinds = data.VariableType
    for values, kind, what in (
        (inputs, kinds.kInput, "inputs"),
        (outputs, kinds.kOutput, "outputs"),
    ):
        if values is None:
            continue
        validate_is_dict(values, f"_assemble_input_messages ({what})")
        for name, value in values.items():
            validate_numpy_array(value, name)
            result.extend(codec.messages(value, name, kind, limit))
    for values, kind in (
        (discrete_inputs, kinds.kDiscreteInput),
        (discrete_outputs, kinds.kDiscreteOutput),
    ):
        for name, value in (values or {}).items():
            variable = data.DiscreteVariable(name=name, type=kind, value=_python_to_value(value))
            result.append(data.VariableMessage(discrete=variable))
    return result


def recover_outputs(self: Any, responses: Any) -> Any:
    """Read the outputs, continuous and discrete, from a response."""
    outputs, flat = zeros(self._var_meta, data.kOutput)
    discrete: dict[str, Any] = {}
    for message in responses:
        array, variable = codec.parts(message)
        if array is not None:
            if array.type == data.kOutput:
                receive(array, flat[array.name])
        elif variable is not None and variable.type == data.VariableType.kDiscreteOutput:
            discrete[variable.name] = codec.value_of(variable)
    return (outputs, discrete) if discrete else outputs


def recover_partials(self: Any, responses: Any) -> Any:
    """Read the partials from a response."""
    result = partials(self._var_meta, self._partials_meta)
    flat = {key: value.reshape(-1) for key, value in result.items()}
    for message in responses:
        array, _ = codec.parts(message)
        if array is not None and array.type == data.kPartial:
            receive(array, flat[array.name, array.subname])
    return result


def receive(array: Any, flat: Doubles) -> None:
    """Copy a chunk into its place, or raise as stock does when it holds nothing."""
    if not len(array.data):
        raise PhiloteValidationError("Expected continuous variables, but array is empty.")
    codec.copy_out(array, flat)


def send_variable_shapes(self: Any, variable_metadata: Any) -> None:
    """Send the shapes of dynamic variables and apply them here too."""
    self._disc_stub.SetVariableShapes(iter(variable_metadata))
    apply_shapes(self._var_meta, variable_metadata, require_dynamic=False)
