"""A process of one flavour that serves or calls, as its parent asks; `Agent` has what it can do."""

from __future__ import annotations

import gc
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import grpc

from philote_fast.bench import answering, flavours, serving
from philote_fast.bench.counting import Counter
from philote_fast.bench.errors import BenchError
from philote_fast.bench.subjects import make, own, rivals
from philote_fast.bench.timing import Subject, calibrate, sample
from philote_fast.bench.values import digest, digests

# A call that takes longer finds the caches as it leaves them itself.
_LONG_SECONDS = 0.05
# A server on this machine answers in milliseconds, one behind a tunnel in a second.
REACH_SECONDS = 5.0


class Agent:
    """What a process serves and has prepared. Its public methods are what the parent asks for."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._subjects: dict[str, tuple[Subject, int, bool]] = {}
        self._first: dict[str, str] = {}
        self._answers: dict[str, Any] = {}

    def serve(self, discipline: str, size: int, directory: str = "") -> int:
        """Serve a discipline of this package's, or a user's own as ``module:Class``."""
        if directory:
            made = serving.own(discipline, directory)
        else:
            made = serving.built_in(discipline, size)
        port, close = serving.serve(made)
        self._stack.callback(close)
        return port

    def serve_rival(self, rival: str, exchanges: Any) -> int:
        """Serve another library."""
        port, close = rivals.serve(rival, exchanges)
        self._stack.callback(close)
        return port

    def reach(self, address: str) -> None:
        """Wait until a server can be reached."""
        with grpc.insecure_channel(address) as channel:
            try:
                grpc.channel_ready_future(channel).result(REACH_SECONDS)
            except grpc.FutureTimeoutError:
                text = f"no gRPC server answers at {address} within {REACH_SECONDS:g} s"
                raise BenchError(text) from None

    def inspect(self, address: str) -> dict[str, Any]:
        """Set the discipline of a server up, and tell what it has."""
        with grpc.insecure_channel(address) as channel:
            return own.inspect(channel)._asdict()

    def count(self, subject: str, size: int, address: str) -> dict[str, Any]:
        """Make one call whose messages are counted."""
        counter = Counter()
        with grpc.insecure_channel(address) as channel:
            made = make(subject, counter.channel(channel), size)
            made.before()
            # What it took to make the client ready is no part of a call.
            counter.exchanges.clear()
            answer = made.run()
            exchanges = [asdict(exchange) for exchange in counter.exchanges]
            made.check(answer)
            told = {"exchanges": exchanges, "answer": digest(answer)}
            made.close()
        return told

    def prepare(
        self, key: str, subject: str, size: int, address: str, seconds: float
    ) -> dict[str, Any]:
        """Make a subject ready, under a key, and find how many calls make a sample."""
        channel = self._stack.enter_context(grpc.insecure_channel(address))
        return self._prepare(key, make(subject, channel, size), seconds)

    def prepare_rival(
        self,
        key: str,
        rival: str,
        subject: str,
        size: int,
        address: str,
        seconds: float,
        exchanges: Any,
    ) -> dict[str, Any]:
        """Make a rival's subject ready, as `prepare` does."""
        made = rivals.call(rival, address, subject, size, exchanges)
        return self._prepare(key, made, seconds)

    def sample(self, key: str) -> dict[str, Any]:
        """Take one sample; `same` tells whether the answer was the first one again."""
        subject, loops, long = self._subjects[key]
        taken = sample(subject, loops, long=long)
        same = not subject.repeats or digest(taken.answer) == self._first[key]
        return {"seconds": taken.seconds, "same": same}

    def details(self, key: str) -> dict[str, str]:
        """Give a digest of each value of the first answer."""
        return digests(self._answers[key])

    def close(self) -> None:
        """Forget what was prepared, and serve no more."""
        for kept in (self._subjects, self._first, self._answers):
            kept.clear()
        self._stack.close()
        gc.unfreeze()
        gc.collect()

    def _prepare(self, key: str, subject: Subject, seconds: float) -> dict[str, Any]:
        self._stack.callback(subject.close)
        subject.before()
        start = time.perf_counter()
        answer = subject.run()
        taken = time.perf_counter() - start
        subject.check(answer)
        self._answers[key] = answer
        self._first[key] = digest(answer)
        long = taken >= _LONG_SECONDS
        loops = 1 if long else calibrate(subject, seconds)
        # What lives now lives to the end: the collector need not walk it in every sample.
        gc.collect()
        gc.freeze()
        self._subjects[key] = subject, loops, long
        return {"calls": loops * subject.items, "seconds": taken, "answer": self._first[key]}


def main() -> None:
    """Become what the command line says, and do what is asked."""
    answering.answer_parent(_made)


def _made() -> Agent:
    flavours.become(sys.argv[1])
    return Agent()


if __name__ == "__main__":
    main()
