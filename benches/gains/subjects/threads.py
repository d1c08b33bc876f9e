"""Calls from many threads at once, over one channel."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier
from typing import Any

from philote_mdo.general import ExplicitClient

from gains.problems import doubles, same_bits
from gains.subjects.calls import channel_to, set_up
from gains.timing import Subject

# In one run, by all threads together: enough that starting and ending together weighs little.
CALLS = 192


def from_threads(threads: int) -> Subject:
    """Call with one scalar from so many threads; time is for each call."""
    stack = ExitStack()
    channel = channel_to("echo", 1, stack)
    clients = [ExplicitClient(channel) for _ in range(threads)]
    for client in clients:
        set_up(client)
    pool = stack.enter_context(ThreadPoolExecutor(threads))
    together = Barrier(threads)
    values = doubles(threads)

    def calls(index: int) -> list[Any]:
        inputs = {"x": values[index : index + 1]}
        run = clients[index].run_compute
        # Each thread of the pool takes one of these, and none two.
        together.wait()
        return [run(inputs)["y"] for _ in range(CALLS // threads)]

    def check(answers: list[list[Any]]) -> None:
        for index, mine in enumerate(answers):
            if len(mine) != CALLS // threads:
                raise AssertionError(f"thread {index} has {len(mine)} answers")
            for answer in mine:
                same_bits(answer, values[index : index + 1])

    return Subject(
        lambda: list(pool.map(calls, range(threads))),
        check,
        items=CALLS // threads * threads,
        close=stack.close,
    )


SUBJECTS: dict[str, Callable[[int], Subject]] = {"call.threads": from_threads}
