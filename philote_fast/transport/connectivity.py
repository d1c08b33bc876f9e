"""A channel's thread that runs callbacks: of calls that have ended, and of its connectivity."""

from __future__ import annotations

import logging
import sys
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


class _Listening:
    """A listener, with the state that it has been told."""

    __slots__ = ("listener", "told")

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.told: grpc.ChannelConnectivity | None = None


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
        # A signal handler or a finaliser may call in here while its thread holds the lock.
        self._lock = threading.RLock()
        #: The thread, while there is one.
        self._thread: threading.Thread | None = None
        self._ended: dict[int, Callable[[], Any]] = {}
        self._listeners: list[_Listening] = []

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
            self._listeners.append(_Listening(listener))
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
        forgotten = None
        with self._lock:
            for at, other in enumerate(self._listeners):
                if other.listener == listener:
                    forgotten = self._listeners.pop(at)
                    break
        self._core.poke()
        # The last reference may go with it, and what that finalises may call in here.
        del forgotten

    def close(self) -> None:
        """Forget all listeners. The callbacks of calls are still called."""
        if sys.is_finalizing():
            # The thread is gone, perhaps with the lock.
            return
        with self._lock:
            forgotten, self._listeners = self._listeners, []
        self._core.poke()
        # As in `unsubscribe`: a future of `grpc.channel_ready_future` unsubscribes when it goes.
        del forgotten

    def _need_thread(self) -> None:
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name="philote-fast callbacks", daemon=True)
        self._thread = thread
        try:
            thread.start()
        except BaseException:
            # The system has no thread left, or Ctrl-C came: the next caller starts another. Should
            # this one begin after all, it sees that it is not the channel's.
            self._thread = None
            raise

    def _run(self) -> None:
        known = self._core.state(False)
        while True:
            self._tell(_STATES[known])
            with self._lock:
                if self._thread is not threading.current_thread():
                    return
                if not (self._ended or self._listeners):
                    self._thread = None
                    return
            known = self._wait(known)

    def _wait(self, known: int) -> int:
        """Wait for an event, and call the callbacks that are due; return the channel's state."""
        known, ended = self._core.wait_events(known, _LOOK)
        with self._lock:
            # Of a closed channel every call has ended.
            numbers = list(self._ended) if _STATES[known] is _SHUTDOWN else ended
            due = [self._ended.pop(number) for number in numbers if number in self._ended]
        for callback in due:
            try:
                callback()
            except BaseException:
                # A user's that exits: the others wait for this thread too.
                _LOGGER.exception("Exception in a callback of a call!")
        return known

    def _tell(self, state: grpc.ChannelConnectivity) -> None:
        with self._lock:
            due = [each for each in self._listeners if each.told is not state]
            for each in due:
                each.told = state
        for each in due:
            try:
                each.listener(state)
            except BaseException:
                _LOGGER.exception("Exception calling channel subscription callback!")
