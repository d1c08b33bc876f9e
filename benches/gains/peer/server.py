"""The server's side of the peer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import grpc
import philote_mdo.generated.data_pb2 as data
from google.protobuf.empty_pb2 import Empty
from philote_mdo.general.discipline_server import _python_to_value
from philote_mdo.utils.validation import PhiloteValidationError, validate_shape

from gains.peer import codec
from gains.peer.tables import CHUNK, apply_shapes, partials


def with_large_chunks(init: Callable[..., None]) -> Callable[..., None]:
    """Give a server chunks of 100,000 doubles by default."""

    @wraps(init)
    def initialise(self: Any, discipline: Any = None) -> None:
        init(self, discipline=discipline)
        self._stream_opts.num_double = CHUNK

    return initialise


def preallocate_partials(self: Any) -> Any:
    """Allocate the declared partials."""
    return partials(self._discipline._var_meta, self._discipline._partials_meta)


def process_inputs(
    self: Any,
    request_iterator: Any,
    flat_inputs: Any,
    flat_outputs: Any = None,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> tuple[Any, Any]:
    """Read a request into the variables that were allocated for it."""
    discrete_inputs = {} if discrete_inputs is None else discrete_inputs
    discrete_outputs = {} if discrete_outputs is None else discrete_outputs
    kinds = data.VariableType
    places = {kinds.kInput: flat_inputs, kinds.kOutput: flat_outputs}
    discrete = {kinds.kDiscreteInput: discrete_inputs, kinds.kDiscreteOutput: discrete_outputs}
    for message in request_iterator:
        array, variable = codec.parts(message)
        if array is not None:
            if not len(array.data):
                raise PhiloteValidationError(
                    "Expected continuous variables but arrays were"
                    f" empty for variable {array.name}."
                )
            if array.type in places:
                codec.copy_out(array, places[array.type][array.name])
        elif variable is not None and variable.type in discrete:
            discrete[variable.type][variable.name] = codec.value_of(variable)
    return discrete_inputs, discrete_outputs


def set_variable_shapes(self: Any, request_iterator: Any, context: Any) -> Any:
    """Take the shapes that a client gives to dynamic variables."""
    try:
        refused = apply_shapes(self._discipline._var_meta, checked(request_iterator), True)
        if refused is not None:
            raise PhiloteValidationError(refused)
        return Empty()
    except PhiloteValidationError as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except Exception as error:
        context.abort(grpc.StatusCode.INTERNAL, f"SetVariableShapes failed: {error}")


def checked(shapes: Any) -> Iterator[Any]:
    """Give each shape after stock's validation of it."""
    for meta in shapes:
        validate_shape(tuple(meta.shape), "SetVariableShapes")
        yield meta


def compute_function(self: Any, request_iterator: Any, context: Any) -> Iterator[Any]:
    """Evaluate the function and stream the outputs."""
    try:
        outputs: dict[str, Any] = {}
        discrete_outputs: dict[str, Any] = {}
        inputs, discrete_inputs = receive(self, request_iterator)
        if discrete_inputs or self._discipline._discrete_var_meta:
            self._discipline.compute(inputs, outputs, discrete_inputs, discrete_outputs)
        else:
            self._discipline.compute(inputs, outputs)
        limit = self._stream_opts.num_double
        for name, value in outputs.items():
            yield from codec.messages(value, name, data.kOutput, limit)
        for name, value in discrete_outputs.items():
            variable = data.DiscreteVariable(
                name=name,
                type=data.VariableType.kDiscreteOutput,
                value=_python_to_value(value),
            )
            yield data.VariableMessage(discrete=variable)
    except PhiloteValidationError as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except Exception as error:
        context.abort(grpc.StatusCode.INTERNAL, f"ComputeFunction failed: {error}")


def compute_gradient(self: Any, request_iterator: Any, context: Any) -> Iterator[Any]:
    """Evaluate the partials and stream them."""
    try:
        jac = self.preallocate_partials()
        inputs, discrete_inputs = receive(self, request_iterator)
        if discrete_inputs or self._discipline._discrete_var_meta:
            self._discipline.compute_partials(inputs, jac, discrete_inputs)
        else:
            self._discipline.compute_partials(inputs, jac)
        limit = self._stream_opts.num_double
        for (function, variable), value in jac.items():
            yield from codec.messages(value, function, data.kPartial, limit, variable)
    except PhiloteValidationError as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except Exception as error:
        context.abort(grpc.StatusCode.INTERNAL, f"ComputeGradient failed: {error}")


def receive(self: Any, request_iterator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Allocate the inputs and fill them from a request."""
    inputs: dict[str, Any] = {}
    flat_inputs: dict[str, Any] = {}
    self.preallocate_inputs(inputs, flat_inputs)
    discrete_inputs, _ = self.process_inputs(request_iterator, flat_inputs)
    return inputs, discrete_inputs
