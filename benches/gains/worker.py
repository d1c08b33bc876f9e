"""A measuring process: ``python -m gains.worker FLAVOUR SERVER_FLAVOUR MEMORY``.

Requests come as lines of JSON on standard input and are answered on standard output, until the
input closes: ``{"do": "prepare", "subject": NAME, "size": N}`` gives how many runs make a sample,
``{"do": "time", "subject": NAME, "size": N}`` times one sample and gives its seconds for each item.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import ExitStack
from typing import Any

from gains import memory
from gains.flavours import flavoured
from gains.subjects import make
from gains.timing import Subject, calibrate, sample


class Bench:
    """The subjects that have been prepared in this process."""

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
        return sample(*self.subjects[subject, size])


def answer(bench: Bench, line: str) -> dict[str, Any]:
    """Do what a request asks for."""
    request = json.loads(line)
    do = {"prepare": bench.prepare, "time": bench.time}[request.pop("do")]
    try:
        return {"result": do(**request)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Answer requests until there are no more."""
    # Whatever else writes to standard output must not garble the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    flavour, server_flavour, kind_of_memory = sys.argv[1:]
    memory.choose(kind_of_memory)
    bench = Bench()
    with flavoured(flavour, server_flavour), bench.stack:
        for line in sys.stdin:
            print(json.dumps(answer(bench, line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
