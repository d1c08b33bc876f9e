"""Each error in docs/troubleshooting.md is provoked, and says what the document says."""

import re
import sys
from pathlib import Path

import pytest

from . import documents, peers, provoked_calls
from .provoked import PROVOKED

assert provoked_calls  # it adds to those of provoked

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "troubleshooting.md"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the document has the system's texts and numbers of Linux"
)


def entries():
    """The texts under each heading of the document that has any."""
    parts = re.split(r"^### (.*)\n", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    bodies = zip(parts[1::2], map(documents.blocks, parts[2::2]), strict=True)
    return {title: [b.text for b in found if b.language == "text"] for title, found in bodies}


def test_every_error_is_provoked():
    assert set(entries()) == set(PROVOKED)


@pytest.mark.parametrize("heading", PROVOKED)
def test_what_is_said(heading, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with peers.client_side("native"):
        said = PROVOKED[heading]()
    for text, shown in zip(said, entries()[heading], strict=True):
        documents.compare(text, shown)
