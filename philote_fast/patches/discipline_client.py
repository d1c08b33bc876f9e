"""Patches of ``philote_mdo.general.discipline_client``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import google.protobuf.empty_pb2 as empty
import philote_mdo.generated.data_pb2 as data
from philote_mdo import utils
from philote_mdo.general.discipline_client import DisciplineClient
from philote_mdo.utils.validation import validate_is_dict

from philote_fast._core import Table, read_nothing, write_messages
from philote_fast.patches import meters
from philote_fast.patches.calling import Begin, Raw, at_hand, exchange, raw_call
from philote_fast.patches.definitions import listed
from philote_fast.patches.hooks import hooks_untouched
from philote_fast.patches.metadata import Key, apply_shapes, check_num_double, index_of
from philote_fast.patches.registry import Group
from philote_fast.patches.state import NUM_DOUBLE, note_options, table_of, tables_of
from philote_fast.patches.watched import Watched

CLIENT = Group("client", "whole calls in raw bytes, by slots built once from the metadata")

_init = CLIENT.stock(DisciplineClient, "__init__")
_send_stream_options = CLIENT.stock(DisciplineClient, "send_stream_options")
_send_options = CLIENT.stock(DisciplineClient, "send_options")
_assemble = CLIENT.stock(DisciplineClient, "_assemble_input_messages")
_recover = {
    name: CLIENT.stock(DisciplineClient, name)
    for name in ("_recover_outputs", "_recover_residuals", "_recover_partials")
}
_DISCRETE = (data.VariableType.kDiscreteInput, data.VariableType.kDiscreteOutput)


@CLIENT.replaces(DisciplineClient, "__init__", "(self, channel)")
def __init__(self: Any, channel: Any) -> None:  # noqa: N807
    """Start with chunks of 100,000 values, and lists that count."""
    _init(self, channel)
    meters.attach(self, channel)
    self._stream_options.num_double = NUM_DOUBLE
    self._var_meta = Watched(self._var_meta)
    self._partials_meta = Watched(self._partials_meta)


@CLIENT.replaces(DisciplineClient, "send_stream_options", "(self)")
def send_stream_options(self: Any) -> None:
    """Refuse a chunk size with which no later call could work."""
    check_num_double(self._stream_options, "send_stream_options")
    _send_stream_options(self)


@CLIENT.replaces(DisciplineClient, "send_options", "(self, options)")
def send_options(self: Any, options: Any) -> None:
    """Remember what was sent, so that OpenMDAO's setup need not send it again."""
    _send_options(self, options)
    message = data.DisciplineOptions()
    message.options.update(options)
    note_options(self, message)


@CLIENT.replaces(DisciplineClient, "get_discipline_info", "(self)")
def get_discipline_info(self: Any) -> None:
    """Take the answer as the unary RPC gives it: a message, not a list of one."""
    response = self._disc_stub.GetInfo(empty.Empty())
    if not isinstance(response, data.DisciplineProperties):
        response = response[0]
    self._is_continuous = response.continuous
    self._is_differentiable = response.differentiable
    self._provides_gradients = response.provides_gradients


@CLIENT.replaces(DisciplineClient, "get_variable_definitions", "(self)")
def get_variable_definitions(self: Any) -> None:
    """Replace what an earlier setup left, once all definitions have come."""
    continuous: list[Any] = []
    discrete: list[Any] = []
    for message in listed(self._disc_stub.GetVariableDefinitions, data.VariableMetaData):
        (discrete if message.type in _DISCRETE else continuous).append(message)
    self._var_meta[:] = continuous
    self._discrete_var_meta[:] = discrete


@CLIENT.replaces(DisciplineClient, "get_partials_definitions", "(self)")
def get_partials_definitions(self: Any) -> None:
    """Replace what an earlier setup left, once all definitions have come."""
    self._partials_meta[:] = list(
        listed(self._disc_stub.GetPartialDefinitions, data.PartialsMetaData)
    )


@CLIENT.replaces(DisciplineClient, "send_variable_shapes", "(self, variable_metadata)")
def send_variable_shapes(self: Any, variable_metadata: Any) -> None:
    """Send the shapes and set them in the local metadata, without a scan for each."""
    metas = list(variable_metadata)
    raw = raw_call(self, self._disc_stub, "SetVariableShapes")
    if raw is None:
        self._disc_stub.SetVariableShapes(iter(metas))
        apply_shapes(index_of(self._var_meta), _shapes_of(metas))
        return
    messages = [meta.SerializeToString() for meta in metas]
    with raw(lambda begin: write_messages(messages, begin())) as reply:
        # While the server is at work.
        declared, shapes = index_of(self._var_meta), _shapes_of(metas)
        read_nothing(at_hand(reply))
    apply_shapes(declared, shapes)


def _shapes_of(metas: list[Any]) -> list[tuple[Key, list[int]]]:
    # A slice: the runtime takes four times as long to be walked through.
    return [((meta.type, meta.name), meta.shape[:]) for meta in metas]


