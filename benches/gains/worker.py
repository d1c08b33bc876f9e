"""A measuring process: ``python -m gains.worker FLAVOUR SERVER_FLAVOUR MEMORY``."""

from __future__ import annotations

import gc
import sys
from contextlib import ExitStack

from gains import memory
from gains.flavours import flavoured
from gains.subjects import make
from philote_fast.bench.answering import answer_parent
from philote_fast.bench.timing import Subject, calibrate, sample


class Bench:
    """The subjects that have been prepared in this process; the parent asks for its methods."""

    def __init__(self) -> None:
        self.subjects: dict[tuple[str, int], tuple[Subject, int]] = {}
        self.stack = ExitStack()

    def prepare(self, subject: str, size: int) -> int:
        """Make a subject ready and find how many runs make a sample."""
        made = make(subject, size)
        self.stack.callback(made.close)
        loops = calibrate(made)
        # What lives now lives to the end: the collector need not walk it in every sample.
        gc.collect()
        gc.freeze()
        self.subjects[subject, size] = made, loops
        return loops

    def time(self, subject: str, size: int) -> float:
        """Time one sample."""
        return sample(*self.subjects[subject, size]).seconds

    def close(self) -> None:
        """Give everything back."""
        self.stack.close()


def main() -> None:
    """Answer requests until there are no more."""
    flavour, server_flavour, kind_of_memory = sys.argv[1:]
    memory.choose(kind_of_memory)
    with flavoured(flavour, server_flavour):
        answer_parent(Bench)


if __name__ == "__main__":
    main()
