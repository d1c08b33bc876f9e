"""What the calls of this process have cost, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal

from philote_fast import _core
from philote_fast.bench.figures import duration


@dataclass(frozen=True)
class Counts:
    """What was counted; ``a + b`` and ``a - b`` count together and apart.

    Attributes
    ----------
    calls : int
        Calls, those that are at work among them.
    failed : int
        Those that ended with another status than OK.
    timed : int
        Those whose times are counted: Philote's compute calls, and a client's shapes, where they go
        by whole messages. Of the others only the numbers here and the messages are known.
    messages_sent, messages_received : int
        Messages that were given to the connection, and that were taken from it.
    bytes_sent, bytes_received : int
        Their bytes, before they are compressed and without what frames them.
    encoding : float
        Seconds in which messages were made of arrays.
    waiting : float
        Seconds in which messages were written to sockets or waited for.
    decoding : float
        Seconds in which arrays were made of messages.
    discipline : float
        Seconds from a whole request to the beginning of its reply, on a server: what the discipline
        needs.
    other : float
        Seconds between those: Python around the call, and on a native server the wait for a thread
        of its pool.
    """

    calls: int = 0
    failed: int = 0
    timed: int = 0
    messages_sent: int = 0
    bytes_sent: int = 0
    messages_received: int = 0
    bytes_received: int = 0
    encoding: float = 0.0
    waiting: float = 0.0
    decoding: float = 0.0
    discipline: float = 0.0
    other: float = 0.0

    @property
    def untimed(self) -> int:
        """The calls whose times are not counted."""
        return self.calls - self.timed

    @property
    def total(self) -> float:
        """The seconds that the timed calls have taken."""
        return self.encoding + self.waiting + self.decoding + self.discipline + self.other

    def __add__(self, other: Counts) -> Counts:
        return self._with(other, 1)

    def __sub__(self, other: Counts) -> Counts:
        return self._with(other, -1)

    def __bool__(self) -> bool:
        return any(astuple(self))

    def _with(self, other: Counts, sign: int) -> Counts:
        pairs = zip(astuple(self), astuple(other), strict=True)
        # Counted are whole nanoseconds: what is beneath is left over by sums of floats.
        return Counts(*(round(mine + sign * its, 9) for mine, its in pairs))


#: So many of the fields are numbers; the rest are times.
_NUMBERS = 7


@dataclass(frozen=True)
class Entry:
    """The counts of one channel or server, or of all of one name that are gone.

    Attributes
    ----------
    side : str
        A channel is a client's.
    carrier : str
        Who carries the messages: philote_fast's own transport or grpcio.
    name : str
        The target of a channel; where a native server listens; the discipline that a grpcio server
        serves, as grpcio does not tell its ports. Only so many names are kept of those that are
        gone: further ones share an entry without a name.
    counts : Counts
        What was counted.
    number : int or None
        The channel's or server's number in this process; None for those that are gone.
    """

    side: Literal["client", "server"]
    carrier: Literal["native", "grpcio"]
    name: str
    counts: Counts
    number: int | None = None

    @property
    def label(self) -> tuple[str, str, str]:
        """What those that are gone are counted together by."""
        return self.side, self.carrier, self.name


@dataclass(frozen=True)
class Stats:
    """What was counted up to one moment; ``str()`` gives a table.

    Attributes
    ----------
    entries : tuple of Entry
        Channels and servers, in the order in which they were made; then those that are gone.
    """

    entries: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table, at the prompt of IPython and in notebooks."""
        printer.text(str(self))

    def since(self, earlier: Stats) -> Stats:
        """Return what was counted since an earlier moment, entries without anything left out.

        Parameters
        ----------
        earlier : Stats
            What ``stats()`` returned then, in this process.
        """
        live = {entry.number for entry in self} - {None}
        known = {entry.number: entry.counts for entry in earlier}
        labels = {entry.label for entry in self if entry.number is None}
        buried: dict[tuple[str, str, str], Counts] = {}
        for entry in earlier:
            if entry.number in live:
                continue
            # What has gone since then is counted with its name, or without one.
            label = entry.label if entry.label in labels else (*entry.label[:2], "")
            buried[label] = buried.get(label, Counts()) + entry.counts
        return Stats(tuple(_changed(self, known, buried)))

    def __str__(self) -> str:
        return "\n".join(_table(self))


def _changed(
    entries: Iterable[Entry],
    known: dict[int | None, Counts],
    buried: dict[tuple[str, str, str], Counts],
) -> Iterator[Entry]:
    for entry in entries:
        of_old = buried.get(entry.label) if entry.number is None else known.get(entry.number)
        counts = entry.counts - (of_old or Counts())
        if counts:
            yield Entry(entry.side, entry.carrier, entry.name, counts, entry.number)


def stats() -> Stats:
    """Report what the calls of this process have cost so far, by channel and by server.

    Returns
    -------
    Stats
        Iterable over its entries; ``str()`` gives an aligned table. ``later.since(earlier)`` is
        what lies between two of them.

    Notes
    -----
    Native channels and servers count every call. Of grpcio's those calls are counted that Philote's
    compute methods make or serve while the patches are installed. A forked child begins at zero.
    """
    return Stats(tuple(_entry(*row) for row in _core.counted()))


def _entry(
    number: int | None, side: str, carrier: str, name: str, sample: tuple[int, ...]
) -> Entry:
    numbers, times = sample[:_NUMBERS], sample[_NUMBERS:]
    counts = Counts(*numbers, *(nanoseconds / 1e9 for nanoseconds in times))
    return Entry(side, carrier, name, counts, number)  # type: ignore[arg-type]


_HEADER = (
    "",
    "calls",
    "failed",
    "not timed",
    "sent",
    "bytes",
    "received",
    "bytes",
    "encoding",
    "waiting",
    "decoding",
    "discipline",
    "other",
    "total",
)


def _table(entries: Stats) -> Iterator[str]:
    rows = [_HEADER, *(_row(entry) for entry in entries if entry.counts)]
    if len(rows) == 1:
        yield "no calls were counted"
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def _row(entry: Entry) -> tuple[str, ...]:
    counts = entry.counts
    gone = " (gone)" if entry.number is None else ""
    title = f"{entry.carrier} {entry.side} {entry.name or '(others)'}{gone}"
    numbers = (counts.calls, counts.failed, counts.untimed)
    messages = (getattr(counts, field.name) for field in fields(counts)[3:_NUMBERS])
    times = [getattr(counts, field.name) for field in fields(counts)[_NUMBERS:]]
    shown = (duration(time) if time else "-" for time in (*times, counts.total))
    return (title, *map(str, (*numbers, *messages)), *shown)
