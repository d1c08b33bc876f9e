"""The harness itself: what it starts ends, what it computes and writes is right."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from gains import blocks, render
from gains.cases import all_cases
from gains.children import Server, Worker, running
from gains.compare import judge
from gains.flavours import NATIVE, PATCHED, STOCK, flavoured, server_flavour
from gains.memory import NATURAL
from gains.model import BYTES, Target
from gains.subjects import SUBJECTS, make
from gains.subjects.peak import forget_peak, kilobytes

import philote_fast
from philote_fast.bench import machine
from philote_fast.bench.errors import BenchError

FASTER = judge(Target("a", "b", at_least=3), {"a": [1.0, 2.0, 1.0], "b": [4.0, 4.0, 4.0]})
SLOWER = judge(Target("a", "b", at_most=1.2), {"a": [1.3], "b": [1.0]})


def test_every_side_names_a_subject_and_every_target_its_sides() -> None:
    cases = all_cases()
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert all(side.subject in SUBJECTS for side in case.sides.values())
        assert {t.ours for t in case.targets} | {t.against for t in case.targets} <= set(case.sides)


def test_ratios_go_the_way_that_the_target_says() -> None:
    assert (FASTER.ratio, FASTER.low, FASTER.high, FASTER.met) == (4.0, 2.0, 4.0, True)
    assert (SLOWER.ratio, SLOWER.met) == (1.3, False)
    assert judge(Target("a", "b"), {"a": [1.0], "b": [2.0]}).met is None


def test_bytes_are_written_as_bytes() -> None:
    outcome = judge(Target("a", "b", at_most=0.5), {"a": [3e7], "b": [2e8]}, BYTES)
    table = render.markdown({"vast": [outcome]}, machine.describe())
    assert "| a: 30 MB | b: 200 MB | 0.15 times the memory | at most 0.5 | met |" in table


def test_the_block_of_a_document_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    others = "<!-- others:begin -->\nkept\n<!-- others:end -->"
    path.write_text(f"head\n<!-- ours:begin -->\nold\n<!-- ours:end -->\n{others}\ntail\n")
    blocks.check(path, "ours", "others")
    blocks.fill(path, {"ours": "new and longer"})
    once = path.read_text()
    expected = "<!-- ours:begin -->\n\nnew and longer\n\n<!-- ours:end -->"
    assert once == f"head\n{expected}\n{others}\ntail\n"
    blocks.fill(path, {"ours": "new and longer"})
    assert path.read_text() == once
    blocks.fill(path, {"ours": ""})
    assert "new" not in path.read_text()


def test_a_document_without_the_block_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    path.write_text("<!-- ours:begin -->\nnever ended\n")
    for refused in (blocks.check, lambda path, name: blocks.fill(path, {name: "new"})):
        with pytest.raises(BenchError, match=r"document\.md: there are no lines <!-- ours:begin"):
            refused(path, "ours")
    assert path.read_text() == "<!-- ours:begin -->\nnever ended\n"
    with pytest.raises(BenchError, match=r"cannot change .*absent\.md: No such file"):
        blocks.check(tmp_path / "absent.md", "ours")


def test_the_table_names_what_is_missed() -> None:
    results = {"fast": [FASTER], "slow": [SLOWER]}
    table = render.markdown(results, machine.describe())
    assert "| fast | a: 1 s | b: 4 s | 4x faster | at least 3 | met |" in table
    assert render.missed(results) == ["slow: a against b: 1.3 times the time, at most 1.2"]


def test_a_server_ends_when_it_is_closed() -> None:
    with Server(STOCK, "echo", 1) as server:
        assert server.running
    assert not server.running


def test_a_worker_times_what_it_prepared_and_tells_of_errors() -> None:
    with Worker(STOCK, STOCK, NATURAL) as worker:
        assert worker.ask(do="prepare", subject="chunk_indices", size=2) > 0
        assert worker.ask(do="time", subject="chunk_indices", size=2) > 0.0
        with pytest.raises(BenchError, match="KeyError"):
            worker.ask(do="time", subject="chunk_indices", size=3)
    assert not worker.running


def test_a_call_has_two_flavours() -> None:
    stock = grpc.server
    with flavoured(NATIVE, STOCK):
        assert philote_fast.installed()
        assert server_flavour() == STOCK
        assert grpc.server is philote_fast.server
    with flavoured(PATCHED):
        assert server_flavour() == PATCHED
        assert grpc.server is stock
    assert grpc.server is stock


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("raw.scalars", 3),
        ("raw.echo", 250_000),
        ("zeromq.scalars", 3),
        ("flight.echo", 1000),
        ("call.threads", 4),
    ],
)
def test_what_the_calls_are_compared_with(name: str, size: int) -> None:
    subject = make(name, size)
    assert len(running()) == 1
    try:
        for _ in range(2):
            subject.check(subject.run())
        with pytest.raises((AssertionError, TypeError)):
            subject.check([None])
    finally:
        subject.close()
    assert running() == []


@pytest.mark.parametrize("side", ["peak.client", "peak.server"])
def test_the_peak_of_a_call_is_found(side: str) -> None:
    subject = make(side, 1_000_000)
    try:
        # Stock boxes the doubles of a message, so that it takes something on each side.
        assert 0 < subject.run() < 1e9
    finally:
        subject.close()


def test_a_peak_is_noticed_after_it_has_gone() -> None:
    before = forget_peak("self")
    block = bytearray(50_000_000)
    block[::4096] = b"x" * len(block[::4096])
    del block
    assert kilobytes("self", "VmHWM") * 1024 - before > 45_000_000
    assert forget_peak("self") - before < 25_000_000
