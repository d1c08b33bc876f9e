"""What every test may ask for: a flavour of the client side, pairs of peers, server processes."""

import importlib.machinery
import os
import sys
from pathlib import Path

import pytest


def _leave_out_a_checkout_without_extension():
    """Drop the checkout from the path where its package has no compiled core.

    ``python -m pytest`` puts the checkout first on the path. After ``pip install .`` the package
    meant is the installed one; the checkout's own is importable only after ``maturin develop``.
    """
    root = Path(__file__).resolve().parent.parent
    package = root / "philote_fast"
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    if not any(path.name.endswith(suffixes) for path in package.glob("_core*")):
        sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != root]


_leave_out_a_checkout_without_extension()
os.environ["OPENMDAO_REPORTS"] = "0"

from . import peers  # noqa: E402


@pytest.fixture(params=peers.FLAVOURS)
def flavour(request):
    """Run the test with philote_mdo stock, patched, and native; gives the flavour's name."""
    with peers.client_side(request.param):
        yield request.param


@pytest.fixture(params=peers.PAIRS, ids="-".join)
def pair(request):
    """Run the test for every pair of (client, server), the client side being switched."""
    with peers.client_side(request.param[0]):
        yield request.param


@pytest.fixture(scope="session")
def servers():
    """Server processes that tests share; each client sets its discipline up anew."""
    pool = peers.ServerPool()
    yield pool
    pool.close()
