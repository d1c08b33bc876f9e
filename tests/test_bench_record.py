"""The record of a run: its form, its figures, and what is made of it."""

import copy
import dataclasses
import io
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from philote_fast.bench import compare, machine, plot, schema, table
from philote_fast.bench.budget import FEWEST_ROUNDS, MOST_ROUNDS, Budget
from philote_fast.bench.cases import all_cases, choose
from philote_fast.bench.errors import BenchError
from philote_fast.bench.progress import Progress
from philote_fast.bench.record import VARIES, CaseRecord, Record, Result, Spread, Timing, read
from philote_fast.bench.values import digest, digests, first_difference

DOCUMENT = Path(__file__).parent.parent / "docs" / "bench-json.md"


def result(*samples, messages=2, threads=None):
    return Result(Timing(7, list(samples)), messages, 44, threads)


def case(name="scalars-1", group="scalars", size=1, factor=1.0, **changes):
    results = {
        "stock": result(8.0 * factor, 10.0 * factor, 12.0 * factor),
        "patched": result(4.2, 5.0, 5.9),
        "native": result(1.0, 1.0, 1.5, threads=Timing(64, [0.5, 0.25])),
        "raw": Result(Timing(9, [0.1, 0.1, 0.2])),
    }
    return CaseRecord(name, group, size, f"{name}, for a test", results=results, **changes)


def record(*cases, **changes):
    here = {**machine.describe(), "load_before": 0.1, "quiet": True}
    return Record(here, "built-in", "", quick=True, cases=list(cases), seconds=3.5, **changes)


@pytest.fixture
def document():
    return record(case(), skipped={"openmdao-100": "openmdao is not installed"}).as_json()


def test_what_is_written_is_read_again(tmp_path):
    written = record(case(), case("doubles-1e3", "doubles", 1000, answers=VARIES))
    written.write(tmp_path / "run.json")
    assert read(tmp_path / "run.json") == written
    assert read(tmp_path / "run.json").as_json() == json.loads((tmp_path / "run.json").read_text())


def test_the_schema_is_one_and_a_record_fits(document):
    jsonschema.Draft202012Validator.check_schema(schema.schema())
    jsonschema.Draft202012Validator(schema.schema()).validate(document)
    assert schema.objection(document) is None


