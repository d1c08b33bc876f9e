"""An agent that can be profiled: ``python -m gains.profiled FLAVOUR``, under a profiler or not."""

from __future__ import annotations

import resource
import sys
import time

from philote_fast.bench import answering, flavours
from philote_fast.bench.agent import Agent


class Profiled(Agent):
    """An agent that makes calls, and nothing else, when it is asked to."""

    def repeat(self, key: str, calls: int) -> float:
        """Make calls of a subject that is prepared; give the seconds that they take in all."""
        run = self._subjects[key][0].run
        start = time.perf_counter()
        for _ in range(calls):
            run()
        return time.perf_counter() - start

    def used(self) -> tuple[float, float]:
        """Give the seconds of processor that this process has had: its own, and the kernel's."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime, used.ru_stime


def _made() -> Profiled:
    flavours.become(sys.argv[1])
    return Profiled()


if __name__ == "__main__":
    answering.answer_parent(_made)
