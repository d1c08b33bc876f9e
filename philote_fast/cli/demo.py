"""The demo: one optimisation of a remote discipline, stock and then accelerated, compared."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from philote_fast.cli.demo_record import Comparison, compare
from philote_fast.processes import ChildProcess, ServerProcess

_MODULES = "philote_fast.cli.demo_"


class Run(NamedTuple):
    """What one optimisation took, and where its record is."""

    seconds: float
    remote_seconds: float
    evaluations: int
    gradients: int
    optimum: dict[str, float]
    record: Path


class DemoError(Exception):
    """The demo could not be carried out."""


def main(stations: int) -> int:
    """Run the demo and print what came of it.

    Parameters
    ----------
    stations : int
        The length of each vector that travels.

    Returns
    -------
    int
        Zero if the two runs agree bit for bit, else one.
    """
    if importlib.util.find_spec("openmdao") is None:
        sys.stderr.write("philote-fast: the demo needs OpenMDAO: pip install openmdao\n")
        return 1
    _say(f"Sizing a wing spar of {stations:,} stations: OpenMDAO with SLSQP in one process, the")
    _say("analysis and its gradients served by another over Philote, on this machine.\n")
    try:
        with tempfile.TemporaryDirectory(prefix="philote-fast-demo-") as directory:
            stock = optimise(stations, Path(directory), accelerated=False)
            fast = optimise(stations, Path(directory), accelerated=True)
            comparison = compare(stock.record, fast.record)
    except (DemoError, RuntimeError) as error:
        sys.stderr.write(f"philote-fast: {error}\n")
        return 1
    return conclude(stock, fast, comparison)


def optimise(stations: int, directory: Path, *, accelerated: bool) -> Run:
    """Run the optimisation once, in a fresh client process against a fresh server process.

    Parameters
    ----------
    stations : int
        The length of each vector that travels.
    directory : Path
        Where the record goes, and where the processes run.
    accelerated : bool
        Whether both processes are patched.

    Returns
    -------
    Run
        Times, counts and the record.
    """
    name = "accelerated" if accelerated else "stock"
    record = directory / f"{name}.npz"
    size, place = str(stations), str(directory)
    # Not run from the user's directory: a checkout there would be imported in this package's place.
    python = [sys.executable, "-m"]
    with ServerProcess(
        [*python, f"{_MODULES}server", size], accelerated=accelerated, cwd=place
    ) as server:
        command = [*python, f"{_MODULES}client", server.address, size, str(record)]
        with ChildProcess(command, accelerated=accelerated, cwd=place) as client:
            return _follow(client, name, record, accelerated=accelerated)


def _follow(client: ChildProcess, name: str, record: Path, *, accelerated: bool) -> Run:
    """Show the client's progress, and return its conclusion."""
    conclusion = None
    for line in client.lines():
        message = json.loads(line)
        if "finished" in message:
            conclusion = message
        else:
            _show_progress(name, message)
    if conclusion is None:
        raise DemoError(f"the {name} run ended without a result: {client.errors()}")
    if conclusion["accelerated"] != accelerated:
        raise DemoError(f"the {name} run was not {name}; see philote-fast status")
    if not conclusion["converged"]:
        raise DemoError(f"the {name} optimisation did not converge")
    figures = {field: conclusion[field] for field in Run._fields if field in conclusion}
    run = Run(**figures, record=record)
    _clear_progress()
    _say(
        f"{name:<12} {run.seconds:8.2f} s   {run.evaluations} evaluations, "
        f"{run.gradients} gradients; {run.remote_seconds / run.seconds:.0%} of it in remote calls"
    )
    return run


def conclude(stock: Run, fast: Run, comparison: Comparison) -> int:
    """Print the comparison of the two runs; returns the exit status."""
    optimum = fast.optimum
    _say(
        f"\noptimum      mass {optimum['mass']:.3f} kg, tip deflection "
        f"{optimum['deflection']:.3f} m, stress {optimum['peak_stress']:.3f} of the allowable"
    )
    if comparison.difference:
        sys.stderr.write(f"philote-fast: the runs differ: {comparison.difference}\n")
        return 1
    calls = stock.evaluations + stock.gradients
    _say(
        f"agreement    the optimum, all {stock.evaluations} evaluations and all {stock.gradients} "
        f"gradients agree bit for bit ({comparison.values:,} numbers)"
    )
    _say(
        f"remote call  {1e3 * stock.remote_seconds / calls:.2f} ms stock, "
        f"{1e3 * fast.remote_seconds / calls:.2f} ms accelerated: "
        f"{stock.remote_seconds / fast.remote_seconds:.1f} times faster"
    )
    _say(
        f"wall time    {stock.seconds:.2f} s stock, {fast.seconds:.2f} s accelerated: "
        f"{stock.seconds / fast.seconds:.1f} times faster"
    )
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _show_progress(name: str, message: dict[str, float]) -> None:
    text = f"{name:<12} evaluation {message['evaluation']:>3}   mass {message['mass']:10.3f} kg"
    if sys.stdout.isatty():
        sys.stdout.write(f"\r{text}")
        sys.stdout.flush()
    elif message["evaluation"] % 10 == 1:
        _say(text)


def _clear_progress() -> None:
    if sys.stdout.isatty():
        sys.stdout.write("\r\033[K")
