"""What is measured, and how it is asked for by name."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from philote_fast.bench.errors import BenchError

# From how many threads at once small calls are measured too.
THREADS = 16
# The groups that a plot is made of: time against the size of one array, and against many scalars.
DOUBLES, SCALARS = "doubles", "scalars"


@dataclass(frozen=True)
class Case:
    """One kind of call.

    Parameters
    ----------
    name : str
        What ``--cases`` calls it.
    group : str
        The kind alone, for ``--cases`` too.
    size : int
        How many of what the kind has.
    title : str
        What one call is.
    subject : str
        What the client does; see `subjects`.
    discipline : str
        What the server serves; see `disciplines`.
    threads : bool
        Whether calls from many threads at once are measured too.
    quick : bool
        Whether ``--quick`` includes it.
    passes : int
        In how many sets of fresh processes it is measured, at most.
    """

    name: str
    group: str
    size: int
    title: str
    subject: str
    discipline: str
    threads: bool = False
    quick: bool = True
    passes: int = 3

    @property
    def has_rivals(self) -> bool:
        """Whether the other libraries can carry what it carries."""
        return self.group in (DOUBLES, SCALARS)


def all_cases() -> list[Case]:
    """Give every built-in case, in the order of the table."""
    return [
        *(_scalars(size) for size in (1, 10, 100, 1000)),
        *(_doubles(f"1e{exponent}", 10**exponent) for exponent in (3, 4, 5)),
        _doubles("250000", 250_000),
        *(_doubles(f"1e{exponent}", 10**exponent) for exponent in (6, 7)),
        *(_gradient(size) for size in (1, 100, 1000)),
        *_implicit(100),
        Case(
            "dynamic-shapes-100",
            "dynamic-shapes",
            100,
            "set the shapes of 100 inputs and 100 outputs, and call",
            "shapes",
            "dynamic",
        ),
        Case(
            "declaration-500",
            "declaration",
            500,
            "set up, and fetch 500 inputs, 500 outputs, 500 partials",
            "declaring",
            "diagonal",
        ),
        Case("discrete-20", "discrete", 20, "20 discrete in, 20 out", "discrete", "discrete"),
        Case(
            "openmdao-100",
            "openmdao",
            100,
            "OpenMDAO's run_model, 100 scalars in, 100 out",
            "openmdao",
            "diagonal",
        ),
    ]


def choose(names: Sequence[str], quick: bool) -> list[Case]:
    """Give the cases that are asked for.

    Parameters
    ----------
    names : sequence of str
        Names of cases or of groups; all, if there are none.
    quick : bool
        Leave out what takes long, unless it is named itself.

    Raises
    ------
    BenchError
        If a name is unknown.
    """
    cases = all_cases()
    known = {case.name for case in cases} | {case.group for case in cases}
    for name in names:
        if name not in known:
            every = ", ".join(case.name for case in cases)
            raise BenchError(f"there is no case {name!r}; there are {every}, and their groups")

    def wanted(case: Case) -> bool:
        if case.name in names:
            return True
        return (not names or case.group in names) and (case.quick or not quick)

    return [case for case in cases if wanted(case)]


def missing_package(case: Case) -> str | None:
    """Say which package a case needs that is not installed."""
    absent = case.group == "openmdao" and importlib.util.find_spec("openmdao") is None
    return "openmdao" if absent else None


def own_cases(implicit: bool, partials: bool) -> list[Case]:
    """Give the cases of a user's own discipline: every call that it has."""
    kinds = ["residuals", "solve"] if implicit else ["compute"]
    if partials:
        kinds.append("residual gradients" if implicit else "gradient")
    return [
        Case(
            kind.replace(" ", "-"),
            "own",
            0,
            f"{kind} of your own discipline, at ones",
            f"own {kind}",
            "",
        )
        for kind in kinds
    ]


def _scalars(size: int) -> Case:
    plural = "" if size == 1 else "s"
    return Case(
        f"scalars-{size}",
        SCALARS,
        size,
        f"{size:,} scalar{plural} in, {size:,} out",
        "scalars",
        "scalars",
        # Calls of more are so long with stock that a sample of sixteen threads takes seconds.
        threads=size <= 10,
    )


def _doubles(name: str, size: int) -> Case:
    # Stock takes seconds for each call of the last.
    vast = size > 1_000_000
    return Case(
        f"doubles-{name}",
        DOUBLES,
        size,
        f"{size:,} doubles there and back",
        "echo",
        "echo",
        quick=not vast,
        passes=1 if vast else 3,
    )


def _gradient(size: int) -> Case:
    plural = "" if size == 1 else "s"
    return Case(
        f"gradient-{size}",
        "gradient",
        size,
        f"{size:,} scalar{plural} in, {size:,} partial{plural} out",
        "gradient",
        "gradient",
    )


def _implicit(size: int) -> list[Case]:
    kinds = {
        "solve": "solved for",
        "residuals": "evaluated",
        "residual-gradients": "differentiated",
    }
    return [
        Case(
            f"{kind}-{size}",
            kind,
            size,
            f"{size} residuals of scalar states {what}",
            kind.replace("-", " "),
            "implicit",
        )
        for kind, what in kinds.items()
    ]
