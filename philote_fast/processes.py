"""Child processes that never outlive the process that started them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType

# Importing OpenMDAO on a loaded machine takes seconds; a server that is silent this long is stuck.
_START_SECONDS = 120.0
_STOP_SECONDS = 10.0


class ChildProcess:
    """A process that is to end when it is closed or its parent dies, however it dies.

    Its standard input is a pipe on which nothing is written. A pipe ends with its writer, even by
    SIGKILL, so a child that reads it (see `follow_parent`) is never orphaned.

    Parameters
    ----------
    command : sequence of str
        The command line.
    accelerated : bool
        Whether an import of ``philote_fast`` in the child patches ``philote_mdo``.
    cwd : str, optional
        The directory in which the child runs.
    single_threaded : bool, optional
        Whether the libraries of linear algebra are held to one thread. Sums are then of one order,
        whatever the cores are doing, and runs can be compared bit for bit.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        accelerated: bool,
        cwd: str | None = None,
        single_threaded: bool = True,
    ) -> None:
        self._errors = tempfile.TemporaryFile(  # noqa: SIM115 - closed by close()
            mode="a+", encoding="utf-8", errors="replace"
        )
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=cwd,
            env={
                **os.environ,
                "PHILOTE_FAST": "1" if accelerated else "0",
                "OPENMDAO_REPORTS": "0",
                **({"OMP_NUM_THREADS": "1"} if single_threaded else {}),
            },
            # Ctrl-C then reaches the parent alone, which closes its children in order.
            start_new_session=True,
        )

    def __enter__(self) -> ChildProcess:
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
        """The identifier of the process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def lines(self) -> Iterator[str]:
        """Give the lines that the child prints; a failure of the child is raised at their end."""
        assert self._process.stdout is not None
        yield from self._process.stdout
        if self._process.wait():
            raise RuntimeError(f"a process failed: {self.errors()}")

    def errors(self) -> str:
        """Return what the child has written to its standard error."""
        self._errors.seek(0)
        return self._errors.read().rstrip()

    def release(self) -> None:
        """Let the process end, without waiting for it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def close(self) -> None:
        """End the process, and wait until it has ended."""
        self.release()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


class ServerProcess(ChildProcess):
    """A child that serves a discipline; its first line is its port.

    Parameters
    ----------
    command : sequence of str
        The command line of the server.
    accelerated : bool
        Whether the server is patched.
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
        super().__init__(command, accelerated=accelerated, cwd=cwd)
        try:
            self.address = f"127.0.0.1:{self._read_port()}"
        except BaseException:
            self._process.kill()
            self.close()
            raise

    def __enter__(self) -> ServerProcess:
        return self

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
            raise RuntimeError(f"the server did not start: {line}{self.errors()}")
        return int(line)


def wait_for_parent() -> None:
    """Return when the parent closes this process's standard input, or dies."""
    # The descriptor itself: a thread inside sys.stdin would hold its lock at interpreter shutdown.
    while os.read(0, 4096):
        pass


def follow_parent() -> None:
    """End this process, whatever it is doing, when its parent closes its input or dies."""

    def watch() -> None:
        wait_for_parent()
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="follow-parent").start()
