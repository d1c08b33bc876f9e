"""The command ``philote-fast bench``."""

from __future__ import annotations

import argparse
import ipaddress
import math
import os
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from philote_fast.bench import compare, packages, plot, record, table
from philote_fast.bench.cases import Case, all_cases, choose, missing_package, own_cases
from philote_fast.bench.errors import BenchError
from philote_fast.bench.progress import Progress
from philote_fast.bench.record import Record
from philote_fast.bench.rivals import FLIGHT, RAW, ZEROMQ
from philote_fast.bench.runner import Plan, run
from philote_fast.bench.team import BuiltIn, Own, Place, Running, inspect

_DESCRIPTION = """\
Measure stock philote-mdo, philote-mdo patched, and philote-mdo on the native transport, side by
side in one run: a client process and a server process of each, sampled in turn. Every answer is
compared bit for bit."""


_DAY = 86_400.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of ``philote-fast``."""
    names = ", ".join(case.name for case in all_cases())
    parser = commands.add_parser(
        "bench",
        help="measure stock, patched and native side by side",
        description=_DESCRIPTION,
        epilog=f"cases: {names}; the part before the number names all of a kind",
    )
    parser.add_argument(
        "--cases", type=_names, default=(), metavar="NAMES", help="only these, with commas between"
    )
    parser.add_argument("--quick", action="store_true", help="in less than a minute, rough figures")
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="how long to measure, as far as slow calls allow (default: 250, and 38 with --quick)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--target",
        type=_target,
        metavar="HOST:PORT",
        help="measure clients against your own running server. Your discipline is set up and "
        "called many times",
    )
    where.add_argument(
        "--discipline",
        type=_discipline,
        metavar="MODULE:CLASS",
        help="serve your own discipline and measure it",
    )
    parser.add_argument("--peers", action="store_true", help="measure ZeroMQ and Arrow Flight too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE")
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="tell what has changed since FILE was written"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture: .png or .svg")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Run the command.

    Parameters
    ----------
    options : argparse.Namespace
        The options, as `add_to` declares them.

    Returns
    -------
    int
        Zero, or one if something could not be measured or values differ.
    """
    try:
        _bench(options)
    except BenchError as error:
        if options.debug:
            sys.stderr.write(error.trace or traceback.format_exc())
        sys.stderr.write(f"philote-fast: {error}\n")
        return 1
    return 0


def _bench(options: argparse.Namespace) -> None:
    # All that can be refused is refused before anything is measured.
    earlier = record.read(options.compare) if options.compare else None
    if options.peers:
        packages.need("--peers", packages.PEERS, "peers")
    if options.plot:
        packages.need("--plot", packages.PLOT, "plot")
    for path in filter(None, (options.json, options.plot)):
        record.check_writable(path)
    found = Record({}, *_subject(options), options.quick)
    plan = _plan(options, found)
    if earlier:
        compare.check(earlier, plan.cases)
    progress = Progress(sum(map(len, plan.passes)))
    for name, why in found.skipped.items():
        progress.note(f"left out: {name}: {why}")
    try:
        run(plan, found, progress)
    except BenchError:
        # What took minutes to find is shown, whatever came after it.
        progress.end()
        found.keep_measured()
        if found.cases:
            sys.stdout.write(table.text(found))
        raise
    finally:
        progress.end()
    _conclude(options, found, earlier)


def _conclude(options: argparse.Namespace, found: Record, earlier: Record | None) -> None:
    """Write what was asked for."""
    sys.stdout.write(table.text(found))
    if earlier:
        sys.stdout.write(f"\nsince {earlier.created}:\n{compare.text(earlier, found)}")
    sys.stdout.flush()
    if options.json:
        _write(options.json, found.write)
    if options.plot:
        _write(options.plot, lambda path: plot.draw(found, path))


def _write(path: Path, write: Callable[[Path], None]) -> None:
    try:
        write(path)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror or error}") from error


def _subject(options: argparse.Namespace) -> tuple[str, str]:
    if options.target:
        return "target", options.target
    return ("discipline", options.discipline) if options.discipline else ("built-in", "")


def _plan(options: argparse.Namespace, found: Record) -> Plan:
    """Say what is to be measured."""
    place: Place = BuiltIn()
    floor = True
    if found.subject == "built-in":
        cases = _present(choose(options.cases, options.quick), options, found)
    else:
        cases, place, floor = _own(options)
    if options.plot:
        plot.check(options.plot, cases)
    rivals = [*([RAW] if floor else []), *((ZEROMQ, FLIGHT) if options.peers else ())]
    return Plan(cases, place, rivals=rivals, quick=options.quick, seconds=options.seconds)


def _present(cases: list[Case], options: argparse.Namespace, found: Record) -> list[Case]:
    """Leave out the cases whose packages are missing, unless they were asked for."""
    left = []
    for case in cases:
        package = missing_package(case)
        if package is None:
            left.append(case)
        elif options.cases:
            packages.need(case.name, [package], "openmdao")
        else:
            found.skipped[case.name] = f"{package} is not installed"
    return left


def _own(options: argparse.Namespace) -> tuple[list[Case], Place, bool]:
    """Look at a user's own discipline; give its calls, its place, and whether it has a floor."""
    if options.target:
        place: Own | Running = Running(options.target)
        floor = _is_local(options.target)
    else:
        place, floor = Own(options.discipline, os.getcwd()), True
    told = inspect(place, lambda: _warn(options.target))
    cases = own_cases(told["implicit"], bool(told["partials"]))
    return _named(cases, options), place, floor


def _warn(target: str) -> None:
    sys.stderr.write(
        f"philote-fast: the discipline behind {target} is now set up and called many times, by "
        "three clients in turn, with all inputs one\n"
    )
    sys.stderr.flush()


def _named(cases: list[Case], options: argparse.Namespace) -> list[Case]:
    known = [case.name for case in cases]
    for name in options.cases:
        if name not in known:
            every = ", ".join(known)
            raise BenchError(f"there is no case {name!r} of this discipline; there are {every}")
    return [case for case in cases if not options.cases or case.name in options.cases]


def _is_local(target: str) -> bool:
    """Whether a server is on this machine, so that a socket of this machine is its floor."""
    host = target.rpartition(":")[0].strip("[]")
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    hosts = {str(each[4][0]).partition("%")[0] for each in found}
    return all(ipaddress.ip_address(each).is_loopback for each in hosts)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds <= _DAY:
        raise argparse.ArgumentTypeError(f"seconds are expected, not {text!r}")
    return seconds


def _target(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise argparse.ArgumentTypeError(f"HOST:PORT is expected, not {text!r}")
    return text


def _discipline(text: str) -> str:
    module, _, name = text.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
        raise argparse.ArgumentTypeError(f"MODULE:CLASS is expected, not {text!r}")
    return text
