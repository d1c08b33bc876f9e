"""The one error that the command reports in a line."""

from __future__ import annotations


class BenchError(Exception):
    """The benchmark cannot be carried out; the text is all that a user needs.

    Parameters
    ----------
    text : str
        What is wrong, in one line.
    trace : str, optional
        The traceback of the process where it happened, for ``--debug``.
    """

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(" ".join(text.split()))
        self.trace = trace
