"""How much memory a call of very large arrays takes beyond them: bytes, not seconds."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from philote_mdo.general import ExplicitClient

from gains.children import Server
from gains.flavours import server_flavour
from gains.subjects.calls import open_channel
from philote_fast.bench.subjects.calls import set_up
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import same_bits

# A first call alone would not show what it leaves behind for the next.
CALLS = 3
SLICE = 100_000


def peak(client_side: bool) -> Callable[[int], Subject]:
    """Make subjects that give the peak of one side, less the input array and the output array."""

    def subject(size: int) -> Subject:
        stack = ExitStack()
        server = stack.enter_context(Server(server_flavour(), "copy", size))
        client = set_up(ExplicitClient(open_channel(server.address, stack)))
        watched = "self" if client_side else server.pid
        values = np.arange(size, dtype=np.float64)
        inputs = {"x": values}
        # In the client the input array is there before the call, as it is for a user.
        arrays = values.nbytes * (1 if client_side else 2)

        def run() -> float:
            gc.collect()
            before = forget_peak(watched)
            for _ in range(CALLS):
                same_in_slices(client.run_compute(inputs)["y"], values)
            return max(0.0, kilobytes(watched, "VmHWM") * 1024 - before - arrays)

        return Subject(run, lambda _: None, close=stack.close, measures=True)

    return subject


def same_in_slices(got: Any, expected: NDArray[np.float64]) -> None:
    """Raise unless two arrays are the same; no copy of either may count as the call's memory."""
    if got.shape != expected.shape:
        raise AssertionError(f"expected the shape {expected.shape}, got {got.shape}")
    for start in range(0, expected.size, SLICE):
        same_bits(got[start : start + SLICE], expected[start : start + SLICE])


def forget_peak(pid: object) -> int:
    """Let the peak of a process begin anew; give the bytes that it holds now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    return kilobytes(pid, "VmRSS") * 1024


def kilobytes(pid: object, field: str) -> int:
    """Read a field of a process's status."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/status has no {field}")


def array(size: int) -> Subject:
    """Give the bytes of one array, as a measure for the others."""
    return Subject(lambda: 8.0 * size, lambda _: None, measures=True)


SUBJECTS: dict[str, Callable[[int], Subject]] = {
    "peak.client": peak(client_side=True),
    "peak.server": peak(client_side=False),
    "peak.array": array,
}
