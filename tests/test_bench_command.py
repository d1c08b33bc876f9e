"""The command philote-fast bench, run as its users run it: real processes, short measurements."""

import json
import subprocess
import sys

import jsonschema
import pytest

from philote_fast.bench import schema
from philote_fast.bench.cases import all_cases

from . import peers
from .bench_command import SHORT, bench, put_disciplines

# One of each kind, and threads; none of which stock takes a tenth of a second for.
SMALL = (
    "scalars-1,doubles-1e3,gradient-1,solve,residuals,residual-gradients,dynamic-shapes,discrete,"
    "openmdao"
)


@pytest.fixture
def own(tmp_path):
    """A directory with a module of disciplines."""
    return put_disciplines(tmp_path)


def record_of(path):
    document = json.loads(path.read_text())
    jsonschema.Draft202012Validator(schema.schema()).validate(document)
    return document


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of small cases, with everything that it can write."""
    place = tmp_path_factory.mktemp("run")
    files = ("--json", "run.json", "--plot", "run.svg")
    done = bench(*SHORT, "--peers", "--cases", SMALL, *files, cwd=place)
    assert done.returncode == 0, done.stderr
    return done, place


def test_a_case_of_each_kind(run):
    done, place = run
    document = record_of(place / "run.json")
    names = [case["name"] for case in document["cases"]]
    assert len(names) == 9
    assert (document["subject"], document["what"], document["quick"]) == ("built-in", "", True)
    for case in document["cases"]:
        sides = {"stock", "patched", "native", "raw"}
        rivals = {"zeromq", "flight"} if case["group"] in ("scalars", "doubles") else set()
        assert set(case["results"]) == sides | rivals
        assert case["answers"] == "equal"
        for name in ("stock", "patched", "native"):
            assert case["results"][name]["messages"] >= 2
            assert ("threads" in case["results"][name]) == (case["name"] == "scalars-1")
    assert "the same values bit for bit in all 9 cases" in done.stdout


def test_messages_and_bytes_are_those_of_the_protocol(run):
    _, place = run
    results = {case["name"]: case["results"] for case in record_of(place / "run.json")["cases"]}
    # A double: name (3), type of an output (2), data (10), the array around it (2), gRPC's 5.
    assert results["scalars-1"]["stock"]["messages"] == 2
    assert results["scalars-1"]["stock"]["bytes"] == (4 + 10 + 2 + 5) + (4 + 2 + 10 + 2 + 5)
    bulk = results["doubles-1e3"]
    assert bulk["stock"]["bytes"] == bulk["native"]["bytes"]
    assert 16_000 < bulk["native"]["bytes"] < 16_100
    # 100 shapes of inputs, 100 of outputs, an empty answer; then 100 values each way.
    assert results["dynamic-shapes-100"]["native"]["messages"] == 401


def test_the_table_has_every_figure(run):
    done, _ = run
    head = next(line for line in done.stdout.splitlines() if "us a call" in line)
    for word in ("quartiles", "times faster", "messages", "bytes", "calls/s, 16 threads"):
        assert word in head
    for name in ("stock", "patched", "native", "raw socket (floor)", "ZeroMQ", "Arrow Flight"):
        assert f"  {name} " in done.stdout


def test_progress_is_seen_on_standard_error(run):
    done, _ = run
    lines = done.stderr.splitlines()
    assert lines[0] == "[1/9] scalars-1"
    assert len(lines) == 9


def test_a_picture_is_drawn(run):
    _, place = run
    picture = (place / "run.svg").read_text()
    assert picture.lstrip().startswith("<?xml")
    assert {path.name for path in place.iterdir()} >= {"run.json", "run.svg"}


def test_compare_with_an_earlier_run(run):
    _, place = run
    done = bench(*SHORT, "--cases", "scalars-1", "--compare", "run.json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "time relative to stock's" in done.stdout
    assert "scalars-1  native" in done.stdout
    assert "doubles-1e3" not in done.stdout


def test_an_explicit_discipline_of_ones_own(own):
    name = "package.inner:Explicit"
    done = bench(*SHORT, "--discipline", name, "--json", "own.json", cwd=own)
    assert done.returncode == 0, done.stderr
    document = record_of(own / "own.json")
    assert (document["subject"], document["what"]) == ("discipline", name)
    assert [case["name"] for case in document["cases"]] == ["compute", "gradient"]
    assert "the same values bit for bit in all 2 cases" in done.stdout
    # x, and v; y.
    assert document["cases"][0]["results"]["native"]["messages"] == 3


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("Implicit", ["residuals", "solve", "residual-gradients"]),
        ("Shapeless", ["compute"]),
        ("Talkative", ["compute"]),
        ("made", ["compute"]),
        ("ready", ["compute"]),
    ],
)
def test_other_disciplines_of_ones_own(name, cases, own):
    done = bench(*SHORT, "--discipline", f"mine:{name}", "--json", "own.json", cwd=own)
    assert done.returncode == 0, done.stderr
    assert [case["name"] for case in record_of(own / "own.json")["cases"]] == cases
    assert "the same values bit for bit" in done.stdout


@pytest.mark.parametrize("name", ["Random", "Counting", "OfItsProcess"])
def test_values_that_do_not_repeat_are_no_difference_between_implementations(name, own):
    seconds = ("--quick", "--seconds", "2")
    done = bench(*seconds, "--discipline", f"mine:{name}", "--json", "own.json", cwd=own)
    assert done.returncode == 0, done.stderr
    assert "values differ from call to call of one implementation" in done.stdout
    assert "the same values bit for bit" not in done.stdout
    assert record_of(own / "own.json")["cases"][0]["answers"] == "varies"


def test_values_that_differ_between_implementations_are_an_error(own):
    done = bench(*SHORT, "--discipline", "mine:OfItsImplementation", "--json", "own.json", cwd=own)
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last == "philote-fast: compute: the values of patched are not those of stock: y"
    assert not (own / "own.json").exists()


@pytest.mark.parametrize(
    ("flavour", "discipline", "cases"),
    [
        ("stock", "bench_disciplines:Explicit", ["compute", "gradient"]),
        ("native", "bench_disciplines:Implicit", ["residuals", "solve", "residual-gradients"]),
    ],
)
def test_a_server_that_runs(flavour, discipline, cases, tmp_path):
    with peers.start_server(discipline, flavour) as server:
        done = bench(*SHORT, "--target", server.address, "--json", "t.json", cwd=tmp_path)
        assert server.running
    assert done.returncode == 0, done.stderr
    document = record_of(tmp_path / "t.json")
    assert (document["subject"], document["what"]) == ("target", server.address)
    assert [case["name"] for case in document["cases"]] == cases
    assert set(document["cases"][0]["results"]) == {"stock", "patched", "native", "raw"}
    assert "is now set up and called many times" in done.stderr
    assert f"the server at {server.address} was the same one" in done.stdout


def test_clients_of_one_server_do_not_take_over_the_chunks_of_one_another(tmp_path):
    """Stream options belong to the server, and stock asks for others than patched."""
    with peers.start_server("bench_disciplines:Long", "stock") as server:
        done = bench(*SHORT, "--target", server.address, "--json", "t.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = record_of(tmp_path / "t.json")["cases"][0]["results"]
    assert results["stock"]["messages"] == 6
    assert results["native"]["messages"] == 2


def test_cases_without_openmdao(tmp_path):
    code = (
        "import sys; sys.modules['openmdao'] = None\n"
        "from philote_fast.cli import bench, main\n"
        "bench.choose = lambda names, quick: bench.all_cases()[:1] + bench.all_cases()[-1:]\n"
        "sys.exit(main(['bench', '--quick', '--seconds', '0.2', '--json', 'run.json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all_cases()[-1].name == "openmdao-100"
    assert "left out: openmdao-100: openmdao is not installed" in done.stdout
    assert "left out: openmdao-100" in done.stderr
    assert record_of(tmp_path / "run.json")["skipped"] == {
        "openmdao-100": "openmdao is not installed"
    }
