"""The stages carry what stock carries, and the documents get what a record has."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import staged
from gains import calls_table, stages, stages_table

import philote_fast
from philote_fast.bench import machine, record
from philote_fast.bench.cases import Case, all_cases
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import FLAVOURS, NATIVE, PATCHED, STOCK
from philote_fast.bench.progress import Progress
from philote_fast.bench.record import CaseRecord, Record, Result, Timing
from philote_fast.bench.rivals import RAW
from philote_fast.bench.runner import Plan, run
from philote_fast.bench.team import BuiltIn

SCALARS, ARRAY = "scalars", "echo"
SMALL = [
    Case("scalars-3", "scalars", 3, "", SCALARS, SCALARS, threads=True, passes=1),
    # On both sides of the limit of a chunk.
    Case("doubles-100001", "doubles", 100_001, "", ARRAY, ARRAY, passes=1),
    Case("gradient-3", "gradient", 3, "", "gradient", "gradient", passes=1),
    Case("dynamic-3", "dynamic-shapes", 3, "", "shapes", "dynamic", passes=1),
    Case("discrete-6", "discrete", 6, "", "discrete", "discrete", passes=1),
]


def measured(cases: list[Case], implementations: tuple[str, ...]) -> Record:
    """Measure as few rounds as there may be; the values of all are compared bit for bit."""
    found = Record({}, "built-in", "", quick=True)
    plan = Plan(cases, BuiltIn(), implementations, (RAW,), quick=True, seconds=0.0)
    with stages.importable():
        run(plan, found, Progress(len(cases)))
    return found


def test_all_stages_give_the_values_of_stock() -> None:
    found = measured(SMALL, stages.FLAVOURS)
    stages.name_stages(found)
    assert [case.name for case in found.cases] == [case.name for case in SMALL]
    for case in found.cases:
        assert tuple(case.results) == stages.NAMES
        assert case.answers == record.EQUAL
        # A chunk has 100,000 doubles in all stages but the first.
        counts = {name: result.messages for name, result in case.results.items()}
        packed, codec, patched, native = (counts[name] for name in stages.NAMES[1:-1])
        assert packed == codec == patched == native
        sizes = {case.results[name].bytes for name in stages.NAMES[1:-1]}
        assert len(sizes) == 1


def test_a_run_has_the_stages_where_they_can_carry_the_call(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "run.json"
    words = ["--cases", "solve-100,scalars-1", "--quick", "--seconds", "0", "--json", str(path)]
    assert staged.main(words) == 0
    scalars, solve = record.read(path).cases
    assert (scalars.name, tuple(scalars.results)) == ("scalars-1", stages.NAMES)
    assert (solve.name, tuple(solve.results)) == ("solve-100", (*FLAVOURS, RAW))
    assert all(result.messages == 2 for result in list(scalars.results.values())[:-1])
    assert capsys.readouterr().err == "[1/2] scalars-1\n[2/2] solve-100\n"


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("spoil", "1 of 3 values differ, first at"),
        ("fail", "RuntimeError: not this one"),
        ("absent", "AttributeError: module 'spoiled' has no attribute 'absent'"),
    ],
)
def test_a_stage_that_is_wrong_is_found(
    function: str, error: str, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "spoiled.py").write_text(
        "from gains import peer\n"
        "from gains.peer import codec\n"
        "def spoil():\n"
        "    right = codec.copy_out\n"
        "    def wrong(array, flat):\n"
        "        right(array, flat)\n"
        "        if array.name == 'y1': flat += 1.0\n"
        "    codec.copy_out = wrong\n"
        "    peer.install()\n"
        "def fail():\n"
        "    raise RuntimeError('not this one')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BenchError, match=error):
        measured(SMALL[:1], (STOCK, f"spoiled:{function}"))


@pytest.mark.parametrize("become", [stages.become_packed, stages.become_codec])
def test_a_stage_refuses_a_process_that_is_patched(become: Any) -> None:
    philote_fast.install()
    try:
        with pytest.raises(RuntimeError, match="it is no such stage"):
            become()
    finally:
        philote_fast.uninstall()


def test_the_cases_of_the_stages_and_of_readme_exist() -> None:
    names = {case.name for case in all_cases()}
    assert names >= {*stages.CASES, *calls_table.README_CASES}
    assert len(stages.cases()) == len(stages.CASES)


def result(seconds: float, messages: int | None = 2) -> Result:
    return Result(Timing(1, [seconds, seconds, 3.0 * seconds]), messages, messages and 44)


def made(*names: str, implementations: tuple[str, ...] = stages.NAMES) -> Record:
    """Make a record in which each implementation takes half of the time of the one before."""
    cases = []
    for name in names:
        results = {each: result(0.5**at) for at, each in enumerate(implementations)}
        cases.append(CaseRecord(name, name.partition("-")[0], 1, f"case {name}", results=results))
    here = {**machine.describe(), "load_before": 0.1, "quiet": True}
    return Record(here, "built-in", "", quick=True, cases=cases)


def plain(*names: str) -> Record:
    return made(*names, implementations=(*FLAVOURS, RAW))


def test_the_table_of_readme() -> None:
    table = calls_table.few(plain(*reversed(calls_table.README_CASES), "scalars-10"))
    lines = table.splitlines()
    assert lines[0] == "| call | stock | patched | times faster | native | times faster |"
    assert lines[2] == "| case scalars-1 | 1 s | 500 ms | 2x | 250 ms | 4x |"
    assert len([line for line in lines if line.startswith("|")]) == 12
    assert machine.processor() in lines[-1]


def test_a_record_that_lacks_calls_is_refused() -> None:
    with pytest.raises(BenchError, match=r"needs scalars-1, scalars-100, .*openmdao-100 too$"):
        calls_table.few(plain("scalars-10"))
    with pytest.raises(BenchError, match="the record has no native in scalars-1"):
        calls_table.few(made(*calls_table.README_CASES, implementations=(STOCK, PATCHED)))


def test_the_table_of_every_call() -> None:
    lines = calls_table.every(made("scalars-1", "gradient-1000")).splitlines()
    names = dict(zip(stages.NAMES, (0.5**at for at in range(6)), strict=True))
    assert names[PATCHED] == 0.125
    assert lines[2] == ("| case scalars-1 | 1 s | 125 ms | 8x | 62.5 ms | 16x | 31.2 ms | 2 | 44 |")
    assert len([line for line in lines if line.startswith("|")]) == 4


def test_the_table_of_stages_has_ratios_to_stock_and_to_the_stage_before() -> None:
    found = made("gradient-1000", "scalars-1")
    found.cases.append(plain("solve-100").cases[0])
    lines = stages_table.text(found).splitlines()
    assert lines[0] == "| stage | case gradient-1000 | case scalars-1 |"
    assert lines[2] == "| stock | 1 s | 1 s |"
    assert lines[3].endswith("| 500 ms, 2x | 500 ms, 2x |")
    assert lines[4].endswith("| 250 ms, 4x, 2x | 250 ms, 4x, 2x |")
    assert lines[7].startswith("| raw socket (floor) | 31.2 ms, 32x, 2x ")
    with pytest.raises(BenchError, match="the record has no stages"):
        stages_table.text(plain("scalars-1"))


def test_the_stages_are_drawn(tmp_path: Path, monkeypatch: Any) -> None:
    from matplotlib.figure import Figure

    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))
    )
    stages_table.draw(made("scalars-1", "gradient-1000"), tmp_path / "stages.svg")
    assert "</svg>" in (tmp_path / "stages.svg").read_text()
    (axis,) = drawn[0].axes
    assert [label.get_text() for label in drawn[0].legends[0].texts] == [
        "case scalars-1",
        "case gradient-1000",
    ]
    assert axis.get_ylabel() == "time of a call [ms]"
    assert axis.lines[0].get_ydata().tolist() == [1000.0 * 0.5**at for at in range(6)]


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, str]:
    """Give empty documents, as options of the command line."""
    blocks = {"readme": ["bench"], "document": ["stages", "calls"]}
    for name, marks in blocks.items():
        lines = [f"<!-- {mark}:begin -->\n<!-- {mark}:end -->\n" for mark in marks]
        (tmp_path / name).write_text("".join(lines))
    return {f"--{name}": str(tmp_path / name) for name in blocks} | {"--pictures": str(tmp_path)}


def test_documents_are_filled_from_a_record(documents: dict[str, str], tmp_path: Path) -> None:
    found = plain(*calls_table.README_CASES)
    staged_cases = {case.name: case for case in made(*stages.CASES).cases}
    found = replace(found, cases=[staged_cases.get(case.name, case) for case in found.cases])
    found.write(tmp_path / "run.json")
    words = [word for pair in documents.items() for word in pair]
    assert staged.main(["--from", str(tmp_path / "run.json"), *words]) == 0
    readme, document = (Path(documents[key]).read_text() for key in ("--readme", "--document"))
    assert calls_table.few(found).strip() in readme
    assert stages_table.text(found).strip() in document
    assert calls_table.every(found).strip() in document
    assert {path.name for path in tmp_path.glob("*.svg")} == {"calls.svg", "stages.svg"}


def test_the_picture_of_calls_has_no_stages() -> None:
    (case,) = staged.without_stages(made("scalars-1")).cases
    assert tuple(case.results) == (STOCK, PATCHED, NATIVE, RAW)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--from", "absent.json"], "staged.py: cannot read absent.json: No such file"),
        (["--readme", "absent.md"], "staged.py: cannot change absent.md: No such file"),
        (["--document", "empty.md"], "staged.py: empty.md: there are no lines <!-- stages:begin"),
        (["--pictures", "absent"], "staged.py: there is no folder absent"),
        (["--json", "absent/run.json"], "staged.py: cannot write absent/run.json: No such file"),
        (["--cases", "scalars-7"], "staged.py: there is no case 'scalars-7'"),
        (
            ["--readme", "full.md", "--cases", "scalars"],
            "staged.py: the table needs doubles-250000",
        ),
    ],
)
def test_what_can_be_refused_is_refused_before_measuring(
    words: list[str], error: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.md").write_text("")
    (tmp_path / "full.md").write_text("<!-- bench:begin -->\n<!-- bench:end -->\n")
    monkeypatch.setattr(staged, "measure", lambda *_: pytest.fail("it has measured"))
    assert staged.main(words) == 1
    said = capsys.readouterr().err
    assert said.startswith(error)
    assert said.count("\n") == 1


def test_pictures_need_matplotlib(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert staged.main(["--pictures", str(tmp_path)]) == 1
    assert "pip install 'philote-fast[plot]'" in capsys.readouterr().err
