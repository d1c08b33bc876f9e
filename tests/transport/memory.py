"""What a process holds."""

import contextlib
import gc
import sys

import pytest


def resident():
    """The memory that this process holds, in bytes."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@contextlib.contextmanager
def grown_by():
    """Give a function that tells, afterwards, by how many bytes the process has grown."""
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    gc.collect()
    before = resident()
    after = []

    def grown():
        return after[0] - before

    yield grown
    after.append(resident())
