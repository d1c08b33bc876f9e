"""Measure the stages from stock to the native transport, and fill the documents with what is found.

All that the documents say of whole calls comes from one run: `philote-fast bench`, with the stages
between stock and native as further implementations where they can carry the call. Alternatively
``--from`` takes the record of such a run, or of `philote-fast bench --json`, which has no stages.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from gains import blocks, calls_table, stages, stages_table

from philote_fast.bench import packages, plot, record
from philote_fast.bench.cases import Case, choose, missing_package
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import FLAVOURS
from philote_fast.bench.progress import Progress
from philote_fast.bench.record import Record
from philote_fast.bench.rivals import RAW
from philote_fast.bench.runner import Plan, run
from philote_fast.bench.team import BuiltIn

README_BLOCK, STAGES_BLOCK, CALLS_BLOCK = "bench", "stages", "calls"
CALLS_PICTURE, STAGES_PICTURE = "calls.svg", "stages.svg"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python benches/staged.py")
    parser.add_argument("--from", type=Path, metavar="FILE", dest="taken", help="do not measure")
    parser.add_argument(
        "--cases", type=_names, default=[], metavar="NAMES", help="only these, with commas between"
    )
    parser.add_argument("--quick", action="store_true", help="few samples, rough figures")
    parser.add_argument("--seconds", type=float, metavar="S", help="how long to measure, about")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record to FILE")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="fill the table of README")
    parser.add_argument(
        "--document", type=Path, metavar="FILE", help="fill the tables of docs/performance.md"
    )
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw the pictures there")
    return parser.parse_args(words)


def measure(cases: list[Case], quick: bool, seconds: float | None) -> Record:
    """Measure the cases that all stages can carry in all of them, the others in the usual three."""
    for package in filter(None, map(missing_package, cases)):
        packages.need("benches/staged.py", [package], "bench")
    half = None if seconds is None else seconds / 2.0
    staged = [case for case in cases if case.name in stages.CASES]
    others = [case for case in cases if case.name not in stages.CASES]
    common = {"place": BuiltIn(), "rivals": (RAW,), "quick": quick, "seconds": half}
    plans = [
        Plan(some, implementations=implementations, **common)
        for some, implementations in ((staged, stages.FLAVOURS), (others, FLAVOURS))
        if some
    ]
    progress = Progress(sum(len(cases) for plan in plans for cases in plan.passes))
    with stages.importable():
        found = [_measured(plan, progress) for plan in plans]
    order = [case.name for case in cases]
    every = sorted(
        (case for each in found for case in each.cases), key=lambda c: order.index(c.name)
    )
    # The load is that before the first: what comes later is the run's own.
    whole = replace(found[0], cases=every, seconds=round(sum(each.seconds for each in found), 1))
    stages.name_stages(whole)
    return whole


def write(found: Record, options: argparse.Namespace) -> None:
    """Write what was asked for."""
    if options.json:
        found.write(options.json)
    if options.readme:
        blocks.fill(options.readme, {README_BLOCK: calls_table.few(found)})
    if options.document:
        tables = {STAGES_BLOCK: stages_table.text(found), CALLS_BLOCK: calls_table.every(found)}
        blocks.fill(options.document, tables)
    if options.pictures:
        plot.draw(without_stages(found), options.pictures / CALLS_PICTURE)
        stages_table.draw(found, options.pictures / STAGES_PICTURE)


def without_stages(found: Record) -> Record:
    """Give a record as `philote-fast bench` would have made it."""
    kept = (*FLAVOURS, RAW)
    cases = [
        replace(case, results={name: case.results[name] for name in kept if name in case.results})
        for case in found.cases
    ]
    return replace(found, cases=cases)


def main(words: list[str] | None = None) -> int:
    """Do what the command line asks for, and give the exit code."""
    options = arguments(words)
    try:
        _check(options)
        write(_record(options), options)
    except BenchError as error:
        print(f"staged.py: {error}", file=sys.stderr)
        return 1
    return 0


def _record(options: argparse.Namespace) -> Record:
    """Read the record, or measure it."""
    if options.taken:
        return record.read(options.taken)
    cases = choose(options.cases, options.quick)
    if options.readme:
        calls_table.require(calls_table.README_CASES, [case.name for case in cases])
    return measure(cases, options.quick, options.seconds)


def _measured(plan: Plan, progress: Progress) -> Record:
    found = Record({}, "built-in", "", plan.quick)
    try:
        run(plan, found, progress)
    finally:
        progress.end()
    return found


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before anything is measured."""
    if options.json:
        record.check_writable(options.json)
    if options.readme:
        blocks.check(options.readme, README_BLOCK)
    if options.document:
        blocks.check(options.document, STAGES_BLOCK, CALLS_BLOCK)
    if options.pictures:
        packages.need("--pictures", packages.PLOT, "plot")
        if not options.pictures.is_dir():
            raise BenchError(f"there is no folder {options.pictures}")


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    raise SystemExit(main())
