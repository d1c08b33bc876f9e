"""Handlers in the user's thread pool, and only there.

To hand a call to a thread costs a wake, so a thread of the pool that has run a handler waits for
the next call itself, and drives the I/O meanwhile: the thread that reads a request runs its
handler. It gives itself back to the pool as soon as the pool has other work for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent import futures
from concurrent.futures.thread import ThreadPoolExecutor
from typing import Any

from philote_fast._core import NativeServer, NativeServerCall
from philote_fast.transport.context import LOGGER

#: How long a thread waits for a call before it looks whether its pool needs it.
_SLICE = 0.05

#: For so long a thread waits for another call; then the server's own thread takes over the I/O.
#: Calls of one optimisation follow each other faster; one after a pause costs a hand-over.
_LINGER = 2.0


class Workers:
    """Tasks in a thread pool that run the calls of a server.

    Parameters
    ----------
    pool : concurrent.futures.Executor
        The user's pool.
    core : NativeServer
        Whose calls they are.
    run : callable
        Runs one call.
    """

    def __init__(
        self, pool: Any, core: NativeServer, run: Callable[[NativeServerCall], None]
    ) -> None:
        self._pool = pool
        self._core = core
        self._run = run
        # Only of this exact class is it known how to see that it has work waiting.
        lingers = type(pool) is ThreadPoolExecutor
        self._queue: Any = getattr(pool, "_work_queue", None) if lingers else None
        size = getattr(pool, "_max_workers", None)
        #: As many tasks as the pool has threads are enough where each runs many calls.
        self._most: int | None = size if self._queue is not None else None
        self._lock = threading.Lock()
        self._pending = 0
        self._running = 0

    def need(self) -> None:
        """Submit tasks for the calls that wait.

        Raises
        ------
        RuntimeError
            If the pool takes no more tasks.
        """
        with self._lock:
            missing = self._core.waiting() - self._pending
            if self._most is not None:
                missing = min(missing, self._most - self._running - self._pending)
            self._pending += max(missing, 0)
        for left in range(missing, 0, -1):
            try:
                future = self._pool.submit(self._work)
            except BaseException:
                with self._lock:
                    self._pending -= left
                raise
            future.add_done_callback(self._done)

    def _done(self, future: futures.Future[None]) -> None:
        """See to a task that the pool has cancelled or failed before it began."""
        if not future.cancelled() and future.exception() is None:
            return
        with self._lock:
            self._pending -= 1
        self._core.reconsider()

    def _work(self) -> None:
        with self._lock:
            self._pending -= 1
            self._running += 1
        self._core.enter_worker()
        try:
            self._run_calls()
        except BaseException:
            LOGGER.exception("Exception in a worker of the server")
        finally:
            with self._lock:
                self._running -= 1
            # This sees to calls that have come since the last look.
            self._core.leave_worker()

    def _run_calls(self) -> None:
        if self._queue is None:
            call = self._core.next_call(0.0)
            if call is not None:
                self._run(call)
            return
        last = time.monotonic()
        # Until somebody else waits for a thread of the pool, or the pool is to end. Tasks of this
        # server's own in the queue can wait: this one does their work.
        while self._queue.qsize() <= self._pending:
            call = self._core.next_call(_SLICE)
            if call is not None:
                self._run(call)
                del call
                last = time.monotonic()
            elif self._core.is_stopped() or time.monotonic() - last > _LINGER:
                return
