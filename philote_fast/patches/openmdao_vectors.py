"""Where the variables of a remote component lie in OpenMDAO's vectors and in its Jacobian.

What OpenMDAO's public access by name gives are views of one flat array for each vector, and of one
block for each partial. Where they lie is found out once, by that access; a call then moves whole
vectors and asks for no name. Whatever is not as expected makes the call go by name, as stock's do.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import openmdao
from openmdao.jacobians.jacobian import Jacobian
from openmdao.vectors.default_vector import DefaultVector

from philote_fast._core import Flat, Table, Way

#: The OpenMDAO versions, first and last, that are known to be as is assumed here: a vector that is
#: handed to a component holds physical values in the array of ``asarray()``, one variable after the
#: other as in ``items()``; where that array is real it is ``_data`` too; the array that a Jacobian
#: gives by name is the one that it computes with, and the item ``val`` of its description in
#: ``_subjacs_info``.
KNOWN = ((3, 30), (3, 45))

_LANES = "_philote_fast_lanes"


class ByNameError(Exception):
    """Why a call must go by name."""


class _Vector(NamedTuple):
    """A vector as it was when its variables were looked for."""

    vector: Any
    array: Any
    table: Table
    #: The variables in it, or why they are not there as expected.
    found: Flat | str


class _Blocks(NamedTuple):
    """A Jacobian as it was when its blocks were looked for."""

    jacobian: Any
    table: Table
    #: OpenMDAO's description of each block, or why they are not as expected.
    found: list[dict[str, Any]] | str


class Lanes:
    """What has been found out about one component. A copy of it knows nothing."""

    def __init__(self) -> None:
        self.vectors: dict[int, _Vector] = {}
        self.blocks: _Blocks | None = None
        #: The ways of the component's calls, by the name of the RPC.
        self.ways: dict[str, Way] = {}

    def __reduce__(self) -> tuple[type[Lanes], tuple[()]]:
        return Lanes, ()


def lanes_of(component: Any) -> Lanes:
    """Return what is known about a component, which may be nothing yet."""
    lanes: Lanes | None = component.__dict__.get(_LANES)
    if lanes is None:
        lanes = component.__dict__.setdefault(_LANES, Lanes())
    return lanes


def flat_of(component: Any, table: Table, kind: int, vector: Any, *, written: bool = False) -> Flat:
    """Find the discipline's variables of one type in a vector.

    Parameters
    ----------
    component : om.ExplicitComponent or om.ImplicitComponent
        The remote component.
    table : Table
        What the discipline's metadata says.
    kind : VariableType
        The type of the variables.
    vector : object
        What OpenMDAO handed to the component.
    written : bool, optional
        Whether values are to be put there.

    Raises
    ------
    ByNameError
        If they cannot be taken for the parts of one array.
    """
    _check(component, vector, written)
    array = vector.asarray()
    lanes = lanes_of(component)
    known = lanes.vectors.get(kind)
    if (
        known is None
        or known.vector is not vector
        or known.array is not array
        or not known.table.has_variables_of(table)
    ):
        known = _Vector(vector, array, table, _find(table, kind, vector, array))
        lanes.vectors[kind] = known
    if isinstance(known.found, str):
        raise ByNameError(known.found)
    return known.found


def _check(component: Any, vector: Any, written: bool) -> None:
    if _UNKNOWN_VERSION is not None:
        raise ByNameError(_UNKNOWN_VERSION)
    if getattr(component.comm, "size", 1) > 1:
        raise ByNameError("the component runs under MPI")
    if type(vector) is not DefaultVector:
        raise ByNameError(f"it was given a {type(vector).__name__}, not an OpenMDAO DefaultVector")
    if written and vector.read_only:
        raise ByNameError("the vector is read-only")


def _find(table: Table, kind: int, vector: Any, array: Any) -> Flat | str:
    if array.dtype.kind == "c":
        return "a complex step"
    if not array.flags.c_contiguous:
        return "the vectors have room for complex numbers (force_alloc_complex)"
    flat = table.place(kind, array, vector.items())
    return "its variables are not those of the discipline" if flat is None else flat


def blocks_of(component: Any, table: Table, partials: Any) -> list[dict[str, Any]]:
    """Find the blocks of the declared partials in a component's Jacobian.

    Parameters
    ----------
    component : om.ExplicitComponent or om.ImplicitComponent
        The remote component.
    table : Table
        What the discipline's metadata says, with its partials.
    partials : object
        What OpenMDAO handed to the component.

    Returns
    -------
    list of dict
        OpenMDAO's description of each declared partial.

    Raises
    ------
    ByNameError
        If the values that come cannot be copied there as they are.
    """
    if getattr(type(partials), "__setitem__", None) is not _SET_BLOCK:
        raise ByNameError(f"it was given a {type(partials).__name__}, not an OpenMDAO Jacobian")
    lanes = lanes_of(component)
    known = lanes.blocks
    if known is None or known.jacobian is not partials or not known.table.is_same(table):
        known = lanes.blocks = _Blocks(partials, table, _find_blocks(partials, table.pairs()))
    if isinstance(known.found, str):
        raise ByNameError(known.found)
    return known.found


def _find_blocks(jacobian: Any, pairs: tuple[tuple[str, str], ...]) -> list[dict[str, Any]] | str:
    found = []
    for pair in pairs:
        if pair not in jacobian:
            return "a partial of the discipline is not declared"
        info = jacobian._subjacs_info.get(jacobian._get_abs_key(pair))
        if info is None or info["val"] is not jacobian[pair]:
            return "OpenMDAO's Jacobian is not as expected"
        if info.get("rows") is not None or info.get("diagonal"):
            return "a partial is declared with rows and columns"
        found.append(info)
    return found


def _unknown_version() -> str | None:
    text = str(openmdao.__version__)
    numbers = re.match(r"(\d+)\.(\d+)", text)
    if numbers and KNOWN[0] <= (int(numbers[1]), int(numbers[2])) <= KNOWN[1]:
        return None
    first, last = (".".join(map(str, version)) for version in KNOWN)
    return f"OpenMDAO {text} is not {first} to {last}"


_UNKNOWN_VERSION = _unknown_version()
_SET_BLOCK = Jacobian.__setitem__
