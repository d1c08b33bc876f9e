"""Calls from many threads at once, over one channel."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
from philote_mdo.general import ExplicitClient

from philote_fast.bench.cases import THREADS
from philote_fast.bench.subjects.calls import expect, set_up
from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles


def from_threads(channel: Any, size: int, threads: int, calls: int) -> Subject:
    """Send `size` scalars and get them back, other ones from each thread; time is for each call.

    Parameters
    ----------
    channel : grpc.Channel
        The one channel that all threads use.
    size : int
        The number of scalars.
    threads : int
        The number of threads, with a client each.
    calls : int
        How many calls each thread makes in one run: enough that starting and ending together
        weighs little.
    """
    clients = [set_up(ExplicitClient(channel)) for _ in range(threads)]
    pool = ThreadPoolExecutor(threads)
    together = Barrier(threads)
    values = np.split(doubles(threads * size), threads)
    keys = [f"y{index}" for index in range(size)]

    def work(index: int) -> list[Any]:
        run = clients[index].run_compute
        inputs = {f"x{place}": values[index][place : place + 1] for place in range(size)}
        # Each thread of the pool takes one of these, and none two.
        together.wait()
        return [run(inputs) for _ in range(calls)]

    def check(answers: list[list[Any]]) -> None:
        for index, mine in enumerate(answers):
            if len(mine) != calls:
                raise AssertionError(f"thread {index} has {len(mine)} answers")
            for answer in mine:
                expect(answer, keys, values[index])

    return Subject(
        lambda: list(pool.map(work, range(threads))),
        check,
        items=calls * threads,
        close=pool.shutdown,
    )


def scalars(channel: Any, size: int) -> Subject:
    """Call with `size` scalars from sixteen threads."""
    return from_threads(channel, size, THREADS, calls=4)
