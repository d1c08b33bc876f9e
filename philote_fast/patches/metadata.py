"""Metadata messages as client and server change them: shapes and chunk sizes."""

from __future__ import annotations

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


def apply_shapes(var_meta: Any, shapes: Any) -> None:
    """Set the shapes of variables, and those of the residuals of outputs.

    Parameters
    ----------
    var_meta : list of VariableMetaData
        Changed in place.
    shapes : iterable of VariableMetaData
        A later shape of one variable wins; names that are not in ``var_meta`` are passed over.
    """
    declared = index_of(var_meta)
    for meta in shapes:
        _set_shape(declared.get((meta.type, meta.name)), meta)
        if meta.type == VariableType.kOutput:
            _set_shape(declared.get((VariableType.kResidual, meta.name)), meta)


def index_of(var_meta: Any) -> dict[tuple[int, str], Any]:
    """Return the first entry of each type and name.

    Parameters
    ----------
    var_meta : list of VariableMetaData
        The metadata of the variables.
    """
    return {(var.type, var.name): var for var in reversed(var_meta)}


def _set_shape(var: Any, meta: Any) -> None:
    if var is not None:
        var.shape[:] = meta.shape
