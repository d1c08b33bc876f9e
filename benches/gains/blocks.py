"""The blocks of a document that scripts fill, between two marks, and the tables in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from philote_fast.bench.errors import BenchError


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def into(document: str, name: str, block: str) -> str:
    """Put a block into a document, in the place of what stands between its marks."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, begun, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise BenchError(f"there are no lines {begin} and {end}")
    return f"{before}{begin}\n\n{block.strip()}\n\n{end}{after}"


def check(path: Path, *names: str) -> None:
    """Raise unless a document can be changed and has some blocks: before any are made."""
    fill(path, dict.fromkeys(names), dry=True)


def fill(path: Path, blocks: dict[str, str | None], *, dry: bool = False) -> None:
    """Put blocks into a document by their names."""
    try:
        with path.open("r+", encoding="utf-8") as file:
            document = file.read()
            for name, block in blocks.items():
                document = into(document, name, block or "")
            if not dry:
                file.seek(0)
                file.truncate()
                file.write(document)
    except OSError as error:
        raise BenchError(f"cannot change {path}: {error.strerror}") from error
    except BenchError as error:
        raise BenchError(f"{path}: {error}") from error
