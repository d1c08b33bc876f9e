"""Whether large results take memory from the system or memory used before.

A page that a process touches for the first time costs more than filling it. The allocator decides
by its own history which memory a result gets, so that two runs of one benchmark may differ by ten
times; a comparison has to say which it means.
"""

from __future__ import annotations

import ctypes

FRESH = "fresh"
USED = "used"
# As the allocator likes: for whole calls, as a user has them.
NATURAL = "natural"

# Parameters of glibc's mallopt, and the largest threshold that it takes.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
SMALL = 1 << 16
LARGE = 32 << 20
NEVER = 1 << 30


def choose(memory: str) -> None:
    """Make this process take its large blocks as named, where the allocator can be told."""
    if memory == NATURAL:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    # A block over the threshold comes from the system and goes back to it when it is freed.
    mallopt(M_MMAP_THRESHOLD, SMALL if memory == FRESH else LARGE)
    mallopt(M_TRIM_THRESHOLD, NEVER)
