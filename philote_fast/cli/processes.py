"""Server processes that report their port and never outlive the process that started them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from types import TracebackType

# Importing OpenMDAO on a loaded machine takes seconds; a server that is silent this long is stuck.
_START_SECONDS = 120.0
_STOP_SECONDS = 10.0


def environment(*, accelerated: bool) -> dict[str, str]:
    """Return the environment of a child process that runs stock or accelerated.

    Parameters
    ----------
    accelerated : bool
        Whether an import of ``philote_fast`` in the child patches ``philote_mdo``.

    Returns
    -------
    dict
        This process's environment, with ``PHILOTE_FAST`` and OpenMDAO's reports set.
    """
    return {
        **os.environ,
        "PHILOTE_FAST": "1" if accelerated else "0",
        "OPENMDAO_REPORTS": "0",
    }


class ServerProcess:
    """A process that serves a discipline, and ends when it is closed or its parent dies.

    The command prints its port as its first line, then serves until its standard input ends. A
    pipe ends however its writer dies, so that no server is orphaned, not even by SIGKILL.

    Parameters
    ----------
    command : sequence of str
        The command line of the server.
    accelerated : bool
        Whether the server may patch ``philote_mdo`` (``PHILOTE_FAST``).
    cwd : str, optional
        The directory in which the server runs.

    Attributes
    ----------
    address : str
        What a channel connects to.
    """

    def __init__(
        self, command: Sequence[str], *, accelerated: bool, cwd: str | None = None
    ) -> None:
        self._errors = tempfile.TemporaryFile(mode="a+", encoding="utf-8", errors="replace")
        # A session of its own: Ctrl-C reaches the parent alone, which then closes its servers.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=cwd,
            env=environment(accelerated=accelerated),
            start_new_session=True,
        )
        try:
            self.address = f"127.0.0.1:{self._read_port()}"
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process's identifier."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is still alive."""
        return self._process.poll() is None

    def errors(self) -> str:
        """Return what the server has written to its standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        """End the server and wait for it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if not self._errors.closed:
            self._errors.close()

    def _read_port(self) -> int:
        assert self._process.stdout is not None
        stuck = threading.Timer(_START_SECONDS, self._process.kill)
        stuck.start()
        try:
            line = self._process.stdout.readline()
        finally:
            stuck.cancel()
        if not line.strip().isdigit():
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"the server did not start: {line}{self.errors()}".rstrip())
        return int(line)