def places(value, path=()):
    """Every place in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items if isinstance(value, (dict, list)) else ():
        yield from places(item, (*path, key)) if isinstance(item, (dict, list)) else [(*path, key)]


def mutants(document):
    """Documents that differ in one place: another value, nothing, or something beside it."""
    for *path, last in filter(None, places(document)):
        for change in (None, -1, 0, "text", True, [], {}, 1.5, "delete", "add"):
            mutant = copy.deepcopy(document)
            parent = mutant
            for key in path:
                parent = parent[key]
            if change == "delete":
                del parent[last]
            elif change == "add" and isinstance(parent, dict):
                parent["surplus"] = 1
            else:
                parent[last] = change
            yield (*path, last), change, mutant


def test_our_check_agrees_with_jsonschema(document):
    validator = jsonschema.Draft202012Validator(schema.schema())
    refused = 0
    for path, change, mutant in mutants(document):
        valid = validator.is_valid(mutant)
        assert (schema.objection(mutant) is None) == valid, (path, change, schema.objection(mutant))
        refused += not valid
    # Far more than half of them: the schema does refuse what is wrong.
    assert refused > 400


def test_every_field_of_the_schema_is_documented():
    text = DOCUMENT.read_text()
    documented = set(re.findall(r"`(\w+)`", text))
    rules = [schema.schema(), *schema.schema()["$defs"].values()]
    fields = {name for rule in rules for name in rule["properties"]}
    assert fields <= documented, fields - documented


def test_the_example_in_the_document_is_a_record():
    (example,) = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert schema.objection(json.loads(example)) is None


def test_rounds_without_a_sample_are_noticed(tmp_path, document):
    document["cases"][0]["results"]["raw"]["timing"]["samples"].pop()
    (tmp_path / "run.json").write_text(json.dumps(document))
    with pytest.raises(BenchError, match="scalars-1 has rounds without a sample"):
        read(tmp_path / "run.json")


@pytest.mark.parametrize(
    "figures", [[3.0], [1.0, 2.0], [5.0, 1.0, 4.0], list(np.arange(17.0) ** 2)]
)
def test_median_and_quartiles(figures):
    found = Spread.of(figures)
    expected = np.percentile(figures, [50, 25, 75])
    assert (found.median, found.low, found.high) == pytest.approx(expected)


def test_ratios_are_taken_round_by_round():
    # A disturbance that falls on one round of both leaves the ratio alone.
    disturbed = CaseRecord(
        "a", "a", 1, "", results={"stock": result(8.0, 80.0, 8.0), "native": result(2.0, 20.0, 2.0)}
    )
    assert disturbed.times_faster("native") == Spread(4.0, 4.0, 4.0)
    assert disturbed.times_faster("stock") is None


def test_the_table():
    lines = table.text(record(case())).splitlines()
    (native,) = (line.split() for line in lines if line.startswith("  native"))
    assert native[1:5] == ["1,000,000", "1,000,000", "to", "1,250,000"]
    assert native[5:] == ["8", "2", "44", "1.00", "2.67"]
    assert lines[-2] == "stock, patched, native: the same values bit for bit in 1 case"
    assert machine.processor() in lines[-1]


def test_what_is_compared_and_what_is_not():
    first = record(case(), case("scalars-10"))
    slower = case(factor=2.0)
    slower.results["native"] = result(4.0, 4.0, 6.0)
    told = compare.text(first, record(slower, case("scalars-100")))
    rows = {line.split()[1]: line for line in told.splitlines() if line.startswith("scalars-1 ")}
    assert "scalars-100" not in told
    assert "+100.0% * slower" in rows["stock"]
    assert re.search(r"\+0\.0% +-50\.0% \* faster", rows["patched"])
    # Four times the time, and twice of what stock takes, which takes twice as long itself.
    assert re.search(r"\+300\.0% \* slower +\+100\.0% \* slower", rows["native"])


def test_what_is_within_the_spread_is_not_marked():
    later = case()
    later.results["patched"] = result(4.2, 5.3, 5.9)
    told = compare.text(record(case()), record(later))
    assert "*" not in told.rpartition("* beyond the spread")[0]


def test_another_machine_is_told():
    earlier = record(case())
    packages = {**earlier.machine["packages"], "grpcio": "1.0"}
    earlier = dataclasses.replace(
        earlier, machine={**earlier.machine, "processor": "Abacus", "packages": packages}
    )
    told = compare.text(earlier, record(case()))
    assert "processor of the earlier run: Abacus" in told
    assert "grpcio of the earlier run: 1.0" in told


@pytest.mark.parametrize("suffix", plot.SUFFIXES)
def test_pictures(suffix, tmp_path):
    cases = [case(f"scalars-{size}", size=size) for size in (1, 10, 100)]
    if suffix == ".svg":
        cases += [case("doubles-1e3", "doubles", 1000), case("doubles-1e4", "doubles", 10_000)]
    path = tmp_path / f"picture{suffix}"
    plot.draw(record(*cases), path)
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n" if suffix == ".png" else b"</svg>" in content


def axes_of(*cases, monkeypatch, tmp_path):
    """Draw, and give the figure's axes."""
    from matplotlib.figure import Figure

    figures = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k))
    )
    plot.draw(record(*cases), tmp_path / "p.png")
    return figures[0]


def test_a_picture_shows_the_medians_with_units_and_a_legend(monkeypatch, tmp_path):
    cases = [case(f"scalars-{size}", size=size, factor=size) for size in (1, 10)]
    figure = axes_of(*cases, monkeypatch=monkeypatch, tmp_path=tmp_path)
    (axis,) = figure.axes
    lines = {line.get_label(): line for line in axis.lines}
    assert list(lines) == ["stock", "patched", "native", "raw socket (floor)"]
    assert lines["stock"].get_xdata().tolist() == [1, 10]
    assert lines["stock"].get_ydata().tolist() == [10_000.0, 100_000.0]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("scalars each way", "time of a call [ms]")
    assert [text.get_text() for text in figure.legends[0].texts] == list(lines)


