"""The cases of whole calls: client and server in two processes, and the rivals beside them."""

from __future__ import annotations

from gains.flavours import NATIVE, PATCHED, PEER, RIVAL, STOCK
from gains.model import BYTES, Case, Side, Target

RAW, ZEROMQ, FLIGHT = "raw socket echo", "ZeroMQ", "Arrow Flight"
BULK = 250_000
# Doubles of the arrays that the memory of a call is measured with: 200 MB each way.
VAST = 25_000_000
# Threads of a server of grpcio hand calls to one another, and its streams of many messages are fast
# in one process and slow in the next: many processes, few samples of each. Where stock takes tenths
# of a second, fewer still: the whole report is to take minutes.
GENERATIONS = 5
ROUNDS, SLOW_ROUNDS = 9, 4
THREADS = (1, 4, 16)
# How much longer a call may take from 16 threads than from 4 and still count as no fall: what two
# runs of one and the same differ by.
NO_FALL = 1.05


def call(
    name: str,
    subject: str,
    size: int,
    targets: tuple[Target, ...],
    rivals: dict[str, str] | None = None,
    *,
    rounds: int = SLOW_ROUNDS,
) -> Case:
    """Make a case of one call in every flavour, and of what rivals need for the same bytes."""
    sides = {flavour: Side(flavour, subject, size) for flavour in (STOCK, PEER, PATCHED, NATIVE)}
    sides |= {label: Side(RIVAL, theirs, size) for label, theirs in (rivals or {}).items()}
    return Case(name, sides, targets, GENERATIONS, rounds)


def native(times: float, at_most: dict[str, float] | None = None) -> tuple[Target, ...]:
    """Give the targets of the native flavour: against stock, and against rivals."""
    return (
        Target(NATIVE, STOCK, at_least=times),
        *(Target(NATIVE, label, at_most=most) for label, most in (at_most or {}).items()),
    )


def patched(stock: float | None = None, peer: float | None = None) -> tuple[Target, ...]:
    """Give the targets of the patched flavour, on grpcio's own transport."""
    return (
        Target(PATCHED, STOCK, at_least=stock),
        Target(PATCHED, PEER, at_least=peer),
    )


def calls() -> list[Case]:
    """Give the cases of one call at a time, client and server of one flavour."""
    scalars = {RAW: "raw.scalars", ZEROMQ: "zeromq.scalars"}
    return [
        call(
            "1 scalar in, 1 out",
            "call.scalars",
            1,
            (*native(12, {ZEROMQ: 0.5, RAW: 4}), *patched()),
            scalars,
            rounds=ROUNDS,
        ),
        call(
            "100 scalars in, 100 out",
            "call.scalars",
            100,
            (*native(100, {ZEROMQ: 0.3}), *patched()),
            scalars,
            rounds=ROUNDS,
        ),
        call(
            "1,000 scalars in, 1,000 out",
            "call.scalars",
            1000,
            (*native(180, {ZEROMQ: 0.15}), *patched()),
            scalars,
        ),
        call(
            "gradient call, 1,000 variables and 1,000 partials",
            "call.gradient",
            1000,
            (*native(400), *patched(3)),
        ),
        call(
            "250,000 doubles there and back",
            "call.echo",
            BULK,
            (*native(120, {FLIGHT: 0.5, RAW: 1.6}), *patched(25, 1.3)),
            {RAW: "raw.echo", FLIGHT: "flight.echo"},
        ),
        call(
            "apply shapes to 1,000 dynamic variables",
            "call.shapes",
            1000,
            (*native(50), *patched(2.5)),
        ),
    ]


def throughput() -> Case:
    """Make the case of many threads that call over one channel; time is for each call."""

    def label(flavour: str, threads: int) -> str:
        return f"{flavour}, {threads} thread{'s' if threads > 1 else ''}"

    sides = {
        label(flavour, threads): Side(flavour, "call.threads", threads)
        for flavour in (STOCK, NATIVE)
        for threads in THREADS
    }
    targets = [
        Target(label(NATIVE, threads), label(STOCK, threads), at_least=10) for threads in THREADS
    ]
    no_fall = Target(label(NATIVE, 16), label(NATIVE, 4), at_most=NO_FALL)
    return Case(
        "1 scalar from many threads over one channel, time for each call",
        sides,
        (*targets, no_fall),
        generations=3,
        rounds=5,
    )


def one_side_native() -> list[Case]:
    """Give the cases of a native client with a stock server, and of the reverse."""
    both, client, server = "stock both", "native client", "native server"

    def case(name: str, subject: str, size: int, rounds: int) -> Case:
        return Case(
            f"one side native, {name}",
            {
                both: Side(STOCK, subject, size),
                client: Side(NATIVE, subject, size, server=STOCK),
                server: Side(STOCK, subject, size, server=NATIVE),
            },
            (Target(client, both, at_least=1.0), Target(server, both, at_least=1.0)),
            GENERATIONS,
            rounds,
        )

    return [
        case("1 scalar", "call.scalars", 1, ROUNDS),
        case("100 scalars", "call.scalars", 100, ROUNDS),
        case("1,000 scalars", "call.scalars", 1000, SLOW_ROUNDS),
        case("250,000 doubles", "call.echo", BULK, SLOW_ROUNDS),
    ]


def peak_memory() -> Case:
    """Make the case of the memory of a vast call, beyond its arrays, on each side."""
    client, server, array = "native client", "native server", "one array"
    return Case(
        "peak memory beyond the arrays, 25,000,000 doubles there and back",
        {
            client: Side(NATIVE, "peak.client", VAST),
            server: Side(NATIVE, "peak.server", VAST),
            array: Side(RIVAL, "peak.array", VAST),
        },
        (Target(client, array, at_most=0.5), Target(server, array, at_most=0.5)),
        generations=1,
        rounds=1,
        unit=BYTES,
    )


def call_cases() -> list[Case]:
    """Give every case of this kind."""
    return [*calls(), throughput(), *one_side_native(), peak_memory()]