@CLIENT.replaces(
    DisciplineClient,
    "_assemble_input_messages",
    "(self, inputs, outputs=None, discrete_inputs=None, discrete_outputs=None)",
)
def _assemble_input_messages(
    self: Any,
    inputs: Any,
    outputs: Any = None,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> list[Any]:
    """Assemble the messages by slot."""
    if not hooks_untouched():
        return _assemble(self, inputs, outputs, discrete_inputs, discrete_outputs)  # type: ignore[no-any-return]
    frames = write_request(
        self, table_of(self, self._var_meta), inputs, outputs, discrete_inputs, discrete_outputs
    )
    return list(map(data.VariableMessage.FromString, frames))


def write_request(
    client: Any,
    table: Table,
    inputs: Any,
    outputs: Any,
    discrete_inputs: Any,
    discrete_outputs: Any,
    to: Any = None,
) -> Any:
    """Write a request.

    Parameters
    ----------
    client : DisciplineClient
        The client, with its chunk size.
    table : Table
        What its metadata says.
    inputs, outputs : dict of str to numpy.ndarray
        Continuous values; ``outputs`` may be None.
    discrete_inputs, discrete_outputs : dict of str to object
        Discrete values; may be None.
    to : NativeCall or CallRecord, optional
        The call that sends it, or the ``CallRecord`` of one of grpcio's.

    Returns
    -------
    list of bytes, or a native call
        The serialised messages, or the call that has sent them.

    Raises
    ------
    PhiloteValidationError
        If a value is no array, or has not the declared size.
    TypeError
        If a value cannot be carried as real numbers.
    """
    validate_is_dict(inputs, "_assemble_input_messages (inputs)")
    if outputs is not None:
        validate_is_dict(outputs, "_assemble_input_messages (outputs)")
    return table.write_request(
        inputs,
        outputs,
        discrete_inputs or None,
        discrete_outputs or None,
        client._stream_options.num_double,
        to,
    )


@CLIENT.replaces(DisciplineClient, "_recover_outputs", "(self, responses)")
def _recover_outputs(self: Any, responses: Any) -> Any:
    """Read the outputs by slot."""
    if not hooks_untouched():
        return _recover["_recover_outputs"](self, responses)
    return read_outputs(self, table_of(self, self._var_meta), responses)


@CLIENT.replaces(DisciplineClient, "_recover_residuals", "(self, responses)")
def _recover_residuals(self: Any, responses: Any) -> Any:
    """Read the residuals by slot."""
    if not hooks_untouched():
        return _recover["_recover_residuals"](self, responses)
    return read_residuals(self, table_of(self, self._var_meta), responses)


@CLIENT.replaces(DisciplineClient, "_recover_partials", "(self, responses)")
def _recover_partials(self: Any, responses: Any) -> Any:
    """Read the partials by slot."""
    if not hooks_untouched():
        return _recover["_recover_partials"](self, responses)
    return read_partials(self, partials_table(self), responses)


def call(
    client: Any,
    title: str,
    raw: Raw,
    read: Callable[[Any, Table, Any], Any],
    values: tuple[Any, Any, Any, Any],
    with_partials: bool = False,
) -> Any:
    """Make a compute RPC, its request and its reply judged by what the metadata says now.

    Parameters
    ----------
    client : DisciplineClient
        The client.
    title : str
        The client's method, as stock's error texts name it.
    raw : callable
        What ``raw_call`` returned.
    read : callable
        One of the functions here that read a reply.
    values : tuple
        Inputs, outputs, discrete inputs and discrete outputs.
    with_partials : bool, optional
        Whether the reply carries partials.

    Notes
    -----
    To compare the metadata with what the table was built from takes long where there are many
    variables. It is done while the server is at work; only in a call just after a change by hand
    may a request be sent that is refused here.
    """
    tables = tables_of(client)
    metadata = (client._var_meta, client._partials_meta if with_partials else None)
    table = tables.latest(with_partials) or tables.get(*metadata)

    def write(begin: Begin) -> Any:
        try:
            return write_request(client, table, *values, begin())
        except Exception:
            now = tables.changed(table, *metadata)
            if now is None:
                raise
            return write_request(client, now, *values, begin())

    def read_reply(reply: Any) -> Any:
        # Whatever the table says, what was sent is the same: at the most it should not have been.
        now = tables.changed(table, *metadata)
        if now is not None:
            write_request(client, now, *values)
        return read(client, now or table, reply)

    return exchange(title, raw, write, read_reply)


def partials_table(client: Any) -> Table:
    """Return the client's table, with its partials."""
    return table_of(client, client._var_meta, client._partials_meta)


def read_outputs(client: Any, table: Table, replies: Any) -> Any:
    """Read a reply that carries outputs.

    Parameters
    ----------
    client : DisciplineClient
        The client, with its chunk size.
    table : Table
        What its metadata says.
    replies : iterable of bytes or VariableMessage
        The reply.

    Returns
    -------
    dict or tuple of dict
        The continuous outputs, with the discrete ones where there are any.
    """
    outputs, discrete = table.read_outputs(replies, client._stream_options.num_double)
    return (outputs, discrete) if discrete else outputs


def read_residuals(client: Any, table: Table, replies: Any) -> dict[str, Any]:
    """Read a reply that carries residuals; see ``read_outputs``."""
    return table.read_residuals(replies, client._stream_options.num_double)


def read_partials(client: Any, table: Table, replies: Any) -> Any:
    """Read a reply that carries partials into a ``PairDict``; see ``read_outputs``."""
    partials = utils.PairDict()
    table.read_partials(replies, client._stream_options.num_double, partials)
    return partials