def test_cases_are_chosen_by_name_and_by_kind():
    names = [chosen.name for chosen in choose(["solve", "scalars-100", "doubles"], quick=False)]
    doubles = [f"doubles-{size}" for size in ("1e3", "1e4", "1e5", "250000", "1e6", "1e7")]
    assert names == ["scalars-100", *doubles, "solve-100"]
    assert choose([], quick=False) == all_cases()
    quick = {chosen.name for chosen in choose([], quick=True)}
    assert {c.name for c in all_cases()} - quick == {"doubles-1e7"}
    assert [c.name for c in choose(["doubles-1e7"], quick=True)] == ["doubles-1e7"]


def test_names_of_cases_are_one_for_each():
    names = [c.name for c in all_cases()]
    assert len(set(names)) == len(names)


def test_a_budget_gives_the_fewest_rounds_whatever_they_take():
    spent = Budget(0.0, 2, 0.0)
    spent.begin()
    assert [spent.goes_on(n) for n in range(FEWEST_ROUNDS + 1)] == [True] * FEWEST_ROUNDS + [False]


def test_a_budget_gives_no_more_rounds_than_tell_something():
    spent = Budget(1e6, 1, 1e6)
    spent.begin()
    assert spent.goes_on(MOST_ROUNDS - 1)
    assert not spent.goes_on(MOST_ROUNDS)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal_is_a_line_that_lives(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    progress = Progress(2, stream)
    progress.begin("one thing")
    progress.round(1, {"stock": 2e-3, "native": 3e-6})
    progress.note("left out: another")
    progress.end()
    clear = "\r\x1b[K"
    assert stream.getvalue().split(clear) == [
        "",
        "[1/2] one thing",
        "[1/2] one thing: round 1: stock 2 ms, native 3 us",
        "left out: another\n",
        "",
    ]


def test_a_line_that_lives_does_not_wrap(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    progress = Progress(1, stream)
    progress.begin("a case")
    progress.round(12, {"stock": 2e-3, "native": 3e-6})
    assert stream.getvalue().endswith("\x1b[K[1/1] a case: round 12: stock")


def test_progress_elsewhere_is_a_line_for_each():
    stream = io.StringIO()
    progress = Progress(2, stream)
    for name in ("one thing", "another"):
        progress.begin(name)
        progress.round(1, {"stock": 2e-3})
    progress.end()
    assert stream.getvalue() == "[1/2] one thing\n[2/2] another\n"


VALUES = {"y": np.array([1.0, -0.0]), ("f", "x"): np.array(2.0), "d": [1, "a", {"b": None}]}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"y": np.array([1.0, 0.0])}, "y"),
        ({"y": np.array([1.0, -0.0], dtype=np.float32)}, "y"),
        ({"y": np.array([[1.0, -0.0]])}, "y"),
        ({("f", "x"): np.array([2.0])}, "f by x"),
        ({"d": [1, "a", {"b": False}]}, "d[2].b"),
        ({"d": [1.0, "a", {"b": None}]}, "d[0]"),
        ({"d": [1, "a"]}, "d[2].b is missing"),
        ({"z": 1.0}, "z is too much"),
    ],
)
def test_digests_tell_what_differs(change, where):
    one, other = VALUES, {**VALUES, **change}
    assert digest(one) == digest(copy.deepcopy(one))
    assert digest(one) != digest(other)
    assert first_difference(digests(one), digests(other)) == where


def test_digests_know_the_order_of_the_values():
    turned = dict(reversed(VALUES.items()))
    assert digest(VALUES) != digest(turned)
    assert first_difference(digests(VALUES), digests(turned)) == "the order of the values"


def test_digests_of_arrays_that_are_not_contiguous():
    values = np.arange(24.0).reshape(4, 6)
    assert digest(values[::-1, ::2]) == digest(values[::-1, ::2].copy())
    assert digest(np.array([])) != digest(np.array([0.0]))
