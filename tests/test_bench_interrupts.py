"""However philote-fast bench is ended, no process of its own outlives it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from .bench_command import BENCH, bench, put_disciplines
from .test_cli import children_of, on_linux, wait_until_gone

pytestmark = on_linux

# What is sent, whether to the whole process group, and the exit status.
ENDINGS = {
    "Ctrl-C": (signal.SIGINT, True, 130),
    "SIGINT to the parent alone": (signal.SIGINT, False, 130),
    "SIGTERM": (signal.SIGTERM, False, -signal.SIGTERM),
    "SIGKILL": (signal.SIGKILL, False, -signal.SIGKILL),
}


def begun(arguments, cwd):
    return subprocess.Popen(
        [*BENCH, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A group of its own, as a shell gives to each command of its line.
        start_new_session=True,
    )


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        # Fast calls, all day long: eight processes, two of them for the floor.
        (["--cases", "scalars-1", "--seconds", "80000"], 8),
        # A call that does not end, in a server's thread and with a client that waits for it.
        (["--discipline", "mine:Slow"], 8),
    ],
    ids=["calling", "computing"],
)
def test_no_process_is_left(arguments, count, ending, tmp_path):
    sent, to_group, status = ENDINGS[ending]
    with begun(arguments, put_disciplines(tmp_path)) as command:
        assert command.stderr.readline().startswith("[1/")
        children = children_of(command.pid)
        assert len(children) == count
        (os.killpg if to_group else os.kill)(command.pid, sent)
        assert command.wait(60) == status
        told = command.stderr.read()
        assert "Traceback" not in told
        assert ("philote-fast: interrupted" in told) == (sent == signal.SIGINT)
        assert command.stdout.read() == ""
    wait_until_gone(children)


def test_no_process_is_left_of_a_run(tmp_path):
    """Nor of one that ends by itself."""
    before = processes()
    assert bench("--quick", "--seconds", "0", "--cases", "scalars-1", cwd=tmp_path).returncode == 0
    wait_until_gone(processes() - before, seconds=5)


def processes():
    """The processes that run an agent."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"bench.agent" in (entry / "cmdline").read_bytes():
                found.add(entry.name)
        except OSError:
            continue
    return found
