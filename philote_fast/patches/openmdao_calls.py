"""A remote component's call by whole vectors."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, NoReturn

import philote_mdo.openmdao.utils as utils
from philote_mdo.generated.data_pb2 import VariableType

from philote_fast._core import Way
from philote_fast.patches.calling import Raw, exchange, raw_call
from philote_fast.patches.hooks import places
from philote_fast.patches.openmdao_vectors import ByNameError, blocks_of, flat_of, lanes_of
from philote_fast.patches.registry import note_fallback
from philote_fast.patches.state import tables_of

#: Functions that stock calls to take values out of vectors and put them in.
_NAMED = ("create_local_inputs", "create_local_discrete_inputs", "assign_global_outputs")
_PLACES = {name: places([(vars(utils), name)]) for name in _NAMED}
_utils_untouched = places([(vars(utils), name) for name in _NAMED]).untouched

# protobuf looks each up anew, by way of an error.
_INPUT = int(VariableType.kInput)
_OUTPUT = int(VariableType.kOutput)
_PARTIAL = int(VariableType.kPartial)
_DISCRETE_INPUT = int(VariableType.kDiscreteInput)
_DISCRETE_OUTPUT = int(VariableType.kDiscreteOutput)

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
    client = component._client
    try:
        raw = _raw_of(client, rpc)
        discrete: tuple[Any, Any] = None, None
        if discrete_inputs is not None or discrete_outputs is not None:
            discrete = _discrete(client, discrete_inputs, discrete_outputs)
        ways = lanes_of(component).ways
        found: dict[str, Any] | None = None
        while found is None:
            way = ways.get(rpc.name)
            if way is None or not way.leads(component.comm, *vectors):
                way = _find_way(component, rpc, vectors)
            size = client._stream_options.num_double
            metadata = client._var_meta, client._partials_meta if rpc.reply == _PARTIAL else None
            write = partial(way.write, *discrete, size)
            found = exchange(rpc.calls[0], raw, write, partial(way.read, *metadata, size))
            if found is None:
                ways.pop(rpc.name, None)
    except ByNameError as why:
        note_fallback(rpc.method, str(why))
        return None
    return found


def _raw_of(client: Any, rpc: Rpc) -> Raw:
    if not _utils_untouched():
        # None where another thread has put it back meanwhile.
        replaced = [name for name, place in _PLACES.items() if not place.untouched()]
        name = replaced[0] if replaced else "one of " + ", ".join(_NAMED)
        raise ByNameError(f"philote_mdo.openmdao.utils.{name} is replaced")
    stub = getattr(client, rpc.stub, None)
    raw = raw_call(client, stub, rpc.name, *rpc.calls, note=_go_by_name)
    if raw is None:
        raise ByNameError("its client does not call in bytes")
    return raw


def _go_by_name(_: str, why: str) -> NoReturn:
    """Refuse, in place of a count: the client's method counts when it makes the call by name."""
    raise ByNameError(why)


def _discrete(client: Any, inputs: Any, outputs: Any) -> tuple[Any, Any]:
    metadata = client._discrete_var_meta
    return (
        utils.create_local_discrete_inputs(inputs, metadata, _DISCRETE_INPUT),
        utils.create_local_discrete_inputs(outputs, metadata, _DISCRETE_OUTPUT),
    )


def _find_way(component: Any, rpc: Rpc, vectors: Vectors) -> Way:
    """Find out where the values lie, and keep it for the calls that follow."""
    client = component._client
    tables = tables_of(client)
    partials = client._partials_meta if rpc.reply == _PARTIAL else None
    table = tables.get(client._var_meta, partials)
    inputs, outputs, into = vectors
    given = inputs, flat_of(component, table, _INPUT, inputs)
    at = None if outputs is None else (outputs, flat_of(component, table, _OUTPUT, outputs))
    place: Any
    if rpc.reply == _PARTIAL:
        place = blocks_of(component, table, into)
    else:
        place = flat_of(component, table, rpc.reply, into, written=True)
    way = Way(tables, table, component.comm, given, at, (into, place), rpc.reply)
    lanes = lanes_of(component)
    if not way.leads(component.comm, *vectors):
        if rpc.reply != _PARTIAL:
            raise ByNameError("the array that a vector gives is not the one that it has")
        # The next call looks for the blocks anew.
        lanes.blocks = None
        raise ByNameError("a partial is not a dense block of real numbers as the discipline's is")
    lanes.ways[rpc.name] = way
    return way
