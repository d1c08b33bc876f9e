"""docs/what-is-patched.md lists what is patched, no more and no less."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "what-is-patched.md"

# In a process of its own: tests register groups of patches too.
TELL = """
import json
import philote_mdo.openmdao
import philote_fast
from philote_fast.patches.registry import GROUPS
from philote_fast.transport import replacing
assert philote_fast.status().all_fast, philote_fast.status()
patched = [patch.dotted for group in GROUPS for patch in group.patches]
assert patched == [row.attribute for row in philote_fast.status()]
print(json.dumps({
    "patched": {group.name: [patch.dotted for patch in group.patches] for group in GROUPS},
    "reasons": {group.name: group.reason for group in GROUPS},
    "native": [f"grpc.{name}" for name in replacing.NAMES],
}))
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-c", TELL],
        cwd=tmp_path_factory.mktemp("facts"),
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def sections():
    """Each section's text, by its heading."""
    parts = re.split(r"^## (.*)\n", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(section):
    return re.findall(r"^\| `([^`]*)` \| \S", section, re.MULTILINE)


def test_what_is_patched_of_philote_mdo(facts, sections):
    listed = {name: rows(text) for name, text in sections.items() if name != "gRPC" and rows(text)}
    assert listed == facts["patched"]


def test_why(facts, sections):
    said = r"^What it gives: (.*)\.$"
    told = {name: re.findall(said, text, re.MULTILINE) for name, text in sections.items()}
    assert {name: each for name, each in told.items() if each} == {
        name: [reason] for name, reason in facts["reasons"].items()
    }


def test_what_is_replaced_of_grpc(facts, sections):
    assert rows(sections["gRPC"]) == facts["native"]
