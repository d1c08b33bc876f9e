"""What is counted is what callgrind says, and each place belongs to a layer."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import profiles
import pytest
from gains import callgrind, layers, shares, shares_table
from gains.callgrind import Where, counted
from gains.children import running
from gains.shares import CLIENT, SERVER, Pair, Share

from philote_fast.bench import machine
from philote_fast.bench.cases import Case
from philote_fast.bench.errors import BenchError
from philote_fast.bench.flavours import NATIVE

CASE = Case("scalars-2", "scalars", 2, "2 scalars in, 2 out", "scalars", "scalars")

OUTPUT = """\
# callgrind format
version: 1
events: Ir

ob=(1) /usr/lib/libpython3.11.so.1.0
fl=(1) /src/ceval.c
fn=(1) eval
10 5
+2 6
cob=(2) /site/_core.cpython-311-x86_64-linux-gnu.so
cfi=(2) /build/src/table/inbox.rs
cfn=(2) _core::table::inbox::Inbox::place
calls=3 40
12 1000
* 1

ob=(2)
fl=(2)
fn=(2)
40 7
fi=(3) /rustc/abc/library/core/src/slice/mod.rs
50 8
fe=(2)
-1 9
cob=(3) /usr/lib/libc.so.6
cfn=(3) __memcpy_avx_unaligned_erms
calls=1 0
60 500

ob=(3)
fl=(4) ???
fn=(3)
0 11

