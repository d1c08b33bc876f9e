"""Compare philote_fast with stock philote-mdo and with the pure-Python peer, in one run.

``python benches/report.py`` prints a table of every figure with its target. All sides of a case
are sampled in turn, in processes of their own, so that whatever else the machine does falls on all.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from gains import blocks, render
from gains.cases import all_cases
from gains.compare import judge, run

from philote_fast.bench import machine


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python benches/report.py")
    parser.add_argument("--only", default="", metavar="TEXT", help="the cases that have TEXT")
    parser.add_argument("--quick", action="store_true", help="few samples, rough figures")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to FILE")
    parser.add_argument(
        "--document",
        type=Path,
        metavar="FILE",
        help=f"replace the block {render.BLOCK!r} in FILE",
    )
    return parser.parse_args()


def measure(only: str, quick: bool) -> render.Results:
    """Run the cases that are asked for."""
    results: render.Results = {}
    for case in all_cases():
        if only in case.name:
            medians = run(case, lambda text: print(text, file=sys.stderr, flush=True), quick)
            results[case.name] = [judge(target, medians, case.unit) for target in case.targets]
    return results


def main() -> int:
    """Measure, write what is asked for, and give the exit code."""
    options = arguments()
    if options.document:
        blocks.check(options.document, render.BLOCK)
    here = machine.describe()
    results = measure(options.only, options.quick)
    table = render.markdown(results, here)
    print(table)
    if options.markdown:
        options.markdown.write_text(table, encoding="utf-8")
    if options.json:
        text = json.dumps(render.as_json(results, here), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    if options.document:
        blocks.fill(options.document, {render.BLOCK: table})
    missed = render.missed(results)
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    raise SystemExit(main())
