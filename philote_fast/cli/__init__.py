"""The command ``philote-fast``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import philote_fast
from philote_fast.cli import bench, run

# What a shell reports of a process that Ctrl-C ended.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments[:1] == ["run"]:
        # Past argparse: what follows a script is the script's, to the letter.
        return run.main(arguments[1:])
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        sys.stderr.write("\nphilote-fast: interrupted\n")
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="philote-fast",
        description="Makes philote-mdo fast: see what is patched, try it out, measure it, "
        "run your scripts on its own transport.",
    )
    parser.add_argument("--version", action="version", version=philote_fast.__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    status = commands.add_parser("status", help="print each patched attribute: fast or stock")
    status.set_defaults(run=_status)

    # For the list of commands alone: `main` hands its arguments on.
    commands.add_parser("run", help="run a script or a module, with gRPC on the native transport")

    demo = commands.add_parser(
        "demo",
        help="optimise a remote discipline, stock and then accelerated, and compare",
        description="Size a wing spar by OpenMDAO, the analysis served by a process of its own: "
        "once with philote-mdo as it comes, once accelerated. Compares every evaluation bit for "
        "bit, and the wall times.",
    )
    demo.add_argument(
        "--stations",
        type=_station_count,
        default=30_000,
        metavar="N",
        help="length of each vector that travels (default: %(default)s)",
    )
    demo.set_defaults(run=_demo)

    bench.add_to(commands)
    return parser


#: A message of so many doubles is 80 MB; more only takes longer.
MAX_STATIONS = 10_000_000


def _station_count(text: str) -> int:
    if not text.isdecimal() or not 10 <= int(text) <= MAX_STATIONS:
        raise argparse.ArgumentTypeError(
            f"a whole number from 10 to {MAX_STATIONS:,} is expected, not {text!r}"
        )
    return int(text)


def _status(options: argparse.Namespace) -> int:
    sys.stdout.write(f"{philote_fast.status()}\n")
    return 0


def _demo(options: argparse.Namespace) -> int:
    # Imported for this command alone: the others do without what it needs.
    from philote_fast.cli import demo

    return demo.main(options.stations)
