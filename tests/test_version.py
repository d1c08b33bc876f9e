"""The version is written down once, in Cargo.toml; everything else is made of it."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

import philote_fast
from philote_fast import _core

ROOT = Path(__file__).resolve().parent.parent


def written(name, pattern):
    return re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)


def declared():
    (version,) = written("Cargo.toml", r'^version = "([^"]*)"')
    return version


def test_the_extension_and_the_distribution_have_it():
    assert philote_fast.__version__ == _core.__version__ == declared()
    # Cargo writes 1.0.0-rc.1 where Python writes 1.0.0rc1.
    assert Version(importlib.metadata.version("philote-fast")) == Version(declared())


def test_it_is_not_written_down_elsewhere():
    assert written("pyproject.toml", r"^(?:version = .*|dynamic = .*)$") == [
        'dynamic = ["version"]'
    ]
    assert written("Cargo.lock", r'^name = "philote-fast"\nversion = "(.*)"') == [declared()]
    package = Path(philote_fast.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert texts
    literal = re.compile(r"__version__\s*(:\s*\w+\s*)?=\s*[\"']")
    assert [path for path, text in texts.items() if literal.search(text)] == []


def test_the_command_and_the_status_tell_it(tmp_path):
    command = [sys.executable, "-m", "philote_fast", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{declared()}\n"
    assert philote_fast.status().version == declared()


def test_the_changelog_begins_with_it_or_with_what_is_to_come():
    first, *_ = written("CHANGELOG.md", r"^## \[(.*)\]")
    assert first in ("Unreleased", declared())
