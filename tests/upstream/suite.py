"""philote-mdo's own tests: fetched from its source distribution, then run in a process."""

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

SDIST = "philote_mdo-0.8.0.tar.gz"
REQUIREMENT = "philote-mdo==0.8.0"
SHA256 = "20eedd71c068852a83e426a568591f8c666655173c1fa0325ccc03d2cfaf682d"

_PLUGINS = Path(__file__).parent
_UPSTREAM_PORT = "50051"


class Outcome(NamedTuple):
    """What a run of the suite came to."""

    passed: int
    failed: int
    skipped: int
    report: dict
    output: str


def fetch(cache):
    """Return the sdist in the directory ``cache``, downloading it by pip if it is not there."""
    sdist = cache / SDIST
    if not sdist.exists():
        _download(cache)
    found = hashlib.sha256(sdist.read_bytes()).hexdigest()
    if found != SHA256:
        sdist.unlink()
        raise RuntimeError(f"{SDIST} has the SHA-256 {found}, not {SHA256}; it has been removed")
    return sdist


def _download(cache):
    # With hashes required pip itself refuses another file, before it asks the file's build backend
    # for the metadata that it insists on.
    requirements = cache / "requirements.txt"
    requirements.write_text(f"{REQUIREMENT} --hash=sha256:{SHA256}\n")
    options = ["--no-deps", "--no-binary", "philote-mdo", "--require-hashes", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "-r", requirements, "-d", cache],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"pip could not fetch the sdist of {REQUIREMENT}:\n{done.stderr}")


def extract_tests(sdist, destination, port):
    """Put the suite's tests in ``destination``, with their one fixed port replaced.

    The tests all listen on and connect to one port of every interface; they get a port of their
    own on the loopback, so that two runs on a machine do not answer one another. Only the tests are
    extracted: the philote_mdo under test is the installed one.
    """
    tests = destination / "tests"
    tests.mkdir()
    with tarfile.open(sdist) as archive:
        for member in archive:
            path = Path(member.name)
            if path.parent.name == "tests" and path.suffix == ".py":
                text = archive.extractfile(member).read().decode()
                text = text.replace(f"[::]:{_UPSTREAM_PORT}", f"127.0.0.1:{port}")
                text = text.replace(f"localhost:{_UPSTREAM_PORT}", f"127.0.0.1:{port}")
                (tests / path.name).write_text(text, encoding="utf-8")
    return tests


@contextlib.contextmanager
def reserved_port():
    """Hold a free port that gRPC, which shares ports, can still listen on."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def run(sdist, directory, *, when, only=(), deselect=()):
    """Run the suite with philote_fast imported "first", "last" or "never", or under "run".

    "run" is the command ``philote-fast run``, which imports philote_fast and replaces grpc's
    constructors. ``only`` and ``deselect`` are names of tests, from the name of their file on.
    """
    command = ("-m", "philote_fast", "run") if when == "run" else ()
    report, results = directory / "report.json", directory / "results.xml"
    with reserved_port() as port:
        tests = extract_tests(sdist, directory, port)
        done = subprocess.run(
            [
                *(sys.executable, *command, "-m", "pytest", "-q", "--import-mode=importlib"),
                *("-p", "watch_patches", "-p", "no:cacheprovider"),
                *(f"--rootdir={tests}", f"--junitxml={results}"),
                *([str(tests / name) for name in only] or [str(tests)]),
            ],
            cwd=directory,
            env={
                **os.environ,
                "PYTHONPATH": str(_PLUGINS),
                "PYTEST_ADDOPTS": "",
                "PHILOTE_FAST": "0" if when == "never" else "1",
                "WATCH_PATCHES": when,
                "WATCH_REPORT": str(report),
                "WATCH_DESELECT": json.dumps(list(deselect)),
                "OPENMDAO_REPORTS": "0",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    output = done.stdout + done.stderr
    if not report.exists() or not results.exists():
        raise RuntimeError(f"philote-mdo's tests did not run:\n{output}")
    counts = ElementTree.parse(results).getroot().find("testsuite").attrib
    failed = int(counts["failures"]) + int(counts["errors"])
    skipped = int(counts["skipped"])
    passed = int(counts["tests"]) - failed - skipped
    return Outcome(passed, failed, skipped, json.loads(report.read_text()), output)
