"""Find where a call spends its time, and fill docs/performance.md with it.

For stock, patched and native, and for each side of a call: the time that the process and the kernel
work for it, by the system's accounts; and the process's instructions by layer, by callgrind. It
needs Valgrind, and the extension with the names of its functions:

    CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none \\
        maturin develop --release
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gains import blocks, callgrind, shares, shares_table

from philote_fast.bench import machine
from philote_fast.bench.cases import choose
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import FLAVOURS

BLOCK = "profile"
CASES = ("scalars-1", "scalars-1000", "doubles-250000")


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        prog="python benches/profiles.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cases", default=",".join(CASES), metavar="NAMES")
    parser.add_argument("--flavours", default=",".join(FLAVOURS), metavar="NAMES")
    parser.add_argument("--document", type=Path, metavar="FILE", help=f"fill the block {BLOCK!r}")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Measure, write what is asked for, and give the exit code."""
    options = arguments(words)
    try:
        callgrind.need()
        if options.document:
            blocks.check(options.document, BLOCK)
        cases = choose(options.cases.split(","), quick=False)
        here = machine.describe()
        found = {
            flavour: shares.measure(flavour, cases, lambda text: print(text, file=sys.stderr))
            for flavour in _flavours(options.flavours)
        }
        text = shares_table.text(found, cases, here)
        print(text)
        if options.document:
            blocks.fill(options.document, {BLOCK: text})
    except BenchError as error:
        print(f"profiles.py: {error}", file=sys.stderr)
        return 1
    return 0


def _flavours(names: str) -> list[str]:
    wanted = names.split(",")
    for name in wanted:
        if name not in FLAVOURS:
            raise BenchError(f"there is no flavour {name!r}; there are {', '.join(FLAVOURS)}")
    return wanted


if __name__ == "__main__":
    raise SystemExit(main())
