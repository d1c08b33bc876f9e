"""A ``grpc.Server`` on the native transport."""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import grpc

from philote_fast._core import NativeServer, NativeServerCall
from philote_fast.transport import fork as _fork  # noqa: F401  children leave servers alone
from philote_fast.transport.context import LOGGER, Context
from philote_fast.transport.credentials import server_config
from philote_fast.transport.handlers import run
from philote_fast.transport.lookup import Accepted, Lookup
from philote_fast.transport.server_options import native_options
from philote_fast.transport.workers import Workers

_ALREADY_STARTED = "Cannot start already-started server!"
_STARTED_ONCE = "the server has already started"
_NOT_BOUND = "Failed to bind to address %s; %s"
_NO_SERVICE = '"{}" must conform to grpc.GenericRpcHandler type but does not have "service" method!'

_UNAVAILABLE: int = grpc.StatusCode.UNAVAILABLE.value[0]

#: After an error of the server's own thread it pauses: the next one may be the same.
_PAUSE = 0.1

_NEW, _STARTED, _GRACE, _STOPPED = range(4)


def _run(lookup: Lookup, call: NativeServerCall) -> None:
    """Run a call in a thread of the pool."""
    accepted: Accepted | None = call.take_accepted() or lookup.accept(call)
    if accepted is None:
        return
    pool = accepted[0].pool
    if pool is None:
        _run_accepted(lookup, accepted, call)
    else:
        pool.submit(_run_accepted, lookup, accepted, call)


def _run_accepted(lookup: Lookup, accepted: Accepted, call: NativeServerCall) -> None:
    method, variables = accepted
    try:
        variables.run(run, method, call)
    finally:
        lookup.release(1)


class _State:
    """What the server's thread and its workers share; it does not keep the ``Server`` alive."""

    def __init__(self, pool: Any, lookup: Lookup, core: NativeServer) -> None:
        self.lock = threading.RLock()
        self.stage = _NEW
        self.core = core
        self.lookup = lookup
        # Of the lookup alone: no cycle keeps the pool's threads once the server is gone.
        self.workers = Workers(pool, core, functools.partial(_run, lookup))
        self.terminated = threading.Event()
        self.shutdown_events = [self.terminated]

    def attend(self, arrived: Sequence[NativeServerCall]) -> None:
        """See to calls that no worker has taken."""
        for call in arrived:
            accepted = self.lookup.accept(call)
            if accepted is not None:
                call.set_accepted(accepted)
                self.core.enqueue(call)
        try:
            self.workers.need()
        except RuntimeError as error:
            LOGGER.error("the thread pool takes no calls: %s", error)
            waiting = self.core.take_waiting()
            self.lookup.release(len(waiting))
            text = f"the server's thread pool takes no calls: {error}"
            for call in waiting:
                call.finish(_UNAVAILABLE, text.encode(), ())

    def begin_stop(self, grace: float | None) -> threading.Event:
        """Take no more calls, and end those at work when the grace is over."""
        event = threading.Event()
        with self.lock:
            if self.stage in (_NEW, _STOPPED):
                event.set()
                return event
            self.stage = _GRACE
            self.shutdown_events.append(event)
            self.core.stop(0.0 if grace is None else grace)
        return event

    def stopped(self) -> None:
        """Tell all who wait that the server has stopped."""
        with self.lock:
            self.stage = _STOPPED
            for event in self.shutdown_events:
                event.set()


def _serve(state: _State) -> None:
    """Drive the I/O while no worker does: the body of the server's own thread."""
    while True:
        try:
            news = state.core.drive()
            if news is None:
                break
            arrived, ended, lost = news
            _run_callbacks(ended)
            state.lookup.release(lost)
            state.attend(arrived)
            # Nothing of a call stays while the thread waits for the next.
            del news, arrived, ended

        except BaseException:
            # Whatever it is, the other calls go on.
            LOGGER.exception("Exception in the server's thread")
            time.sleep(_PAUSE)
    state.stopped()


def _run_callbacks(contexts: Iterable[Context]) -> None:
    for context in contexts:
        context.run_callbacks()


#: Servers that run. The interpreter stops them when its main thread is done.
_RUNNING: weakref.WeakSet[_State] = weakref.WeakSet()


def _stop_all() -> None:
    """Stop what runs when the interpreter is about to wait for its threads."""
    events = [state.begin_stop(None) for state in list(_RUNNING) if state.core.is_here()]
    for event in events:
        event.wait()


# Before the pools are waited for, whose threads may be in handlers that wait for their callers.
# The pools' module registered itself when it was imported; the last to register is called first.
threading._register_atexit(_stop_all)  # type: ignore[attr-defined]


