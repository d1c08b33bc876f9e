"""Patches of ``philote_mdo.general.discipline_server``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from philote_mdo.general.discipline_server import DisciplineServer
from philote_mdo.generated.data_pb2 import VariableMetaData
from philote_mdo.utils import PairDict
from philote_mdo.utils.validation import PhiloteValidationError

from philote_fast import _core
from philote_fast.patches import meters
from philote_fast.patches.grpcio_server import requests_of
from philote_fast.patches.hooks import hooks_untouched
from philote_fast.patches.metadata import apply_shapes, check_num_double, index_of
from philote_fast.patches.native import native_call
from philote_fast.patches.registration import RAW
from philote_fast.patches.registry import Group, untouched
from philote_fast.patches.state import NUM_DOUBLE, table_of

SERVER = Group("server", "whole calls in raw bytes, by slots built once from the metadata")

_init = SERVER.stock(DisciplineServer, "__init__")
_set_stream_options = SERVER.stock(DisciplineServer, "SetStreamOptions")
_preallocate_inputs = SERVER.stock(DisciplineServer, "preallocate_inputs")
_preallocate_partials = SERVER.stock(DisciplineServer, "preallocate_partials")
_set_variable_shapes = SERVER.stock(DisciplineServer, "SetVariableShapes")
_process_inputs = SERVER.stock(DisciplineServer, "process_inputs")


@SERVER.replaces(DisciplineServer, "__init__", "(self, discipline=None)")
def __init__(self: Any, discipline: Any = None) -> None:  # noqa: N807
    """Start with chunks of 100,000 values."""
    _init(self, discipline)
    self._stream_opts.num_double = NUM_DOUBLE


@SERVER.replaces(DisciplineServer, "SetStreamOptions", "(self, request, context)")
def SetStreamOptions(self: Any, request: Any, context: Any) -> Any:  # noqa: N802
    """Refuse a chunk size with which no later call could work."""
    try:
        check_num_double(request, "SetStreamOptions")
    except PhiloteValidationError as error:
        return context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    return _set_stream_options(self, request, context)


@SERVER.replaces(DisciplineServer, "SetVariableShapes", "(self, request_iterator, context)")
def SetVariableShapes(self: Any, request_iterator: Any, context: Any) -> Any:  # noqa: N802
    """Set all shapes, or none where one of them is refused."""
    if not hooks_untouched():
        return _set_variable_shapes(self, request_iterator, context)
    try:
        declared = index_of(self._discipline._var_meta)
        apply_shapes(declared, _core.read_shapes(request_iterator, declared).items())
        return Empty()
    except PhiloteValidationError as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except Exception as error:
        context.abort(grpc.StatusCode.INTERNAL, f"SetVariableShapes failed: {error}")


def _set_variable_shapes_raw(server: Any) -> Callable[[Any, Any], bytes]:
    """Return the same in bytes, for a server that does not look at the messages."""

    def behaviour(requests: Any, context: Any) -> bytes:
        call = native_call(requests)
        if call is None:
            meters.of_server(server).skip()
        if hooks_untouched() and untouched(server, "SetVariableShapes"):
            taken = requests_of(requests) if call is None else call
            answer = SetVariableShapes(server, taken, context)
        else:
            metas = map(VariableMetaData.FromString, requests)
            answer = _set_variable_shapes(server, metas, context)
        return answer.SerializeToString()  # type: ignore[no-any-return]

    return behaviour


RAW["SetVariableShapes"] = _set_variable_shapes_raw


@SERVER.replaces(
    DisciplineServer,
    "preallocate_inputs",
    "(self, inputs, flat_inputs, outputs=None, flat_outputs=None)",
)
def preallocate_inputs(
    self: Any, inputs: Any, flat_inputs: Any, outputs: Any = None, flat_outputs: Any = None
) -> None:
    """Fill the dicts with zeros and flat views of them."""
    if not hooks_untouched():
        _preallocate_inputs(self, inputs, flat_inputs, outputs, flat_outputs)
        return
    table = table_of(self, self._discipline._var_meta)
    table.allocate_inputs(inputs, flat_inputs, outputs, flat_outputs)


@SERVER.replaces(DisciplineServer, "preallocate_partials", "(self)")
def preallocate_partials(self: Any) -> Any:
    """Return zeros for every declared partial, without a scan for each."""
    if not hooks_untouched():
        return _preallocate_partials(self)
    partials = PairDict()
    discipline = self._discipline
    table_of(self, discipline._var_meta, discipline._partials_meta).allocate_partials(partials)
    return partials


@SERVER.replaces(
    DisciplineServer,
    "process_inputs",
    "(self, request_iterator, flat_inputs, flat_outputs=None, discrete_inputs=None, "
    "discrete_outputs=None)",
)
def process_inputs(
    self: Any,
    request_iterator: Any,
    flat_inputs: Any,
    flat_outputs: Any = None,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> tuple[Any, Any]:
    """Read the request into the caller's flat arrays."""
    if not hooks_untouched():
        return _process_inputs(  # type: ignore[no-any-return]
            self, request_iterator, flat_inputs, flat_outputs, discrete_inputs, discrete_outputs
        )
    discrete_inputs = {} if discrete_inputs is None else discrete_inputs
    discrete_outputs = {} if discrete_outputs is None else discrete_outputs
    _core.read_into(request_iterator, flat_inputs, flat_outputs, discrete_inputs, discrete_outputs)
    return discrete_inputs, discrete_outputs
