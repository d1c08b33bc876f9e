"""What philote-fast bench refuses: one clear line, no traceback, and an exit status of its own."""

import json
import os
import socket
import subprocess
import sys

import pytest

from . import peers
from .bench_command import SHORT, bench, put_disciplines


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    place = put_disciplines(tmp_path_factory.mktemp("own"))
    (place / "broken.py").write_text("import no_such_module\n")
    (place / "leaving.py").write_text("raise SystemExit('leaving')\n")
    (place / "text.json").write_text("not { JSON")
    (place / "list.json").write_text("[]")
    (place / "deep.json").write_text("[" * 100_000)
    (place / "unusable" / "matplotlib").mkdir(parents=True)
    (place / "unusable" / "matplotlib" / "__init__.py").write_text("raise OSError('no libpng')\n")
    (place / "other.json").write_text('{"benchmarks": []}')
    newer = {"schema": "philote-fast/bench", "version": 2}
    (place / "newer.json").write_text(json.dumps(newer))
    (place / "hollow.json").write_text(json.dumps({**newer, "version": 1}))
    return place


def refused(done, complaint):
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("philote-fast: ")
    assert complaint in lines[0]


@pytest.mark.parametrize(
    ("discipline", "complaint"),
    [
        ("no_such_module:Plain", "cannot import no_such_module: ModuleNotFoundError"),
        ("broken:Plain", "cannot import broken: ModuleNotFoundError: No module named"),
        ("leaving:Plain", "cannot import leaving: SystemExit: leaving"),
        ("mine:Missing", "no Missing in mine: AttributeError"),
        ("mine:number", "mine:number gives a int, not a discipline"),
        ("mine:random.random", "mine:random.random gives a float, not a discipline"),
        ("mine:RaisesInInit", "cannot make mine:RaisesInInit: OSError: no licence"),
        (
            "mine:RaisesInSetup",
            "cannot be set up: INTERNAL: Setup failed: no mesh in this directory",
        ),
        ("mine:RaisesInCompute", "compute: PhiloteServerError: Server error during run_compute"),
        (
            "mine:LeavesInSetup",
            "mine:LeavesInSetup cannot be set up: a stock process ended with exit code 1: "
            "the discipline raised SystemExit: no licence",
        ),
        ("mine:EndsItsProcess", "compute: a stock process ended with exit code 3"),
        (
            "mine:Leaves",
            "compute: a stock process ended with exit code 1: the discipline raised SystemExit: 3",
        ),
    ],
)
def test_disciplines(discipline, complaint, own):
    refused(bench(*SHORT, "--discipline", discipline, cwd=own), complaint)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--cases", "scalars-1,sclars"],
            "there is no case 'sclars'; there are scalars-1, scalars",
        ),
        (["--cases", "openmdao", "--plot", "p.png"], "--plot needs cases of doubles or scalars"),
        (["--plot", "p.pdf"], "--plot makes .png and .svg, not .pdf"),
        (["--plot", "picture"], "--plot makes .png and .svg, not picture"),
        (["--plot", "missing/p.png"], "cannot write missing/p.png: No such file or directory"),
        (["--json", "missing/r.json"], "cannot write missing/r.json: No such file or directory"),
        (["--json", "package"], "cannot write package: Is a directory"),
        (["--compare", "missing.json"], "cannot read missing.json: No such file or directory"),
        (["--compare", "text.json"], "text.json is no JSON"),
        (["--compare", "deep.json"], "deep.json is no JSON"),
        (["--compare", "list.json"], "list.json is no record of philote-fast bench"),
        (["--compare", "other.json"], "other.json is no record of philote-fast bench"),
        (
            ["--compare", "newer.json"],
            "newer.json is a record of version 2; this philote-fast reads version 1",
        ),
        (
            ["--compare", "hollow.json"],
            "hollow.json is a broken record: the whole has no 'created'",
        ),
    ],
)
def test_options(arguments, complaint, own):
    before = sorted(own.iterdir())
    refused(bench(*arguments, cwd=own), complaint)
    assert sorted(own.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--target", "localhost"], "HOST:PORT is expected, not 'localhost'"),
        (["--target", "localhost:port"], "HOST:PORT is expected"),
        (["--target", "localhost:0"], "HOST:PORT is expected"),
        (["--discipline", "mine"], "MODULE:CLASS is expected, not 'mine'"),
        (["--discipline", "mine:1"], "MODULE:CLASS is expected"),
        (["--seconds", "long"], "seconds are expected, not 'long'"),
        (["--seconds", "nan"], "seconds are expected, not 'nan'"),
        (["--target", "localhost:1", "--discipline", "mine:Plain"], "not allowed with argument"),
    ],
)
def test_wrong_use(arguments, complaint, own):
    done = bench(*arguments, cwd=own)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_is_not_there(own):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    refused(
        bench(*SHORT, "--target", f"127.0.0.1:{port}", cwd=own),
        f"no gRPC server answers at 127.0.0.1:{port} within",
    )


