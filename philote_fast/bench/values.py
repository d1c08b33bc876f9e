"""Values that travel, and how to know that they arrived bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What the names of dicts and lists end in.
_CONTAINERS = ("{}", "[]")


@cache
def doubles(size: int) -> NDArray[np.float64]:
    """Give reproducible doubles of many magnitudes, with the odd ones that a codec may spoil.

    Subjects that are compared share one array: where it lies in its page changes how fast it is
    copied, by a third.
    """
    values = np.random.default_rng(20_240_607).standard_normal(size)
    values *= 10.0 ** (np.arange(size) % 40 - 20)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308])
    if size > 100:
        values[10 : 10 + odd.size] = odd
    values.flags.writeable = False
    return values


def same_bits(got: Any, expected: NDArray[np.float64]) -> None:
    """Raise unless an array is bit for bit what it should be."""
    if not isinstance(got, np.ndarray) or got.shape != expected.shape:
        raise AssertionError(f"expected an array of shape {expected.shape}, got {got!r:.200}")
    if got.dtype != expected.dtype or got.tobytes() != expected.tobytes():
        wrong = np.flatnonzero(got.view(np.int64) != expected.view(np.int64))
        raise AssertionError(f"{wrong.size} of {got.size} values differ, first at {wrong[:1]}")


def digests(answer: Any) -> dict[str, str]:
    """Give a digest of each value of an answer by its name, in the order of the answer.

    Two answers have equal digests where they have the same names in the same order, and values of
    the same types, shapes and bits.
    """
    return {label: hashlib.sha256(content).hexdigest()[:16] for label, content in _parts(answer)}


def digest(answer: Any) -> str:
    """Give one digest of a whole answer."""
    return hashlib.sha256(repr(list(digests(answer).items())).encode()).hexdigest()


def first_difference(one: dict[str, str], other: dict[str, str]) -> str:
    """Name the first value in which two answers differ, or say how else they differ."""
    # Values before the lists and dicts that hold them: those differ too, and say less.
    for name in sorted(one, key=_is_container):
        if name not in other:
            return f"{name} is missing"
        surplus = [new for new in other if new not in one] if _is_container(name) else []
        if surplus:
            return f"{surplus[0]} is too much"
        if other[name] != one[name]:
            return name
    return "the order of the values"


def _is_container(name: str) -> bool:
    return name.endswith(_CONTAINERS)


def _parts(answer: Any, label: str = "") -> Iterator[tuple[str, Any]]:
    """Take an answer apart into names and bytes."""
    if isinstance(answer, np.ndarray) and answer.dtype != object:
        head = f"{answer.dtype.str}{answer.shape}".encode()
        # An array of no dimension is made one of one: a view of its bytes needs one.
        yield label or "values", _digest_of(head, np.ascontiguousarray(np.atleast_1d(answer)))
    elif isinstance(answer, Mapping):
        for key, value in answer.items():
            name = " by ".join(key) if isinstance(key, tuple) else str(key)
            yield from _parts(value, f"{label}.{name}" if label else name)
        yield f"{label}{{}}", str(len(answer)).encode()
    elif isinstance(answer, (list, tuple)):
        for index, value in enumerate(answer):
            yield from _parts(value, f"{label}[{index}]")
        yield f"{label}[]", f"{type(answer).__name__} {len(answer)}".encode()
    else:
        text = answer.hex() if isinstance(answer, float) else repr(answer)
        yield label or "value", f"{type(answer).__name__} {text}".encode()


def _digest_of(head: bytes, values: NDArray[Any]) -> bytes:
    whole = hashlib.sha256(head)
    whole.update(values.view(np.uint8).data)
    return whole.digest()
