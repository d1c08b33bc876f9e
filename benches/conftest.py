"""Gathers the times of a run, and shows the ratios that the targets are about."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gains import render
from gains.cases import all_cases
from gains.compare import Medians, judge

from philote_fast.bench import machine

TIMES = pytest.StashKey[dict[str, Medians]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TIMES] = {}


@pytest.fixture
def keep_time(pytestconfig: pytest.Config) -> Callable[[str, str, float], None]:
    """Keep the seconds for an item of one side of a case."""

    def keep(case: str, label: str, seconds: float) -> None:
        pytestconfig.stash[TIMES].setdefault(case, {})[label] = [seconds]

    return keep


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    times = config.stash[TIMES]
    results = {
        case.name: [
            judge(target, times[case.name])
            for target in case.targets
            if times[case.name].keys() >= {target.ours, target.against}
        ]
        for case in all_cases()
        if case.name in times
    }
    results = {name: outcomes for name, outcomes in results.items() if outcomes}
    if results:
        terminalreporter.section("what is gained")
        terminalreporter.write_line(render.markdown(results, machine.describe()))
