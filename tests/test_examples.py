"""philote-mdo's own examples give the same bits for pairs of stock, patched and native peers."""

import functools

import openmdao.api as om
import pytest
from philote_mdo.openmdao import RemoteExplicitComponent, RemoteImplicitComponent

from .examples import EXAMPLES
from .peers import MAIN_PAIRS, REFERENCE, assert_identical, channel_to, client_side


@pytest.fixture(autouse=True)
def _output_directory(tmp_path, monkeypatch):
    """OpenMDAO writes a directory beside the script; keep it out of the checkout."""
    monkeypatch.chdir(tmp_path)


def run(example, pair, servers):
    client, server = pair
    with client_side(client), channel_to(servers.address(EXAMPLES[example], server)) as channel:
        return example(channel)


@pytest.fixture(scope="module")
def reference(servers):
    """What stock gives, found once for each example."""
    return functools.cache(lambda example: run(example, REFERENCE, servers))


@pytest.mark.parametrize("pair", MAIN_PAIRS[1:], ids="-".join)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_same_bits_as_stock(example, pair, servers, reference):
    assert_identical(run(example, pair, servers), reference(example))


COMPONENTS = {
    "philote_mdo.examples:Paraboloid": RemoteExplicitComponent,
    "philote_mdo.examples:QuadradicImplicit": RemoteImplicitComponent,
}


@pytest.mark.parametrize("discipline", COMPONENTS, ids=["explicit", "implicit"])
def test_a_second_setup(discipline, pair, servers):
    """Stock's client keeps the definitions of the first setup, and OpenMDAO refuses the twins."""
    client, server = pair
    with channel_to(servers.address(discipline, server)) as channel:
        prob = om.Problem(reports=False)
        component = COMPONENTS[discipline](channel=channel)
        prob.model.add_subsystem("remote", component, promotes=["*"])
        prob.setup()
        prob.run_model()
        if client == "stock":
            with pytest.raises(Exception, match="already exists"):
                prob.setup()
            return
        first = prob.model.list_outputs(out_stream=None, return_format="dict")
        prob.setup()
        prob.run_model()
        second = prob.model.list_outputs(out_stream=None, return_format="dict")
        assert_identical(
            {name: meta["val"] for name, meta in second.items()},
            {name: meta["val"] for name, meta in first.items()},
        )
