"""Peers of the newest grpcio: philote-mdo pins an old one, and a peer may have any."""

import json
import re
import subprocess
import sys
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from . import echo_peer
from .implementations import GRPCIO, NATIVE, PATIENCE

_PEER = str(Path(echo_peer.__file__))


def _install(python):
    """Install the newest grpcio for a Python; gives pip's complaint if there is one."""
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "grpcio"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.fixture(scope="module")
def newest(tmp_path_factory):
    """Give the Python of an environment that has the newest grpcio and nothing else."""
    directory = tmp_path_factory.mktemp("newest") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    python = str(directory / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    complaint = _install(python)
    if re.search(r"connection|Temporary failure|Could not fetch|timed out", complaint):
        pytest.skip("pip cannot reach an index")
    assert not complaint, complaint
    return python


@pytest.fixture(scope="module")
def expected():
    """What two peers of the installed grpcio find."""
    with (
        _Serving(GRPCIO) as address,
        GRPCIO.insecure_channel(address, echo_peer.OPTIONS) as channel,
    ):
        return echo_peer.exercise(channel)


class _Serving:
    """The echo service in this process."""

    def __init__(self, implementation):
        self._pool = futures.ThreadPoolExecutor(8)
        self._server = implementation.server(
            self._pool, handlers=[echo_peer.handlers()], options=echo_peer.OPTIONS
        )

    def __enter__(self):
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()
        return f"127.0.0.1:{port}"

    def __exit__(self, *exception):
        self._server.stop(None).wait(PATIENCE)
        self._pool.shutdown()


def test_what_the_installed_grpcio_finds(expected):
    assert all(expected["sizes"] + expected["streams"])
    assert expected["many"]
    assert expected["threads"]
    assert expected["failure"] == ["DATA_LOSS", "lost: 50 %\n→"]
    assert expected["large"] == "RESOURCE_EXHAUSTED"
    assert expected["late"] == ["DEADLINE_EXCEEDED", "Deadline Exceeded"]


def test_native_peers(expected):
    with (
        _Serving(NATIVE) as address,
        NATIVE.insecure_channel(address, echo_peer.OPTIONS) as channel,
    ):
        assert echo_peer.exercise(channel) == expected


def test_a_native_server(newest, expected):
    with _Serving(NATIVE) as address:
        done = subprocess.run(
            [newest, _PEER, "call", address],
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert _release(answer["version"]) > _release(grpc.__version__)
    assert answer["found"] == expected


def test_a_native_client(newest, expected):
    pipe = subprocess.PIPE
    command = [newest, _PEER, "serve"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            port = process.stdout.readline().strip()
            with NATIVE.insecure_channel(f"127.0.0.1:{port}", echo_peer.OPTIONS) as channel:
                assert echo_peer.exercise(channel) == expected
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()


def _release(version):
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