class Server(grpc.Server):  # type: ignore[misc]
    """A gRPC server on the native transport; made by ``philote_fast.server``.

    Parameters
    ----------
    thread_pool : concurrent.futures.Executor
        What the handlers run in.
    handlers : sequence of grpc.GenericRpcHandler
        The first handlers; more may be added.
    interceptors : sequence of grpc.ServerInterceptor
        What sees each call before its handler.
    options : sequence of tuple
        gRPC's channel arguments.
    maximum_concurrent_rpcs : int or None
        How many calls are served at once; more get RESOURCE_EXHAUSTED.
    compression : grpc.Compression or None
        How responses are compressed.
    """

    def __init__(
        self,
        thread_pool: Any,
        handlers: Sequence[grpc.GenericRpcHandler],
        interceptors: Sequence[grpc.ServerInterceptor],
        options: Sequence[tuple[str, Any]],
        maximum_concurrent_rpcs: int | None,
        compression: grpc.Compression | None,
    ) -> None:
        _check(handlers)
        core = NativeServer(native_options(options, compression))
        lookup = Lookup(handlers, interceptors, maximum_concurrent_rpcs)
        self._state = _State(thread_pool, lookup, core)

    @property
    def has_interceptors(self) -> bool:
        """Whether something may look at the messages between the server and its handlers."""
        return self._state.lookup.has_interceptors

    def add_generic_rpc_handlers(
        self, generic_rpc_handlers: Iterable[grpc.GenericRpcHandler]
    ) -> None:
        """Add handlers that are asked for methods."""
        handlers = tuple(generic_rpc_handlers)
        _check(handlers)
        self._state.lookup.add_generic(handlers)

    def add_registered_method_handlers(
        self, service_name: str, method_handlers: dict[str, grpc.RpcMethodHandler]
    ) -> None:
        """Add the methods of a service; once the server has started this does nothing."""
        self._state.core.check_process()
        with self._state.lock:
            if self._state.stage != _NEW:
                return
            named = {f"/{service_name}/{name}": each for name, each in method_handlers.items()}
            self._state.lookup.register(named)

    def add_insecure_port(self, address: str) -> int:
        """Listen on an address, and return its port."""
        return self._add_port(address, None)

    def add_secure_port(self, address: str, server_credentials: grpc.ServerCredentials) -> int:
        """Listen on an address with TLS, and return its port."""
        return self._add_port(address, server_config(server_credentials))

    def _add_port(self, address: str, tls: Any) -> int:
        text = address.decode() if isinstance(address, bytes) else address
        try:
            return self._state.core.add_port(text, tls)
        except OSError as error:
            raise RuntimeError(_NOT_BOUND % (address, error)) from error

    def start(self) -> None:
        """Begin to serve.

        Raises
        ------
        ValueError
            If the server has been started before.
        """
        state = self._state
        state.core.check_process()
        with state.lock:
            if state.stage in (_STARTED, _GRACE):
                raise ValueError(_ALREADY_STARTED)
            if state.stage == _STOPPED:
                raise ValueError(_STARTED_ONCE)
            state.core.start()
            state.stage = _STARTED
            _RUNNING.add(state)
            threading.Thread(target=_serve, args=(state,), name="philote-fast-server").start()

    def wait_for_termination(self, timeout: float | None = None) -> bool:
        """Wait until the server has stopped; return whether the time was over first."""
        self._state.core.check_process()
        return not self._state.terminated.wait(timeout)

    def stop(self, grace: float | None) -> threading.Event:
        """Take no more calls, and end those at work after ``grace`` seconds, or now if it is None.

        Returns
        -------
        threading.Event
            Set once the server has stopped; without a grace that is so already.
        """
        self._state.core.check_process()
        event = self._state.begin_stop(grace)
        if grace is None:
            event.wait()
        return event

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state is not None and state.stage == _STARTED and state.core.is_here():
            # As grpcio: calls at work are finished.
            state.core.stop(None)


def _check(handlers: Iterable[Any]) -> None:
    for handler in handlers:
        if getattr(handler, "service", None) is None:
            raise AttributeError(_NO_SERVICE.format(handler))


def server(
    thread_pool: Any,
    handlers: Sequence[grpc.GenericRpcHandler] | None = None,
    interceptors: Sequence[grpc.ServerInterceptor] | None = None,
    options: Sequence[tuple[str, Any]] | None = None,
    maximum_concurrent_rpcs: int | None = None,
    compression: grpc.Compression | None = None,
    xds: bool = False,
) -> Server:
    """Make a gRPC server on the native transport, as ``grpc.server`` makes one on grpcio's.

    Parameters
    ----------
    thread_pool : concurrent.futures.Executor
        What the handlers run in: never more of them at once than it has threads.
    handlers : sequence of grpc.GenericRpcHandler, optional
        Handlers; more may be added.
    interceptors : sequence of grpc.ServerInterceptor, optional
        What sees each call before its handler.
    options : sequence of tuple, optional
        gRPC's channel arguments. One that is not honoured is named in a warning once.
    maximum_concurrent_rpcs : int, optional
        How many calls are served at once; more get RESOURCE_EXHAUSTED.
    compression : grpc.Compression, optional
        How responses are compressed, for callers that take them so.
    xds : bool, optional
        Not available here.

    Raises
    ------
    ValueError
        If xDS is asked for.
    """
    if xds:
        raise ValueError("the native server has no xDS: use grpc.server for that")
    return Server(
        thread_pool,
        () if handlers is None else handlers,
        () if interceptors is None else interceptors,
        () if options is None else options,
        maximum_concurrent_rpcs,
        compression,
    )
