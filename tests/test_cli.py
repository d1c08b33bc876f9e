"""The command philote-fast, run as its users run it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import philote_fast

COMMANDS = {
    "script": [str(Path(sys.executable).with_name("philote-fast"))],
    "module": [sys.executable, "-m", "philote_fast"],
}
LARGE = "300000"  # stations: a run that is certainly still going when it is interrupted

on_linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes by /proc")


@pytest.fixture(params=COMMANDS)
def command(request):
    return COMMANDS[request.param]


def run(arguments, cwd, **environment):
    return subprocess.run(
        arguments,
        cwd=cwd,
        env={**os.environ, "PHILOTE_FAST": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_status(command, tmp_path):
    done = run([*command, "status"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # That of a fresh process: what other tests have imported here is patched as well.
    code = "import philote_fast; print(philote_fast.status())"
    assert done.stdout == run([sys.executable, "-c", code], tmp_path).stdout
    assert "ExplicitClient" in done.stdout


def test_status_when_prevented(tmp_path):
    done = run([*COMMANDS["script"], "status"], tmp_path, PHILOTE_FAST="0")
    assert done.returncode == 0
    assert "PHILOTE_FAST=0" in done.stdout


def test_version(command, tmp_path):
    done = run([*command, "--version"], tmp_path)
    assert done.stdout.strip() == philote_fast.__version__


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "COMMAND"),
        (["fly"], "fly"),
        (["demo", "--stations", "9"], "from 10 to"),
        (["demo", "--stations", "many"], "many"),
    ],
)
def test_wrong_use(arguments, complaint, tmp_path):
    done = run([*COMMANDS["script"], *arguments], tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_demo(tmp_path):
    done = run([*COMMANDS["script"], "demo", "--stations", "200"], tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "stock        evaluation   1" in done.stdout
    assert "accelerated  evaluation   1" in done.stdout
    assert "agree bit for bit" in done.stdout
    assert "times faster" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_demo_is_told_when_it_is_not_accelerated(tmp_path):
    """A run that would compare stock with stock is no demonstration."""
    code = (
        "import sys; from philote_fast.cli import demo\n"
        "for name in ('ServerProcess', 'ChildProcess'):\n"
        "    made = getattr(demo, name)\n"
        "    stock = lambda *a, made=made, **k: made(*a, **{**k, 'accelerated': False})\n"
        "    setattr(demo, name, stock)\n"
        "sys.exit(demo.main(50))"
    )
    done = run([sys.executable, "-c", code], tmp_path)
    assert done.returncode == 1
    assert "the accelerated run was not accelerated" in done.stderr


def test_demo_without_openmdao(tmp_path):
    code = (
        "import sys; sys.modules['openmdao'] = None\n"
        "from philote_fast.cli import main; sys.exit(main(['demo']))"
    )
    done = run([sys.executable, "-c", code], tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "philote-fast: the demo needs OpenMDAO: pip install openmdao\n"


@on_linux
@pytest.mark.parametrize(
    ("ending", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_demo_leaves_no_process_behind(ending, status, tmp_path):
    with subprocess.Popen(
        [*COMMANDS["script"], "demo", "--stations", LARGE],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        while "evaluation   1" not in demo.stdout.readline():
            assert demo.poll() is None
        children = children_of(demo.pid)
        assert len(children) == 2
        demo.send_signal(ending)
        assert demo.wait(60) == status
        assert "Traceback" not in demo.stderr.read()
    wait_until_gone(children)


def children_of(parent):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        state = process_state(entry.name)
        if state and int(state[1]) == parent:
            found.append(entry.name)
    return found


def process_state(pid):
    """The state and the parent of a process; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None


def wait_until_gone(pids, seconds=60):
    """Wait until each process has ended; one that nobody has reaped yet has ended too."""
    deadline = time.monotonic() + seconds
    while left := [pid for pid in pids if (process_state(pid) or "Z")[0] != "Z"]:
        assert time.monotonic() < deadline, f"still alive: {left}"
        time.sleep(0.1)
