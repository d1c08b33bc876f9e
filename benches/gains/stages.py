"""The stages from stock to the native transport, each of them an implementation of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import philote_fast
from gains import peer
from philote_fast.bench.cases import Case, all_cases
from philote_fast.bench.flavours import NATIVE, PATCHED, STOCK
from philote_fast.bench.record import Record
from philote_fast.bench.rivals import RAW
from philote_fast.bench.table import title_of


@dataclass(frozen=True)
class Stage:
    """A stage.

    Parameters
    ----------
    name : str
        What a record calls it.
    flavour : str
        What its processes become; see `philote_fast.bench.flavours`.
    title : str
        What people call it.
    """

    name: str
    flavour: str
    title: str


# Each has what the one before it has, or does the same work otherwise. The floor ends the list.
STAGES = (
    Stage(STOCK, STOCK, "stock"),
    Stage("packed", f"{__name__}:become_packed", "packed buffers in Python"),
    Stage("codec", f"{__name__}:become_codec", "codec in Rust"),
    Stage(PATCHED, PATCHED, "table in Rust (*patched*)"),
    Stage(NATIVE, NATIVE, "transport in Rust (*native*)"),
    Stage(RAW, RAW, title_of(RAW)),
)
FLAVOURS = tuple(stage.flavour for stage in STAGES[:-1])
NAMES = tuple(stage.name for stage in STAGES)
# What the peer in Python can carry, small and large.
CASES = ("scalars-1", "scalars-100", "scalars-1000", "doubles-250000", "gradient-1000")

_HOME = str(Path(__file__).resolve().parent.parent)


def cases() -> list[Case]:
    """Give the cases that all stages are measured in."""
    return [case for case in all_cases() if case.name in CASES]


def become_packed() -> None:
    """Make this process one of philote_mdo with packed buffers in pure Python."""
    _require_stock()
    peer.install()


def become_codec() -> None:
    """Make this process one of the same with its codec in Rust."""
    _require_stock()
    peer.install(codec_in_rust=True)


@contextmanager
def importable() -> Iterator[None]:
    """Let child processes import this module, for as long as a block runs."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_HOME, before)))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def name_stages(record: Record) -> None:
    """Call the results of a record by the names of the stages."""
    names = {stage.flavour: stage.name for stage in STAGES}
    for case in record.cases:
        case.results = {names.get(key, key): result for key, result in case.results.items()}


def _require_stock() -> None:
    # Figures of a process that is more than its stage would be wrong in silence.
    if philote_fast.installed():
        raise RuntimeError("philote_fast has patched this process: it is no such stage")
