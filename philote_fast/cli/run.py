"""``philote-fast run``: an unmodified script on the native transport.

The process becomes a fresh Python that runs the script, as if the user had called it; all that
differs is that the interpreter is made native first (see ``startup``). So ``sys.argv``,
``__main__``, exit codes, signals and tracebacks are Python's own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from philote_fast.cli import startup

_DESCRIPTION = """\
Run a script or a module as Python would, with grpc.insecure_channel, grpc.secure_channel,
grpc.server and grpc.ssl_server_credentials replaced by philote_fast's, and philote_fast imported
first. With --stats, print philote_fast.stats() to stderr when the process exits, whatever its
status; a signal that ends it at once prints nothing."""

_EPILOG = """\
Children that the script starts by multiprocessing are native too; those that it starts by
subprocess are not. --stats counts the calls of the script's own process only, not those of its
children. Options for Python itself go before: python -X dev -m philote_fast run SCRIPT.
PHILOTE_FAST=0 in the environment leaves philote-mdo unpatched, and the transport native."""


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments say. On POSIX this does not return: the script takes the process.

    Parameters
    ----------
    arguments : sequence of str
        A script and its arguments, or ``-m``, a module and its arguments; ``--stats`` before them.

    Returns
    -------
    int
        The exit status.
    """
    parser = _parser()
    if arguments and arguments[0] in ("-h", "--help"):
        parser.print_help()
        return 0
    with_stats = list(arguments[:1]) == ["--stats"]
    if with_stats:
        arguments = arguments[1:]
    command = [sys.executable, *_interpreter_options(), *_checked(arguments, parser)]
    environment = _environment(parser)
    if with_stats:
        environment[startup.STATS] = "1"
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":
        os.execve(sys.executable, command, environment)
    # An exec of Windows is a new process for which nobody waits.
    return subprocess.call(command, env=environment)


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="philote-fast run",
        usage="philote-fast run [-h] [--stats] (SCRIPT | -m MODULE) [ARGS ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        add_help=False,
    )


def _checked(arguments: Sequence[str], parser: argparse.ArgumentParser) -> Sequence[str]:
    """Give what follows ``python`` on the command line; the rest of the checks are Python's."""
    if not arguments or arguments[0] == "":
        parser.error("a script is expected, or -m and a module")
    first = arguments[0]
    if first == "-m" and len(arguments) == 1:
        parser.error("a module is expected after -m")
    # A script on standard input is Python's to read, too.
    if first.startswith("-") and first != "-" and not first.startswith("-m"):
        parser.error(
            f"unrecognized option {first!r}; for options of Python: "
            "python OPTIONS -m philote_fast run SCRIPT"
        )
    return arguments


def _interpreter_options() -> list[str]:
    """Give the options that this interpreter was started with, such as ``-X dev``."""
    # What multiprocessing gives the interpreters that it starts.
    options: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    if getattr(sys.stdout, "write_through", False):
        options.append("-u")
    return options


def _environment(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Give the environment in which Python runs the startup file first."""
    folder = startup.__path__[0]
    if not sys.executable:
        _give_up(parser, "this Python does not know its own executable")
    if sys.flags.ignore_environment or sys.flags.no_site:
        _give_up(parser, "Python's options -E, -I and -S leave no way into the script's process")
    if os.pathsep in folder:
        _give_up(parser, f"PYTHONPATH cannot hold {folder}, for the {os.pathsep!r} in it")
    own = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([folder, own]) if own else folder}


def _give_up(parser: argparse.ArgumentParser, why: str) -> NoReturn:
    parser.exit(1, f"{parser.prog}: {why}\n")
