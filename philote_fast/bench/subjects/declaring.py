"""Setting a discipline up, and fetching what it declares."""

from __future__ import annotations

from typing import Any

from philote_mdo.general import ExplicitClient

from philote_fast.bench.subjects.calls import set_up
from philote_fast.bench.timing import Subject


def declaring(channel: Any, size: int) -> Subject:
    """Have `size` inputs, outputs and partials declared by the server, and fetch them."""
    variables = [f"{kind}{index}" for kind in "xy" for index in range(size)]
    partials = [(f"y{index}", f"x{index}") for index in range(size)]

    def run() -> dict[str, Any]:
        # A fresh client each time: stock's keeps what an earlier setup left.
        client = set_up(ExplicitClient(channel))
        # Patched clients keep them in lists of a class of their own.
        return {"variables": [*client._var_meta], "partials": [*client._partials_meta]}

    def check(found: Any) -> None:
        if [meta.name for meta in found["variables"]] != variables:
            raise AssertionError("not the variables that were declared")
        if [(meta.name, meta.subname) for meta in found["partials"]] != partials:
            raise AssertionError("not the partials that were declared")

    return Subject(run, check)
