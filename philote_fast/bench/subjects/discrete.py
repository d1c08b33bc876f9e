"""Calls with discrete values."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import numpy as np
from philote_mdo.general import ExplicitClient

from philote_fast.bench.disciplines import DISCRETE
from philote_fast.bench.subjects.calls import set_up
from philote_fast.bench.timing import Subject


def discrete(channel: Any, size: int) -> Subject:
    """Send `size` discrete values and a double, and get them back."""
    client = set_up(ExplicitClient(channel))
    inputs = {"x": np.array([0.25])}
    given = list(islice(cycle(DISCRETE), size))
    values = {f"d{index}": value for index, value in enumerate(given)}
    expected = {f"e{index}": value for index, value in enumerate(given)}

    def check(found: Any) -> None:
        outputs, discrete_outputs = found
        if list(outputs) != ["y"] or outputs["y"].tolist() != [0.25]:
            raise AssertionError("not the double that was sent")
        if repr(discrete_outputs) != repr(expected):
            raise AssertionError("not the discrete values that were sent")

    return Subject(lambda: client.run_compute(inputs, values), check)
