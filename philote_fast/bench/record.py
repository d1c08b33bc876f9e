"""What a run found: the record that ``--json`` writes and ``--compare`` reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from philote_fast.bench import schema
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import STOCK

EQUAL, VARIES = "equal", "varies"


@dataclass(frozen=True)
class Spread:
    """The middle of some figures, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: list[float]) -> Spread:
        """Summarise figures."""
        ordered = sorted(figures)
        return cls(median(ordered), _quantile(ordered, 0.25), _quantile(ordered, 0.75))

    def apart_from(self, other: Spread) -> bool:
        """Whether the two ranges between quartiles have nothing in common."""
        return self.low > other.high or other.low > self.high


@dataclass
class Timing:
    """The samples of one kind of call: seconds for each call, in the order of the rounds.

    Samples of the same place in the lists of two implementations were taken one after the other.
    """

    calls: int
    samples: list[float] = field(default_factory=list)

    @property
    def spread(self) -> Spread:
        """Their median and quartiles."""
        return Spread.of(self.samples)

    def times_faster(self, stock: Timing) -> Spread:
        """How many times faster this is than stock, round by round."""
        pairs = zip(stock.samples, self.samples, strict=True)
        return Spread.of([theirs / ours for theirs, ours in pairs])


@dataclass
class Result:
    """What was found of one implementation in one case.

    `messages` and `bytes` are those of all messages of one call, both ways; None where they are
    not counted. `threads` are calls by many threads at once.
    """

    timing: Timing
    messages: int | None = None
    bytes: int | None = None
    threads: Timing | None = None


@dataclass
class CaseRecord:
    """What was found in one case, by implementation.

    `answers` says whether the values are bit for bit the same: `EQUAL`, or `VARIES` where a
    discipline gives others from call to call.
    """

    name: str
    group: str
    size: int
    title: str
    answers: str = EQUAL
    results: dict[str, Result] = field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether all sides have as many samples, and some."""
        counts = {len(result.timing.samples) for result in self.results.values()}
        return len(counts) == 1 and counts != {0}

    def times_faster(self, name: str) -> Spread | None:
        """How many times faster than stock an implementation is; None for stock itself."""
        if name == STOCK or STOCK not in self.results:
            return None
        return self.results[name].timing.times_faster(self.results[STOCK].timing)


@dataclass
class Record:
    """A whole run.

    `subject` says what was measured: ``built-in``, ``target`` or ``discipline``; `what` names the
    target or the discipline.
    """

    machine: dict[str, Any]
    subject: str
    what: str
    quick: bool
    cases: list[CaseRecord] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    created: str = field(
        default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds")
    )

    def keep_measured(self) -> None:
        """Leave out the cases of which a run that has failed took no samples."""
        self.cases = [case for case in self.cases if case.measured]

    def as_json(self) -> dict[str, Any]:
        """Give everything as the schema has it; what can be derived is there too."""
        document = {"schema": schema.NAME, "version": schema.VERSION, **_without_none(asdict(self))}
        for case, told in zip(self.cases, document["cases"], strict=True):
            for name, result in case.results.items():
                mine = told["results"][name]
                for key in ("timing", "threads"):
                    if key in mine:
                        mine[key].update(asdict(getattr(result, key).spread))
                ratio = case.times_faster(name)
                if ratio is not None:
                    mine["times_faster"] = asdict(ratio)
        return document

    def write(self, path: Path) -> None:
        """Write the record as JSON."""
        path.write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Record:
    """Read a record.

    Raises
    ------
    BenchError
        If the file cannot be read, or is no record of this version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{path} is no JSON: {error}") from error
    problem = schema.objection(document)
    if problem:
        raise BenchError(f"{path} {problem}")
    found = _record(document)
    for case in found.cases:
        if not case.measured:
            raise BenchError(f"{path} is a broken record: {case.name} has rounds without a sample")
    return found


def check_writable(path: Path) -> None:
    """Raise unless a file can be written, and leave things as they are.

    Parameters
    ----------
    path : Path
        The file.
    """
    new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror}") from error


def _record(document: dict[str, Any]) -> Record:
    plain = ("machine", "subject", "what", "quick", "skipped", "seconds", "created")
    return Record(
        **{name: document[name] for name in plain},
        cases=[_case(case) for case in document["cases"]],
    )


def _case(case: dict[str, Any]) -> CaseRecord:
    results = {name: _result(result) for name, result in case["results"].items()}
    return CaseRecord(**{**case, "results": results})


def _result(result: dict[str, Any]) -> Result:
    def timing(key: str) -> Timing | None:
        return Timing(result[key]["calls"], result[key]["samples"]) if key in result else None

    found = timing("timing")
    assert found is not None
    return Result(found, result.get("messages"), result.get("bytes"), timing("threads"))


def _quantile(ordered: list[float], share: float) -> float:
    """Give a quantile, between two figures if need be."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _without_none(value: Any) -> Any:
    """Leave out what is not known."""
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return value
