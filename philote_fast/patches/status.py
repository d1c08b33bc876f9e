"""What is fast, what is stock, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from philote_fast._core import __version__
from philote_fast.patches import installer, registry
from philote_fast.patches.registry import GROUPS, MISSING, Group, Patch
from philote_fast.transport import replacing


class Row(NamedTuple):
    """The state of one patched attribute of philote_mdo."""

    attribute: str
    state: Literal["fast", "stock"]
    why: str


class Fallback(NamedTuple):
    """How often stock code was used where the fast code could not be."""

    what: str
    why: str
    times: int


@dataclass(frozen=True)
class Status:
    """The state of all patches at one moment; ``str()`` gives a table.

    Attributes
    ----------
    version, philote_mdo : str
        The versions of this package and of philote-mdo.
    installed : bool
        Whether the patches are installed.
    note : str
        Why nothing is installed, if that is so; else empty.
    rows : tuple of Row
        One row for each patched attribute.
    fallbacks : tuple of Fallback
        Uses of stock code at run time, with their number.
    replaced : tuple of str
        The constructors of ``grpc`` that are native in this process, as under
        ``philote-fast run``.
    waiting : str
        The part of philote_mdo that is patched only once it is imported, while it is not; else
        empty.
    """

    version: str
    philote_mdo: str
    installed: bool
    note: str
    rows: tuple[Row, ...]
    fallbacks: tuple[Fallback, ...] = ()
    replaced: tuple[str, ...] = ()
    waiting: str = ""

    @property
    def all_fast(self) -> bool:
        """Whether every patched attribute is fast."""
        return bool(self.rows) and all(row.state == "fast" for row in self.rows)

    def __bool__(self) -> bool:
        return self.all_fast

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table, at the prompt of IPython and in notebooks."""
        printer.text(str(self))

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        state = "installed" if self.installed else "not installed"
        note = f" ({self.note})" if self.note else ""
        header = f"philote_fast {self.version} on philote-mdo {self.philote_mdo}: {state}{note}"
        names = ", ".join(self.replaced)
        native = [f"native in the place of grpcio's: {names}"] if names else []
        width = max((len(row.attribute) for row in self.rows), default=0)
        lines = [f"{row.attribute:<{width}}  {row.state:<5}  {row.why}" for row in self.rows]
        used = [f"stock code used {f.times} times for {f.what}: {f.why}" for f in self.fallbacks]
        later = [f"{self.waiting}: patched once it is imported"] if self.waiting else []
        return "\n".join(line.rstrip() for line in [header, *native, *lines, *later, *used])


def status() -> Status:
    """Report each patched attribute of philote_mdo: fast or stock, and why.

    Returns
    -------
    Status
        Iterable over its rows, true if all are fast; ``str()`` gives an aligned table.
    """
    with installer.lock:
        installer.load()
        is_installed = installer.installed()
        rows = tuple(row for group in GROUPS for row in _rows(group))
    return Status(
        version=__version__,
        philote_mdo=installer.philote_version() or "(unknown version)",
        installed=is_installed,
        note="PHILOTE_FAST=0" if not is_installed and installer.prevented() else "",
        rows=rows,
        fallbacks=tuple(Fallback(*key, count) for key, count in registry.fallbacks().items()),
        replaced=replacing.replaced(),
        waiting=(installer.waits_for() or "") if is_installed else "",
    )


def _rows(group: Group) -> Iterator[Row]:
    if not group.patches:
        yield Row(f"({group.name})", "stock", group.failure or "")
    for patch in group.patches:
        yield _row(group, patch)


def _row(group: Group, patch: Patch) -> Row:
    current = patch.current()
    if current is patch.function:
        left = "" if group.active else "came back from under another tool's patch; uninstall again"
        return Row(patch.dotted, "fast", left or group.reason)
    on_top = patch.over is not MISSING and current is patch.over
    if on_top or (group.active and current is not patch.stock):
        where = registry.origin(current)
        return Row(patch.dotted, "stock", f"another tool's patch lies on top of ours: {where}")
    return Row(patch.dotted, "stock", group.objection() or "not installed")
