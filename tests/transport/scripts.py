"""Programs in processes of their own, which use an implementation and print what they find."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading

from .implementations import PATIENCE

# A program that waits for ever says where, and ends, when it is sent SIGUSR1. A timer of
# faulthandler would not do: a forked child waits at its end for the timer's thread, which it has
# not got.
_BEGIN = """
import atexit, faulthandler, os, signal, sys, threading, time
if hasattr(signal, "SIGUSR1"):
    faulthandler.register(signal.SIGUSR1, chain=True)
from concurrent import futures
import grpc
if sys.argv[1] == "native":
    import philote_fast as rpc
else:
    rpc = grpc
arguments = sys.argv[2:]

def echo(request, context):
    return request

class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(echo)

def serve(workers=4, handler=Echo):
    server = rpc.server(futures.ThreadPoolExecutor(workers), handlers=[handler()])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    return server, address

def say(*words):
    print(*words, flush=True)
"""


def _command(implementation, code, arguments):
    # Forking a process with threads is what some of the programs are about.
    warnings = ("-W", "ignore::DeprecationWarning")
    program = _BEGIN + textwrap.dedent(code)
    return [sys.executable, *warnings, "-c", program, implementation.name, *map(str, arguments)]


def _environment():
    # Without its patches of philote_mdo the package is imported much faster.
    return {**os.environ, "PHILOTE_FAST": "0"}


def run(implementation, code, *arguments, directory):
    """Run a program to its end; gives its exit code, its output, and its errors."""
    with running(implementation, code, *arguments, directory=directory) as process:
        output, errors = finish(process)
    return process.returncode, output, errors


def finish(process, given=None):
    """Wait for the end of a program; gives its output and errors."""
    return process.communicate(given, timeout=3 * PATIENCE)


def check(implementation, code, *arguments, directory, prints):
    """Run a program that is to end well, having printed one line and no complaints."""
    code, output, errors = run(implementation, code, *arguments, directory=directory)
    assert (code, output, errors) == (0, f"{prints}\n", ""), f"{code}, {output!r}:\n{errors}"


@contextlib.contextmanager
def running(implementation, code, *arguments, directory):
    """Run a program beside the test; gives the process."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        _command(implementation, code, arguments),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        cwd=directory,
        env=_environment(),
        # So that what it has forked ends with it.
        start_new_session=True,
    ) as process:
        watchdog = threading.Timer(2 * PATIENCE, _end, (process, getattr(signal, "SIGUSR1", 15)))
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            _end(process, signal.SIGKILL)


def _end(process, by):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, by)
