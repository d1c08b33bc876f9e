"""Conducts a run: passes of fresh processes, cases in turn, all sides of a case round by round."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from philote_fast.bench import machine
from philote_fast.bench.budget import Budget, budget
from philote_fast.bench.cases import Case
from philote_fast.bench.children import AgentProcess
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import FLAVOURS, STOCK
from philote_fast.bench.progress import Progress
from philote_fast.bench.record import EQUAL, VARIES, CaseRecord, Record, Result, Timing
from philote_fast.bench.rivals import RAW
from philote_fast.bench.team import Place, Team, team
from philote_fast.bench.values import first_difference

# A sample lasts about this long where a call is shorter.
SAMPLE_SECONDS = 5e-3
QUICK_PASSES, PASSES = 1, 3


@dataclass(frozen=True)
class Plan:
    """What a run measures.

    Parameters
    ----------
    cases : sequence of Case
        What is called.
    place : Place
        Where the disciplines are.
    implementations : sequence of str
        Stock first: the others are compared with it. The bytes of the last are the floor's.
    rivals : sequence of str
        The bare socket and other libraries.
    quick : bool
        Whether the run is to take less than a minute.
    seconds : float, optional
        How long to measure, if a user has said so.
    """

    cases: Sequence[Case]
    place: Place
    implementations: Sequence[str] = FLAVOURS
    rivals: Sequence[str] = (RAW,)
    quick: bool = False
    seconds: float | None = None

    @property
    def passes(self) -> list[list[Case]]:
        """The cases of each set of fresh processes."""
        count = QUICK_PASSES if self.quick else PASSES
        each = ([case for case in self.cases if case.passes > index] for index in range(count))
        return [cases for cases in each if cases]


def run(plan: Plan, record: Record, progress: Progress) -> None:
    """Measure, and put what is found into a record.

    Raises
    ------
    BenchError
        If something cannot be measured, or two implementations give different values.
    """
    start = time.perf_counter()
    record.machine.update(machine.describe())
    record.cases.extend(
        CaseRecord(case.name, case.group, case.size, case.title) for case in plan.cases
    )
    by_name = {case.name: case for case in record.cases}
    passes = plan.passes
    spent = budget(plan.quick, sum(map(len, passes)), plan.seconds)
    try:
        for cases in passes:
            with team(plan.place, plan.implementations, bool(plan.rivals)) as present:
                for case in cases:
                    progress.begin(case.name)
                    spent.begin()
                    Measurement(plan, present, case, by_name[case.name]).take(spent, progress)
    finally:
        record.seconds = round(time.perf_counter() - start, 1)


class Measurement:
    """One case in one set of processes.

    Parameters
    ----------
    plan : Plan
        What is measured.
    present : Team
        The processes.
    case : Case
        The case.
    found : CaseRecord
        Where the samples go, to those of earlier passes.
    """

    def __init__(self, plan: Plan, present: Team, case: Case, found: CaseRecord) -> None:
        self._plan = plan
        self._team = present
        self._case = case
        self._found = found
        self._timings: dict[tuple[str, str], Timing] = {}
        self._answers: dict[str, str] = {}

    def take(self, spent: Budget, progress: Progress) -> None:
        """Prepare all sides, compare their answers, and sample them in turn."""
        try:
            for name in self._plan.implementations:
                self._prepare(name)
            self._compare()
            for rival in self._rivals():
                told = self._team.prepare_rival(self._case, rival, SAMPLE_SECONDS)
                self._keep(rival, "call", told["calls"])
            rounds = 0
            while spent.goes_on(rounds):
                rounds += 1
                progress.round(rounds, self._round(rounds))
        except BenchError as error:
            # A server that has gone is the cause, and a call that failed its consequence.
            cause = self._team.casualty() or error
            raise BenchError(f"{self._case.name}: {cause}", cause.trace) from error
        self._team.drop()

    def _rivals(self) -> list[str]:
        return [name for name in self._plan.rivals if name == RAW or self._case.has_rivals]

    def _prepare(self, name: str) -> None:
        """Make the first calls of an implementation: counted, then as they will be sampled."""
        address = self._team.address(self._case, name)
        counted = self._team.count(self._case, name, address)
        told = self._team.prepare(self._case, name, address, SAMPLE_SECONDS)
        if counted["answer"] != told["answer"]:
            self._varies(name)
        self._answers[name] = told["answer"]
        self._keep(name, "call", told["calls"])
        result = self._found.results[name]
        exchanges = counted["exchanges"]
        result.messages = sum(each["sent"] + each["received"] for each in exchanges)
        result.bytes = sum(each["sent_bytes"] + each["received_bytes"] for each in exchanges)
        if self._case.threads:
            told = self._team.prepare_threads(self._case, name, address, SAMPLE_SECONDS)
            self._keep(name, "threads", told["calls"])

    def _keep(self, name: str, key: str, calls: int) -> None:
        """Make room for samples, beside those of earlier passes."""
        result = self._found.results.setdefault(name, Result(Timing(calls)))
        if key == "threads" and result.threads is None:
            result.threads = Timing(calls)
        timing = result.timing if key == "call" else result.threads
        assert timing is not None
        self._timings[name, key] = timing

    def _round(self, number: int) -> dict[str, float]:
        """Sample all sides once, another one first each time; give the seconds of a call."""
        sides = list(self._timings)
        turn = number % len(sides)
        seconds = {}
        for name, key in sides[turn:] + sides[:turn]:
            asked = name if name in self._plan.rivals else key
            told = self._team.agent(name).ask("sample", key=asked)
            self._timings[name, key].samples.append(told["seconds"])
            if not told["same"]:
                self._varies(name)
            if key == "call":
                seconds[name] = told["seconds"]
        return {name: seconds[name] for name, key in sides if key == "call"}

    def _varies(self, name: str) -> None:
        """Note that one implementation gives different values for the same call."""
        if self._case.group != "own":
            raise BenchError(f"{name} gives different values from call to call")
        self._found.answers = VARIES

    def _compare(self) -> None:
        """Raise unless all implementations give the same values, where values repeat at all."""
        stock, *others = self._plan.implementations
        for name in others:
            if self._found.answers == EQUAL and self._answers[name] != self._answers[stock]:
                self._judge(stock, name)

    def _judge(self, stock: str, name: str) -> None:
        """Tell a discipline that varies from process to process from values that are wrong."""
        if self._case.group == "own" and self._another() != self._answers[stock]:
            self._found.answers = VARIES
            return
        one, other = (self._details(each) for each in (stock, name))
        where = first_difference(one, other)
        raise BenchError(f"the values of {name} are not those of {stock}: {where}")

    def _another(self) -> str:
        """Give the answer of stock from fresh processes."""
        with team(self._plan.place, [STOCK], rivals=False) as fresh:
            address = fresh.address(self._case, STOCK)
            answer: str = fresh.prepare(self._case, STOCK, address, 0.0)["answer"]
            return answer

    def _details(self, name: str) -> dict[str, str]:
        agent: AgentProcess = self._team.clients[name]
        told: dict[str, str] = agent.ask("details", key="call")
        return told
