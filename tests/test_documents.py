"""Every code block of README.md and docs/ does what its document says."""

import os
import re
from pathlib import Path

import pytest

from . import certificates, documents
from .document_runner import Runner

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are for a POSIX shell")

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

# Commands that no test runs, and where they are run instead.
ELSEWHERE = {
    'python3 -m venv .venv && .venv/bin/pip install ".[openmdao]" && .venv/bin/philote-fast demo': (
        "builds the extension: test_cli.py runs the demo of the one that is installed"
    ),
    'python3 -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/pytest': (
        "builds the extension and runs the tests: .ci/run does it, by this very line"
    ),
    'python3 -m venv .venv && source .venv/bin/activate && pip install ".[openmdao]"': (
        "builds the extension: .ci/run installs by README's lines, which differ in nothing else"
    ),
    '.venv/bin/pip install ".[bench]" && .venv/bin/pytest benches': (
        "takes half an hour: .ci/run installs the same and runs what takes seconds"
    ),
    (
        'python3 -m venv .venv && .venv/bin/pip install maturin ".[test,lint]"'
        " && .venv/bin/pip uninstall -y philote-fast"
    ): "builds the extension, and takes it out of the environment that the tests run in",
    "source .venv/bin/activate": "of the environment that the line before makes",
    "maturin develop --release": "builds the extension: as pip does by maturin in .ci/run",
    "pytest": "would run this test again: .ci/run runs it",
    "cargo test --no-default-features": ".ci/run runs it",
}


def given_certificate(folder):
    """A key and a certificate for localhost, which transport.md takes for granted."""
    issuer = certificates.authority()
    identity = certificates.issued(issuer, "server", dns=["localhost"])
    (folder / "key.pem").write_bytes(identity.key)
    (folder / "certificate.pem").write_bytes(identity.chain)
    (folder / "root.pem").write_bytes(issuer.chain)


# What a document's reader has already, beside an environment with philote-fast.
GIVEN = {"transport.md": given_certificate}


def named(path):
    return path.name


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_blocks(path, tmp_path):
    GIVEN.get(path.name, lambda folder: None)(tmp_path)
    text = path.read_text(encoding="utf-8")
    with Runner(tmp_path, path.name) as runner:
        # What troubleshooting.md shows are errors: test_troubleshooting.py provokes them.
        documents.run(text, runner, ELSEWHERE, other_texts=path.name == "troubleshooting.md")


def test_commands_that_are_not_run():
    """The list has what the documents say, to the letter, and nothing else."""
    found = [block for path in DOCUMENTS for block in documents.blocks(path.read_text("utf-8"))]
    said = {line for block in found if block.language == "sh" for line in documents.commands(block)}
    assert set(ELSEWHERE) <= said


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links(path):
    """Each link inside the repository leads to a file, and to a heading of it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.is_file(), target
        assert not heading or heading in headings(linked), target


def headings(path):
    """The anchors of a document's headings, as they are made of their words."""
    found = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found]
