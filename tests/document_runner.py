"""Runs what a document tells its reader to run, in a directory, as its reader would."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .documents import DocumentError

# Long enough for a loaded machine: what takes as long is stuck.
_PATIENCE = 180

# Gives the lines of a document in tracebacks, and the end of each block's output.
_SESSION = """
import json, sys
namespace = {"__name__": "__main__"}
mark, document = sys.argv[1:]
for request in sys.stdin:
    line, text = json.loads(request)
    exec(compile("\\n" * (line - 1) + text, document, "exec"), namespace)
    print(mark, flush=True)
"""
_MARK = "---- the end of this block ----"


class Runner:
    """Runs commands and Python in a directory; what is left running ends with it.

    As a reader's terminal after ``source .venv/bin/activate``: ``python`` is this Python, its
    commands come first.
    """

    def __init__(self, folder, name="document"):
        self._folder, self._name = folder, name
        self._stack = contextlib.ExitStack()
        self._session = self._errors = None
        self.running = []
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "OPENMDAO_REPORTS": "0",
        }
        self._environment.pop("PHILOTE_FAST", None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stack.close()

    def write(self, name, text):
        """Save a file."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def shell(self, command):
        """Run a command to its end; gives what it prints."""
        process = self._popen(["bash", "-c", command], stderr=subprocess.STDOUT)
        with _ended(process), _killed_when_late(process):
            printed = process.stdout.read()
            process.wait()
        if process.returncode:
            raise DocumentError(f"{command!r} ends with status {process.returncode}:\n{printed}")
        return printed

    def start(self, command, lines):
        """Start a command that goes on; gives so many lines of what it prints."""
        if not lines:
            raise DocumentError("nothing is shown by which a reader sees that it runs")
        process = self._popen(["bash", "-c", command], stderr=subprocess.STDOUT)
        self._stack.enter_context(_ended(process))
        with _killed_when_late(process):
            printed = "".join(process.stdout.readline() for _ in range(lines))
        self.running.append((command, process))
        return printed

    def check_running(self):
        """Check that what was to be left running is running still."""
        for command, process in self.running:
            if process.poll() is not None:
                raise DocumentError(f"{command!r} has ended with status {process.returncode}")

    def python(self, code, line):
        """Run a piece of the document's session; gives what it prints."""
        if self._session is None:
            self._open_session()
        printed = []
        with _killed_when_late(self._session):
            self._session.stdin.write(json.dumps([line, code]) + "\n")
            self._session.stdin.flush()
            for each in self._session.stdout:
                if each.rstrip("\n") == _MARK:
                    return "".join(printed)
                printed.append(each)
        self._errors.seek(0)
        raise DocumentError(f"{''.join(printed)}{self._errors.read()}")

    def _open_session(self):
        self._errors = self._stack.enter_context(tempfile.TemporaryFile("w+"))  # noqa: SIM115
        command = [sys.executable, "-c", _SESSION, _MARK, self._name]
        self._session = self._popen(command, stdin=subprocess.PIPE, stderr=self._errors)
        self._stack.enter_context(_ended(self._session))

    def _popen(self, command, **streams):
        return subprocess.Popen(
            command,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **streams},
            cwd=self._folder,
            env=self._environment,
            text=True,
            # A group of its own, that can be ended with all that it has started.
            start_new_session=True,
        )


@contextlib.contextmanager
def _ended(process):
    with process:
        try:
            yield
        finally:
            _kill(process)


@contextlib.contextmanager
def _killed_when_late(process):
    late = threading.Timer(_PATIENCE, _kill, [process])
    late.start()
    try:
        yield
    finally:
        late.cancel()


def _kill(process):
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
