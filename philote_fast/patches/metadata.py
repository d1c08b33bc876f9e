"""Metadata messages as client and server change them: shapes and chunk sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from philote_mdo.generated.data_pb2 import VariableType
from philote_mdo.utils.validation import PhiloteValidationError


def check_num_double(options: Any, where: str) -> None:
    """Refuse stream options that ask for chunks of no values.

    Parameters
    ----------
    options : StreamOptions
        The options.
    where : str
        The function that sets them, for the text of the error.

    Raises
    ------
    PhiloteValidationError
        If ``num_double`` is below 1.
    """
    size = options.num_double
    if isinstance(size, int) and size < 1:
        raise PhiloteValidationError(f"{where}: num_double must be a positive integer, got {size}.")


# The enum looks a name up anew each time, in half a microsecond.
_OUTPUT = int(VariableType.kOutput)
_RESIDUAL = int(VariableType.kResidual)

#: A variable's type and name.
Key = tuple[int, str]


def index_of(var_meta: Any) -> dict[Key, Any]:
    """Return the first entry of each type and name.

    Parameters
    ----------
    var_meta : list of VariableMetaData
        The metadata of the variables.
    """
    return {(var.type, var.name): var for var in reversed(var_meta[:])}


def apply_shapes(declared: dict[Key, Any], shapes: Iterable[tuple[Key, Sequence[int]]]) -> None:
    """Set the shapes of variables, and those of the residuals of outputs.

    Parameters
    ----------
    declared : dict of VariableMetaData
        What ``index_of`` gave; the messages are changed in place.
    shapes : iterable of key and shape
        A later shape of one variable wins; keys that are not in ``declared`` are passed over.
    """
    for (kind, name), shape in shapes:
        _set_shape(declared.get((kind, name)), shape)
        if kind == _OUTPUT:
            _set_shape(declared.get((_RESIDUAL, name)), shape)


def _set_shape(var: Any, shape: Sequence[int]) -> None:
    if var is not None:
        # A tuple or list: the runtime takes seven times as long to assign another message's shape.
        var.shape[:] = shape