def test_a_server_that_is_no_philote_server(own):
    code = (
        "import grpc, sys\nfrom concurrent import futures\n"
        "server = grpc.server(futures.ThreadPoolExecutor(1))\n"
        "print(server.add_insecure_port('127.0.0.1:0'), flush=True)\n"
        "server.start()\nsys.stdin.read()"
    )
    with peers.ServerProcess([sys.executable, "-c", code], accelerated=False) as server:
        done = bench(*SHORT, "--target", server.address, cwd=own)
    warning, error = done.stderr.splitlines()
    assert "is now set up and called many times" in warning
    assert error == (
        f"philote-fast: {server.address} cannot be set up: UNIMPLEMENTED: Method not found!"
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_a_case_that_a_discipline_has_not(own):
    done = bench(*SHORT, "--discipline", "mine:Plain", "--cases", "gradient", cwd=own)
    refused(done, "there is no case 'gradient' of this discipline; there are compute")


@pytest.mark.parametrize(
    ("missing", "arguments", "complaint"),
    [
        (
            "matplotlib",
            ["--plot", "p.png"],
            "--plot needs matplotlib: pip install 'philote-fast[plot]'",
        ),
        ("zmq", ["--peers"], "--peers needs pyzmq: pip install 'philote-fast[peers]'"),
        ("pyarrow", ["--peers"], "--peers needs pyarrow: pip install 'philote-fast[peers]'"),
        (
            "openmdao",
            ["--cases", "openmdao"],
            "openmdao-100 needs openmdao: pip install 'philote-fast[openmdao]'",
        ),
    ],
)
def test_packages_that_are_missing(missing, arguments, complaint, own):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"from philote_fast.cli import main; sys.exit(main(['bench', *{arguments!r}]))"
    )
    # Isolated: the modules in this directory are there not to be imported.
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, cwd=own, capture_output=True, text=True, check=False)
    refused(done, complaint)


def test_a_package_that_is_there_but_cannot_be_imported(own):
    done = bench(*SHORT, "--plot", "p.png", cwd=own, PYTHONPATH=str(own / "unusable"))
    refused(done, "--plot cannot import matplotlib: OSError: no libpng")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_disk_that_is_full(own):
    done = bench(*SHORT, "--discipline", "mine:Plain", "--json", "/dev/full", cwd=own)
    assert done.returncode == 1
    assert done.stdout.startswith("compute: compute of your own discipline")
    error = done.stderr.splitlines()[-1]
    assert error == "philote-fast: cannot write /dev/full: No space left on device"


def test_an_earlier_run_of_other_cases(own):
    first = bench(*SHORT, "--discipline", "mine:Plain", "--json", "plain.json", cwd=own)
    assert first.returncode == 0, first.stderr
    done = bench(*SHORT, "--cases", "scalars-1", "--compare", "plain.json", cwd=own)
    refused(done, "the earlier run has none of these cases")


def test_what_was_measured_before_an_error_is_shown(own):
    done = bench(*SHORT, "--discipline", "mine:RaisesInPartials", "--json", "p.json", cwd=own)
    assert done.returncode == 1
    assert done.stdout.startswith("compute: compute of your own discipline")
    assert "gradient" not in done.stdout
    assert not done.stdout.endswith(" 0 s.\n")
    assert done.stderr.splitlines()[-1].endswith("ComputeGradient failed: no gradient here")
    assert not (own / "p.json").exists()


def test_debug_shows_where_it_happened(own):
    done = bench(*SHORT, "--debug", "--discipline", "mine:RaisesInInit", cwd=own)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert 'raise OSError("no licence")' in done.stderr
    assert done.stderr.splitlines()[-1].startswith("philote-fast: cannot make")
