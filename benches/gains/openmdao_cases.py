"""The cases of OpenMDAO: a remote component beside the same one local, and beside stock's."""

from __future__ import annotations

from gains.flavours import NATIVE, PATCHED, RIVAL, STOCK
from gains.model import Case, Side, Target

LOCAL = "local"
REMOTE = (STOCK, PATCHED, NATIVE)
# To set a problem of 1,000 variables up takes seconds, and stock's calls of it tenths of one.
GENERATIONS = 2


def beside_local(
    name: str, subject: str, size: int, targets: tuple[Target, ...], rounds: int
) -> Case:
    """Make a case of one component: of this process, and remote in each flavour."""
    sides = {LOCAL: Side(RIVAL, f"{subject}.local", size)}
    sides |= {flavour: Side(flavour, f"{subject}.remote", size) for flavour in REMOTE}
    return Case(name, sides, targets, GENERATIONS, rounds)


def among_remotes(name: str, subject: str, targets: tuple[Target, ...], rounds: int) -> Case:
    """Make a case of a model that has no local form."""
    sides = {flavour: Side(flavour, subject, 0) for flavour in REMOTE}
    return Case(name, sides, targets, GENERATIONS, rounds)


def openmdao_cases() -> list[Case]:
    """Give every case of this kind."""
    faster = Target(NATIVE, STOCK, at_least=100)
    patched = Target(PATCHED, STOCK)
    return [
        beside_local(
            "OpenMDAO, run_model of 1,000 scalars",
            "openmdao.run",
            1000,
            (Target(NATIVE, LOCAL, at_most=1.0), faster, patched),
            rounds=4,
        ),
        beside_local(
            "OpenMDAO, run_model of 100 vectors of 1,000 doubles",
            "openmdao.vectors",
            100,
            (Target(NATIVE, LOCAL, at_most=2.0), Target(NATIVE, STOCK), patched),
            rounds=4,
        ),
        beside_local(
            "OpenMDAO, compute_totals of 1,000 scalars and 1,000 partials",
            "openmdao.totals",
            1000,
            (faster, Target(NATIVE, LOCAL), patched),
            rounds=2,
        ),
        beside_local(
            "OpenMDAO, setup and final_setup of 1,000 scalars and 1,000 partials",
            "openmdao.setup",
            1000,
            (
                Target(NATIVE, LOCAL, at_most=1.15),
                Target(PATCHED, LOCAL, at_most=1.15),
                Target(NATIVE, STOCK),
            ),
            rounds=2,
        ),
        among_remotes(
            "OpenMDAO, Sellar's problem over two remote disciplines, optimised",
            "openmdao.sellar",
            (Target(NATIVE, STOCK), Target(PATCHED, STOCK)),
            rounds=2,
        ),
        among_remotes(
            "OpenMDAO, an OpenAeroStruct wing optimised, its calls without the discipline",
            "openmdao.wing",
            (Target(NATIVE, STOCK, at_least=10), Target(PATCHED, STOCK)),
            rounds=2,
        ),
    ]
