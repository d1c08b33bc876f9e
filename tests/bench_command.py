"""The command philote-fast bench, and a place to run it in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = [str(Path(sys.executable).with_name("philote-fast")), "bench"]
SHORT = ("--quick", "--seconds", "0.2")


def bench(*arguments, cwd, **environment):
    """Run the command to its end."""
    return subprocess.run(
        [*BENCH, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def put_disciplines(place):
    """Put a module of disciplines into a directory, beside modules that must not be imported."""
    source = Path(__file__).with_name("bench_disciplines.py")
    shutil.copy(source, place / "mine.py")
    package = place / "package"
    package.mkdir()
    shutil.copy(source, package / "inner.py")
    for name in ("philote_fast", "philote_mdo", "json", "grpc"):
        (place / f"{name}.py").write_text("raise ImportError('not this one')\n")
    return place
