"""Where a call over grpcio's own channel may be interrupted."""

import pytest

_POINTS = [
    *(("operate", count) for count in (1, 2, 3, 40)),
    *(("next_event", count) for count in (1, 2, 40)),
]


def at_any_point(test):
    """Give a test the method that is interrupted, at which of its calls, and whether after it."""
    test = pytest.mark.parametrize(("method", "at"), _POINTS)(test)
    return pytest.mark.parametrize("after", [False, True])(test)
