"""Everything that a run of the demo sent and received, and the comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Recorder:
    """Keeps a copy of each array of each call, in the order of the calls."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[np.float64]] = {}
        self._calls = 0

    def keep(self, call: str, arrays: Iterable[tuple[str, NDArray[np.float64]]]) -> None:
        """Keep the arrays of one call.

        Parameters
        ----------
        call : str
            What was called.
        arrays : iterable of (str, ndarray)
            The name and value of each array that went in or came out.
        """
        self._calls += 1
        for name, value in arrays:
            self._arrays[f"call {self._calls} ({call}), {name}"] = np.array(value)

    def save(self, path: Path) -> None:
        """Write everything kept to ``path``, in NumPy's format."""
        np.savez(path, **self._arrays)  # type: ignore[arg-type] # the stub lists other keywords


class Comparison(NamedTuple):
    """How two recorded runs compare."""

    values: int
    difference: str | None


def compare(stock: Path, accelerated: Path) -> Comparison:
    """Compare two recorded runs bit for bit.

    Parameters
    ----------
    stock, accelerated : Path
        What `Recorder.save` wrote in each run.

    Returns
    -------
    Comparison
        The number of doubles that agree, and the first difference, if there is one.
    """
    with np.load(stock) as expected, np.load(accelerated) as found:
        if expected.files != found.files:
            return Comparison(0, _first_odd_call(expected.files, found.files))
        values = 0
        for name in expected.files:
            difference = _difference(expected[name], found[name])
            if difference:
                return Comparison(values, f"{name}{difference}")
            values += expected[name].size
    return Comparison(values, None)


def _first_odd_call(expected: list[str], found: list[str]) -> str:
    for ours, theirs in zip(expected, found, strict=False):
        if ours != theirs:
            return f"stock has {ours!r} where accelerated has {theirs!r}"
    return f"stock recorded {len(expected)} arrays, accelerated {len(found)}"


def _difference(expected: NDArray[np.float64], found: NDArray[np.float64]) -> str | None:
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return f": {expected.dtype}{expected.shape} against {found.dtype}{found.shape}"
    # As integers, so that NaN equals NaN and -0.0 differs from 0.0.
    unequal = np.flatnonzero(expected.view(np.int64).ravel() != found.view(np.int64).ravel())
    if not unequal.size:
        return None
    index = int(unequal[0])
    pair = float(expected.flat[index]), float(found.flat[index])
    return f"[{index}]: stock {pair[0]!r}, accelerated {pair[1]!r}"
