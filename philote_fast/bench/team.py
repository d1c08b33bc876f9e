"""The processes of one pass: for each implementation a client, and a server where it is ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from philote_fast.bench.cases import Case
from philote_fast.bench.children import AgentProcess, agents
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import RIVAL, STOCK
from philote_fast.bench.rivals import RAW

_MOMENT = 0.2


class Place(Protocol):
    """Where the disciplines are that are measured."""

    #: Whether each implementation has a server of its own.
    serves: bool

    def address(self, case: Case, server: AgentProcess | None) -> str:
        """Give the address of a case's discipline, which that server is to serve if it is ours."""


@dataclass
class Team:
    """Processes by implementation; `rivals` are a server and a client that have no Philote."""

    place: Place
    clients: dict[str, AgentProcess]
    servers: dict[str, AgentProcess | None]
    rivals: tuple[AgentProcess, AgentProcess] | None
    _exchanges: list[tuple[int, int]] = field(default_factory=list)

    def agent(self, name: str) -> AgentProcess:
        """Give the process that measures an implementation or a rival."""
        if name in self.clients:
            return self.clients[name]
        assert self.rivals is not None
        return self.rivals[1]

    def address(self, case: Case, name: str) -> str:
        """Have the discipline of a case served, if it is ours to serve, and give its address."""
        return self.place.address(case, self.servers[name])

    def count(self, case: Case, name: str, address: str) -> dict[str, Any]:
        """Make one call of a case whose messages are counted."""
        agent = self.clients[name]
        told: dict[str, Any] = agent.ask("count", **_call(case), address=address)
        self._exchanges = [
            (each["sent_bytes"], each["received_bytes"]) for each in told["exchanges"]
        ]
        return told

    def prepare(self, case: Case, name: str, address: str, seconds: float) -> Any:
        """Make a client ready to be sampled."""
        call = {**_call(case), "address": address, "seconds": seconds}
        return self.clients[name].ask("prepare", key="call", **call)

    def prepare_threads(self, case: Case, name: str, address: str, seconds: float) -> Any:
        """Make many clients ready, to be sampled at once."""
        call = {"subject": "threads", "size": case.size, "address": address, "seconds": seconds}
        return self.clients[name].ask("prepare", key="threads", **call)

    def prepare_rival(self, case: Case, rival: str, seconds: float) -> Any:
        """Make a rival ready to be sampled, with the bytes of the implementation counted last."""
        assert self.rivals is not None
        server, client = self.rivals
        port = server.ask("serve_rival", rival=rival, exchanges=self._exchanges)
        call = {**_call(case), "address": f"127.0.0.1:{port}", "seconds": seconds}
        return client.ask(
            "prepare_rival", key=rival, rival=rival, exchanges=self._exchanges, **call
        )

    def drop(self) -> None:
        """End what belongs to the last case: clients first, for servers to have nobody."""
        for agent in self._everybody():
            agent.ask("close")

    def casualty(self) -> BenchError | None:
        """Give the error for a process that has ended, if one has."""
        return _casualty(self._everybody())

    def _everybody(self) -> list[AgentProcess]:
        servers = [server for server in self.servers.values() if server is not None]
        return [*self.clients.values(), *servers, *(self.rivals or ())]


@contextmanager
def team(place: Place, implementations: Sequence[str], rivals: bool) -> Iterator[Team]:
    """Start the processes, and end them."""
    count = len(implementations)
    wanted = [*implementations, *(implementations if place.serves else ()), *([RIVAL] * 2 * rivals)]
    with agents(wanted) as started:
        clients = dict(zip(implementations, started, strict=False))
        servers: dict[str, AgentProcess | None] = dict.fromkeys(implementations)
        if place.serves:
            servers.update(zip(implementations, started[count:], strict=False))
        pair = (started[-2], started[-1]) if rivals else None
        yield Team(place, clients, servers, pair)


class BuiltIn:
    """Disciplines of this package's, served by each implementation."""

    serves = True

    def address(self, case: Case, server: AgentProcess | None) -> str:
        """Have a discipline served."""
        assert server is not None
        port = server.ask("serve", discipline=case.discipline, size=case.size)
        return f"127.0.0.1:{port}"


@dataclass(frozen=True)
class Own:
    """A user's discipline, served by each implementation."""

    specification: str
    directory: str
    serves = True

    def address(self, case: Case | None, server: AgentProcess | None) -> str:
        """Have the discipline served."""
        assert server is not None
        request = {"discipline": self.specification, "size": 0, "directory": self.directory}
        return f"127.0.0.1:{server.ask('serve', **request)}"


@dataclass(frozen=True)
class Running:
    """A user's server, which runs already, whatever it is."""

    target: str
    serves = False

    def address(self, case: Case | None, server: AgentProcess | None) -> str:
        """Give its address."""
        return self.target


def inspect(place: Own | Running, warn: Callable[[], None]) -> dict[str, Any]:
    """Tell what a user's discipline has; raises where it cannot be called at all.

    Parameters
    ----------
    place : Own or Running
        Where it is.
    warn : callable
        Done before a running server's discipline is set up.
    """
    with agents([STOCK] * (1 + place.serves)) as started:
        address = place.address(None, started[-1])
        if not place.serves:
            started[0].ask("reach", address=address)
            warn()
        try:
            told: dict[str, Any] = started[0].ask("inspect", address=address)
        except BenchError as error:
            cause = _casualty(started) or error
            where = place.specification if isinstance(place, Own) else place.target
            raise BenchError(f"{where} cannot be set up: {cause}", cause.trace) from error
        return told


def _casualty(agents: Sequence[AgentProcess]) -> BenchError | None:
    """Give the error for the first process that has ended, if one has."""
    # Its connections are closed a moment before it has ended.
    time.sleep(_MOMENT)
    return next((each.gone() for each in agents if not each.running), None)


def _call(case: Case) -> dict[str, Any]:
    return {"subject": case.subject, "size": case.size}


__all__ = ["RAW", "BuiltIn", "Own", "Place", "Running", "Team", "inspect", "team"]
