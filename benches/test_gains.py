"""Every side of every case under pytest-benchmark, grouped by case, each checking its answer.

The sides follow one another here; report.py samples them in turn, and is what figures are from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from gains import memory
from gains.cases import all_cases
from gains.flavours import flavoured
from gains.model import SECONDS, Case, Side
from gains.subjects import make

SIDES = [
    pytest.param(case, label, side, id=f"{case.name}: {label}")
    for case in all_cases()
    if case.unit == SECONDS
    for label, side in case.sides.items()
]


@pytest.mark.parametrize(("case", "label", "side"), SIDES)
@pytest.mark.benchmark(max_time=0.3, min_time=1e-4, min_rounds=5, warmup=False)
def test_side(
    benchmark: Any, keep_time: Callable[[str, str, float], None], case: Case, label: str, side: Side
) -> None:
    benchmark.group = case.name
    memory.choose(case.memory)
    with flavoured(*side.process):
        subject = make(side.subject, side.size)
        try:
            subject.check(subject.run())
            subject.check(benchmark(subject.run))
        finally:
            subject.close()
    if benchmark.stats is not None:
        keep_time(case.name, label, benchmark.stats.stats.median / subject.items)