fn=(1)
totals: 47
"""

PYTHON, CORE, LIBC = (
    "/usr/lib/libpython3.11.so.1.0",
    "/site/_core.cpython-311-x86_64-linux-gnu.so",
    "/usr/lib/libc.so.6",
)
PLACE = "_core::table::inbox::Inbox::place"


def test_what_a_place_itself_costs() -> None:
    assert counted(OUTPUT.splitlines(keepends=True)) == {
        Where(PYTHON, "eval", "/src/ceval.c"): 12,
        Where(CORE, PLACE, "/build/src/table/inbox.rs"): 16,
        Where(CORE, PLACE, "/rustc/abc/library/core/src/slice/mod.rs"): 8,
        Where(LIBC, "__memcpy_avx_unaligned_erms", "???"): 11,
    }


CRATES = "/home/user/.cargo/registry/src/index.crates.io-0123456789abcdef"


@pytest.mark.parametrize(
    ("where", "layer"),
    [
        (Where(PYTHON, "_PyEval_EvalFrameDefault", "ceval.c"), layers.PYTHON),
        (Where("/usr/bin/python3.11", "dict_get", "???"), layers.PYTHON),
        (Where("/x/_struct.cpython-311-x86_64-linux-gnu.so", "pack", "???"), layers.PYTHON),
        (Where("/x/_multiarray_umath.cpython-311-x86_64.so", "f", "???"), layers.NUMPY),
        (Where("/x/cygrpc.cpython-311-x86_64-linux-gnu.so", "f", "???"), layers.GRPCIO),
        (Where("/x/google/_upb/_message.abi3.so", "upb_Decode", "???"), layers.PROTOBUF),
        (Where(LIBC, "__memmove_avx_unaligned_erms", "???"), layers.COPYING),
        (Where(LIBC, "__memcmp_avx2_movbe", "???"), layers.METADATA),
        (Where(LIBC, "_int_malloc", "malloc.c"), layers.MEMORY),
        (Where(LIBC, "epoll_wait", "???"), layers.HTTP2),
        (Where(LIBC, "strlen", "???"), layers.OTHER),
        (Where("", "???", "???"), layers.OTHER),
        (Where(CORE, PLACE, "/build/src/table/inbox.rs"), layers.METADATA),
        (Where(CORE, PLACE, "/build/src/wire/varint.rs"), layers.CODEC),
        (Where(CORE, PLACE, "/build/src/python/fresh.rs"), layers.NUMPY),
        (Where(CORE, PLACE, "/build/src/python/transport/call.rs"), layers.HTTP2),
        (Where(CORE, PLACE, "/build/src/transport/framing/reader.rs"), layers.CODEC),
        # Of the standard library: what it is inlined in tells.
        (Where(CORE, PLACE, "/rustc/a/library/core/src/slice.rs"), layers.METADATA),
        (
            Where(CORE, "<_core::transport::link::Link as core::Drop>::drop", "/rustc/a/x.rs"),
            layers.HTTP2,
        ),
        (Where(CORE, "h2::proto::streams::send", "/rustc/a/library/x.rs"), layers.HTTP2),
        (Where(CORE, "core::ptr::drop_in_place", "/rustc/a/library/x.rs"), layers.OTHER),
        (Where(CORE, PLACE, f"{CRATES}/h2-0.4.12/src/frame/data.rs"), layers.HTTP2),
        (Where(CORE, PLACE, f"{CRATES}/hashbrown-0.15.0/src/raw.rs"), layers.METADATA),
        (Where(CORE, PLACE, f"{CRATES}/pyo3-0.30.0/src/instance.rs"), layers.PYTHON),
    ],
)
def test_layers(where: Where, layer: str) -> None:
    assert layers.layer(where) == layer
    assert layer in layers.LAYERS


def test_an_extension_without_names_is_refused() -> None:
    layers.require_symbols(Counter({Where(CORE, "f", "/build/src/wire/array.rs"): 1}))
    layers.require_symbols(Counter({Where(PYTHON, "f", "???"): 1}))
    with pytest.raises(BenchError, match="CARGO_PROFILE_RELEASE_STRIP=none maturin develop"):
        layers.require_symbols(Counter({Where(CORE, "0x000000000001234", "???"): 1}))


def share(seconds: float, client: tuple[float, float]) -> Share:
    return Share(
        seconds,
        {CLIENT: client, SERVER: (0.1, 0.2)},
        {
            CLIENT: Counter({layers.PYTHON: 995, layers.COPYING: 5}),
            SERVER: Counter({layers.CODEC: 3}),
        },
    )


def test_the_tables() -> None:
    found = {
        "stock": {CASE.name: share(1.0, (0.5, 0.7))},
        NATIVE: {CASE.name: share(1.0, (0.2, 0.3))},
    }
    lines = shares_table.text(found, [CASE], machine.describe()).splitlines()
    times = "100 ms | 200 ms"
    assert (
        f"| {CASE.title} | stock | 1 s | 500 ms | 700 ms | {times} | never: its threads overlap |"
        in lines
    )
    assert f"| {CASE.title} | native | 1 s | 200 ms | 300 ms | {times} | 50% |" in lines
    assert "| Python | 100% |  | 100% |  |" in lines
    assert "| copying | < 1% |  | < 1% |  |" in lines
    assert "| instructions of a call | 1,000 | 3 | 1,000 | 3 |" in lines


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--cases", "scalars-7"], "there is no case 'scalars-7'"),
        (["--flavours", "fast"], "there is no flavour 'fast'"),
        (["--document", "absent.md"], "cannot change absent.md"),
    ],
)
def test_bad_input(words: list[str], error: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(callgrind, "need", lambda: None)
    monkeypatch.setattr(shares, "measure", lambda *_: pytest.fail("it has measured"))
    assert profiles.main(words) == 1
    assert error in capsys.readouterr().err


def test_what_to_install_is_told(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("PATH", "")
    assert profiles.main([]) == 1
    said = capsys.readouterr().err
    assert said == (
        "profiles.py: valgrind and callgrind_control not found: "
        "install Valgrind (apt-get install valgrind)\n"
    )


def test_a_process_that_does_not_start_leaves_nothing_behind() -> None:
    with pytest.raises(BenchError, match="No module named 'absent'"), Pair("absent:become"):
        pass
    assert running() == []


def test_times_of_both_sides() -> None:
    with Pair(NATIVE) as pair:
        pair.prepare(CASE)
        before = {side: sum(pair.used(side)) for side in (CLIENT, SERVER)}
        # Ticks of the accounts are milliseconds.
        while any(sum(pair.used(side)) - before[side] < 0.02 for side in before):
            assert pair.repeat(200) > 0.0


needs_valgrind = pytest.mark.skipif(
    shutil.which("callgrind_control") is None, reason="Valgrind is not installed"
)


@needs_valgrind
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_instructions_of_real_calls(side: str, tmp_path: Path) -> None:
    try:
        with Pair(NATIVE, side, tmp_path) as pair:
            pair.prepare(CASE)
            few, many = pair.counted(side, 2), pair.counted(side, 20)
    except BenchError as error:
        # As it is installed, the extension has no names.
        assert "the extension has no names" in str(error)  # noqa: PT017
        return
    for layer in (layers.PYTHON, layers.METADATA, layers.CODEC, layers.HTTP2):
        assert many[layer] > 0
    # For each call, however many there are: the two differ by what a request of the parent takes.
    assert sum(many.values()) < sum(few.values()) < 20 * sum(many.values())
