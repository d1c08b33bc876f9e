"""A channel's thread that runs callbacks: of calls that have ended, and of its connectivity."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import grpc

from philote_fast._core import NativeCall, NativeChannel
from philote_fast.transport import fork

Listener = Callable[[grpc.ChannelConnectivity], Any]

_LOGGER = logging.getLogger("grpc._channel")

_STATES = tuple(grpc.ChannelConnectivity)
_SHUTDOWN = grpc.ChannelConnectivity.SHUTDOWN

#: The thread looks at least so often (in seconds) whether it is needed; it is woken otherwise.
_LOOK = 3600.0


class Events:
    """Callbacks of a channel.

    Its thread lives while there is something to wait for.

    Parameters
    ----------
    core : NativeChannel
        The channel.
    """

    def __init__(self, core: NativeChannel) -> None:
        self._core = core
        self._begin()
        fork.tell_children(self)

    def _begin(self) -> None:
        # Taken again by a listener's finalizer that unsubscribes, wherever the collector runs it.
        self._lock = threading.RLock()
        self._runs = False
        self._ended: dict[int, Callable[[], Any]] = {}
        #: Listeners, with the state that each has been told.
        self._listeners: list[tuple[Listener, grpc.ChannelConnectivity | None]] = []

    def after_fork(self) -> None:
        """Begin anew in a child: without the parent's thread, calls and listeners, as grpcio."""
        self._begin()

    def when_ended(self, call: NativeCall, callback: Callable[[], Any]) -> None:
        """Have a callback called, by the channel's thread, when a call has ended.

        Parameters
        ----------
        call : NativeCall
            The call; it may have ended.
        callback : callable
            Called once. It must not raise.
        """
        number = call.id
        if number is None:
            # A call of the process that this one was forked from.
            callback()
            return
        with self._lock:
            self._ended[number] = callback
            self._need_thread()
        call.watch()

    def subscribe(self, listener: Listener, try_to_connect: bool) -> None:
        """Have a listener told the channel's state, and all its changes.

        Parameters
        ----------
        listener : callable
            Takes a ``grpc.ChannelConnectivity``.
        try_to_connect : bool
            Whether an idle channel is to connect.
        """
        with self._lock:
            self._listeners.append((listener, None))
            self._need_thread()
        self._core.poke()
        if try_to_connect:
            self._core.state(True)

    def unsubscribe(self, listener: Listener) -> None:
        """Tell a listener no more.

        Parameters
        ----------
        listener : callable
            As given to ``subscribe``.
        """
        with self._lock:
            others = list(self._listeners)
            for at, (other, _) in enumerate(others):
                if other == listener:
                    del others[at]
                    break
            self._listeners = others
        self._core.poke()

    def close(self) -> None:
        """Forget all listeners. The callbacks of calls are still called."""
        with self._lock:
            # To be dropped without the lock: what goes with them is not ours.
            former, self._listeners = self._listeners, []
        self._core.poke()
        del former

    def _need_thread(self) -> None:
        if not self._runs:
            self._runs = True
            threading.Thread(target=self._run, name="philote-fast callbacks", daemon=True).start()

    def _run(self) -> None:
        known = self._core.state(False)
        while True:
            self._tell(_STATES[known])
            with self._lock:
                if not (self._ended or self._listeners):
                    self._runs = False
                    return
            known, ended = self._core.wait_events(known, _LOOK)
            with self._lock:
                # Of a closed channel every call has ended.
                numbers = list(self._ended) if _STATES[known] is _SHUTDOWN else ended
                due = [self._ended.pop(number) for number in numbers if number in self._ended]
            for callback in due:
                callback()

    def _tell(self, state: grpc.ChannelConnectivity) -> None:
        with self._lock:
            due = [listener for listener, told in self._listeners if told is not state]
            self._listeners = [(listener, state) for listener, _ in self._listeners]
        for listener in due:
            try:
                listener(state)
            except Exception:
                _LOGGER.exception("Exception calling channel subscription callback!")
