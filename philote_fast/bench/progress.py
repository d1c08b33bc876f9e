"""What is seen on standard error while a run is under way."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

from philote_fast.bench.figures import duration


class Progress:
    """A line that lives on a terminal; elsewhere one line for each measurement.

    Parameters
    ----------
    total : int
        How many measurements there will be.
    stream : file, optional
        Where to write.
    """

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._total = total
        self._done = 0
        self._head = ""

    def begin(self, name: str) -> None:
        """Tell what is measured next."""
        self._done += 1
        width = len(str(self._total))
        self._head = f"[{self._done:>{width}}/{self._total}] {name}"
        self._write(self._fitting(self._head) if self._live else self._head, stays=not self._live)

    def round(self, number: int, seconds: dict[str, float]) -> None:
        """Tell the times of a round."""
        if self._live:
            times = ", ".join(f"{name} {duration(value)}" for name, value in seconds.items())
            self._write(self._fitting(f"{self._head}: round {number}: {times}"), stays=False)

    def note(self, text: str) -> None:
        """Tell something that is to stay."""
        self._write(text, stays=True)

    def end(self) -> None:
        """Leave the line empty for what follows."""
        if self._live:
            self._stream.write("\r\033[K")
            self._stream.flush()

    @staticmethod
    def _fitting(text: str) -> str:
        """Cut a line to the terminal: one that wraps is not cleared by the next."""
        return text[: shutil.get_terminal_size().columns - 1]

    def _write(self, text: str, stays: bool) -> None:
        begin = "\r\033[K" if self._live else ""
        self._stream.write(f"{begin}{text}" + ("\n" if stays else ""))
        self._stream.flush()
