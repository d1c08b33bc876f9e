"""What a patched client or server keeps beside stock's own attributes."""

from __future__ import annotations

from typing import Any

from philote_fast._core import Table, Tables

#: Values in a chunk where the user sets nothing else: 800 kB, well below the 4 MiB that a gRPC
#: message may have.
NUM_DOUBLE = 100_000

_TABLES = "_philote_fast_tables"
_OPTIONS = "_philote_fast_options"


def table_of(owner: Any, var_meta: Any, partials_meta: Any = None) -> Table:
    """Return the table of the given metadata, built anew only where the metadata has changed.

    Parameters
    ----------
    owner : DisciplineClient or DisciplineServer
        The object that keeps the tables.
    var_meta : list of VariableMetaData
        The continuous variables.
    partials_meta : list of PartialsMetaData, optional
        The declared partials, where the call needs them.

    Raises
    ------
    PhiloteValidationError
        If a shape is impossible, or a partial names no variable.
    """
    return tables_of(owner).get(var_meta, partials_meta)


def tables_of(owner: Any) -> Tables:
    """Return the tables of a client or server."""
    tables: Tables | None = owner.__dict__.get(_TABLES)
    if tables is None:
        # setdefault: two first calls at once must end with one object.
        tables = owner.__dict__.setdefault(_TABLES, Tables())
    return tables


def note_options(client: Any, options: Any) -> None:
    """Remember the options that a client has sent.

    Parameters
    ----------
    client : DisciplineClient
        The client.
    options : DisciplineOptions
        The message; not to be changed afterwards.
    """
    client.__dict__[_OPTIONS] = options


def sent_options(client: Any) -> Any:
    """Return the ``DisciplineOptions`` that a client sent last, or None."""
    return client.__dict__.get(_OPTIONS)
