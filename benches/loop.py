"""Run one subject over and over, for a profiler to look at.

``python benches/loop.py call.scalars 1000 --flavour native`` calls until Ctrl-C, or for as long as
``--seconds`` says. It tells the processes of the client and of the server, and every two seconds
how long one call takes.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import suppress

from gains import children
from gains.flavours import FLAVOURS, NATIVE, flavoured
from gains.subjects import SUBJECTS, make

from philote_fast.bench.timing import Subject

REPORT_SECONDS = 2.0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python benches/loop.py")
    parser.add_argument("subject", choices=SUBJECTS, metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("size", type=int, metavar="SIZE", help="of what, the subject says")
    parser.add_argument("--flavour", choices=FLAVOURS, default=NATIVE)
    parser.add_argument("--server", choices=FLAVOURS, help="of the server, if it is another")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S")
    return parser.parse_args()


def loop(subject: Subject, seconds: float) -> None:
    """Run a subject, and tell the time of each run, until the seconds are over."""
    subject.check(subject.run())
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        runs = 0
        result = None
        while (now := time.perf_counter()) - start < REPORT_SECONDS and now < end:
            result = subject.run()
            runs += 1
        if runs:
            subject.check(result)
            print(f"{(now - start) / runs * 1e6:,.1f} us", flush=True)


def main() -> None:
    """Run what the command line asks for."""
    options = arguments()
    with flavoured(options.flavour, options.server):
        subject = make(options.subject, options.size)
        servers = ", ".join(str(pid) for pid in children.running())
        print(f"client {os.getpid()}, server {servers or 'none'}", flush=True)
        try:
            with suppress(KeyboardInterrupt):
                loop(subject, options.seconds)
        finally:
            subject.close()


if __name__ == "__main__":
    main()
