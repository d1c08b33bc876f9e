"""The rows of the comparison as data: what is measured against what, and what it has to reach."""

from __future__ import annotations

from dataclasses import dataclass

from gains.flavours import PATCHED, PEER, STOCK
from gains.memory import NATURAL

SECONDS = "s"
BYTES = "B"


@dataclass(frozen=True)
class Side:
    """A subject of some size in a process of some flavour; its servers have that by default."""

    flavour: str
    subject: str
    size: int
    server: str | None = None

    @property
    def process(self) -> tuple[str, str]:
        """The flavours of its process and of the servers that this calls."""
        return self.flavour, self.server or self.flavour


@dataclass(frozen=True)
class Target:
    """One side against another.

    `at_most` bounds the time of `ours` in units of the time of `against`; `at_least` bounds how
    many times faster `ours` is. With neither, the ratio is only shown.
    """

    ours: str
    against: str
    at_most: float | None = None
    at_least: float | None = None


@dataclass(frozen=True)
class Case:
    """Sides that are timed in turn, and what follows from their times.

    Each of `generations` starts processes of its own: two figures of one process say little about
    the next where a call goes through gRPC. Each takes `rounds` samples of every side. `memory`
    says where large results go (see `memory.py`). With `apart`, sides of different sizes, which are
    not compared, get different processes: what one leaves in the heap slows another by a third.
    `unit` is s where times are compared and B where bytes are.
    """

    name: str
    sides: dict[str, Side]
    targets: tuple[Target, ...]
    generations: int = 2
    rounds: int = 15
    memory: str = NATURAL
    apart: bool = False
    unit: str = SECONDS

    def groups(self) -> list[dict[str, Side]]:
        """Give the sides that share processes."""
        if not self.apart:
            return [self.sides]
        grouped: dict[int, dict[str, Side]] = {}
        for label, side in self.sides.items():
            grouped.setdefault(side.size, {})[label] = side
        return list(grouped.values())


def flavours(
    name: str,
    subject: str,
    size: int,
    targets: tuple[Target, ...],
    *,
    generations: int = 2,
    rounds: int = 15,
) -> Case:
    """Make a case of one subject in all the flavours that its targets name."""
    named = {label for target in targets for label in (target.ours, target.against)}
    sides = {
        flavour: Side(flavour, subject, size)
        for flavour in (STOCK, PEER, PATCHED)
        if flavour in named
    }
    return Case(name, sides, targets, generations, rounds)


def faster(stock: float | None = None, peer: float | None = None) -> tuple[Target, ...]:
    """Give targets of the patched flavour against the two others."""
    return (
        Target(PATCHED, STOCK, at_least=stock),
        Target(PATCHED, PEER, at_least=peer),
    )
