"""A remote component's call by whole vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import philote_mdo.openmdao.utils as utils
from philote_mdo.generated.data_pb2 import VariableType

from philote_fast._core import Flat, Table
from philote_fast.patches.calling import Begin, Raw, exchange, raw_call
from philote_fast.patches.hooks import stock_in
from philote_fast.patches.openmdao_vectors import ByNameError, blocks_of, flat_of, lanes_of
from philote_fast.patches.registry import is_replacement, note_fallback
from philote_fast.patches.state import tables_of

#: Functions that stock calls to take values out of vectors and put them in.
_NAMED = ("create_local_inputs", "create_local_discrete_inputs", "assign_global_outputs")
_STOCK = {name: stock_in(vars(utils), name) for name in _NAMED}

#: The inputs; the outputs, or None where none are sent; and the vector, or the Jacobian, that the
#: reply is put into.
Vectors = tuple[Any, Any, Any]


class Rpc(NamedTuple):
    """How one call of a component differs from the others."""

    #: The component's class and method, as ``status()`` names them.
    method: str
    #: The client's attribute that has the RPC, and the RPC's name.
    stub: str
    name: str
    #: The client's methods that stock calls for it, first the one that the errors name.
    calls: tuple[str, ...]
    #: What the reply carries: outputs, residuals or partials.
    reply: int


class _MetadataChangedError(Exception):
    """The table that a call was begun with is not that of the metadata."""


def by_vector(
    component: Any,
    rpc: Rpc,
    vectors: Vectors,
    discrete_inputs: Any = None,
    discrete_outputs: Any = None,
) -> dict[str, Any] | None:
    """Make a call from whole vectors to a whole vector, or to the blocks of a Jacobian.

    Parameters
    ----------
    component : RemoteExplicitComponent or RemoteImplicitComponent
        The component.
    rpc : Rpc
        The call.
    vectors : tuple
        What OpenMDAO handed to the component; see ``Vectors``.
    discrete_inputs, discrete_outputs : object, optional
        Discrete values to send.

    Returns
    -------
    dict or None
        The discrete outputs that came. None: nothing was done, and the call must be made by name,
        for a reason that is counted in ``status()``.

    Notes
    -----
    As in the client, the metadata is compared with what the table was built from while the server
    is at work. Only a call just after a change by hand is then made a second time.
    """
    try:
        raw = _raw_of(component._client, rpc)
        discrete = (
            _discrete(component._client, discrete_inputs, VariableType.kDiscreteInput),
            _discrete(component._client, discrete_outputs, VariableType.kDiscreteOutput),
        )
        try:
            return _call(component, rpc, raw, vectors, discrete)
        except _MetadataChangedError:
            return _call(component, rpc, raw, vectors, discrete)
    except ByNameError as why:
        note_fallback(rpc.method, str(why))
        return None


def _raw_of(client: Any, rpc: Rpc) -> Raw:
    for name, stock in _STOCK.items():
        now = getattr(utils, name, None)
        if now is not stock and not is_replacement(now):
            raise ByNameError(f"philote_mdo.openmdao.utils.{name} is replaced")
    stub = getattr(client, rpc.stub, None)
    raw = raw_call(client, stub, rpc.name, *rpc.calls, note=_go_by_name)
    if raw is None:
        raise ByNameError("its client does not call in bytes")
    return raw


def _go_by_name(_: str, why: str) -> NoReturn:
    """Refuse, in place of a count: the client's method counts when it makes the call by name."""
    raise ByNameError(why)


def _discrete(client: Any, values: Any, kind: int) -> Any:
    return utils.create_local_discrete_inputs(values, client._discrete_var_meta, kind)


def _call(
    component: Any, rpc: Rpc, raw: Raw, vectors: Vectors, discrete: tuple[Any, Any]
) -> dict[str, Any]:
    client = component._client
    num_double = client._stream_options.num_double
    with_partials = rpc.reply == VariableType.kPartial
    tables = tables_of(client)
    metadata = (client._var_meta, client._partials_meta if with_partials else None)
    # A vector not seen before may be that of another setup.
    seen = lanes_of(component).know(vectors)
    table = (tables.latest(with_partials) if seen else None) or tables.get(*metadata)
    given, at = _given(component, table, vectors)
    read_into = _reader(component, table, rpc.reply, vectors[2], num_double)

    def write(begin: Begin) -> Any:
        return table.write_request(given, at, *discrete, num_double, begin())

    def read(reply: Any) -> dict[str, Any]:
        if tables.changed(table, *metadata) is not None:
            raise _MetadataChangedError
        return read_into(reply)

    return exchange(rpc.calls[0], raw, write, read)


def _given(component: Any, table: Table, vectors: Vectors) -> tuple[Flat, Flat | None]:
    inputs, outputs, _ = vectors
    given = flat_of(component, table, VariableType.kInput, inputs)
    if outputs is None:
        return given, None
    return given, flat_of(component, table, VariableType.kOutput, outputs)


def _reader(
    component: Any, table: Table, kind: int, into: Any, num_double: int
) -> Callable[[Any], dict[str, Any]]:
    """Return what reads a reply to its place and gives its discrete outputs."""
    if kind == VariableType.kPartial:
        blocks = blocks_of(component, table, into)

        def read_partials(reply: Any) -> dict[str, Any]:
            table.read_partials_into(reply, num_double, blocks)
            return {}

        return read_partials
    flat = flat_of(component, table, kind, into, written=True)
    if kind == VariableType.kResidual:
        return lambda reply: table.read_residuals(reply, num_double, flat)
    return lambda reply: table.read_outputs(reply, num_double, flat)[1]
