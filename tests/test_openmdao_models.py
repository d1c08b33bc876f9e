"""OpenMDAO models come to the same bits, whether their remote components are stock or patched."""

import functools

import pytest

import philote_fast

from .openmdao_models import MODELS, connections
from .peers import MAIN_PAIRS, REFERENCE, assert_identical, channel_to, client_side


@pytest.fixture(autouse=True)
def _output_directory(tmp_path, monkeypatch):
    """OpenMDAO writes a directory beside the script; keep it out of the checkout."""
    monkeypatch.chdir(tmp_path)


def run(model, pair, servers):
    client, server = pair
    with client_side(client), connections(servers, server, channel_to) as connect:
        return model(connect)


@pytest.fixture(scope="module")
def reference(servers):
    """What stock gives, found once for each model."""
    return functools.cache(lambda model: run(model, REFERENCE, servers))


@pytest.mark.parametrize("pair", MAIN_PAIRS[1:], ids="-".join)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_same_bits_as_stock(model, pair, servers, reference):
    assert_identical(run(model, pair, servers), reference(model))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_call_goes_by_name(model, servers):
    """Not for scaling, units or ``src_indices``: a component gets physical values in one array."""
    before = _by_name()
    run(model, ("patched", "patched"), servers)
    assert _by_name() == before


def _by_name():
    return [used for used in philote_fast.status().fallbacks if used.what.startswith("Remote")]
