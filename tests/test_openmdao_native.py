"""OpenMDAO models on the native transport come to the bits of stock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import philote_fast
from philote_fast.processes import ServerProcess

from .openmdao_models import MODELS, connections
from .peers import REFERENCE, assert_identical, channel_to, client_side

TESTS = Path(__file__).parent
RUN = (sys.executable, "-m", "philote_fast", "run")


@pytest.fixture(autouse=True)
def _output_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class NativeServers:
    """Processes that serve a discipline on the native transport, each started when asked for."""

    def __init__(self):
        self._servers = {}

    def address(self, discipline, flavour):
        if discipline not in self._servers:
            command = [*RUN, str(TESTS / "serve.py"), discipline]
            self._servers[discipline] = ServerProcess(command, accelerated=True)
        return self._servers[discipline].address

    def close(self):
        for server in self._servers.values():
            server.close()


@pytest.fixture(scope="module")
def native_servers():
    servers = NativeServers()
    yield servers
    servers.close()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_same_bits_as_stock(model, servers, native_servers):
    with (
        client_side(REFERENCE[0]),
        connections(servers, REFERENCE[1], channel_to) as connect,
    ):
        expected = model(connect)
    with (
        client_side("patched"),
        connections(native_servers, "native", philote_fast.insecure_channel) as connect,
    ):
        assert_identical(model(connect), expected)


def test_a_script_that_knows_nothing_of_it(tmp_path):
    script = str(TESTS / "openmdao_script.py")
    stock = _lines([sys.executable, script], tmp_path, PHILOTE_FAST="0")
    native = _lines([*RUN, script], tmp_path)
    assert len(stock) > 5
    assert native == stock


def _lines(command, directory, **environment):
    inherited = {name: v for name, v in os.environ.items() if name != "PHILOTE_FAST"}
    done = subprocess.run(
        command,
        cwd=directory,
        env={**inherited, "OPENMDAO_REPORTS": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
