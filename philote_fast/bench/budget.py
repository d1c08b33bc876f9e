"""How a run's time is spent."""

from __future__ import annotations

import time

# Whole runs, with the start of processes, take a little longer: a minute, and five.
QUICK_SECONDS = 38.0
SECONDS = 250.0
# One measurement alone; more would show nothing new.
QUICK_MOST_SECONDS, MOST_SECONDS = 4.0, 15.0
# Quartiles need some samples, however long these take; many more tell nothing new.
FEWEST_ROUNDS, MOST_ROUNDS = 3, 40


def budget(quick: bool, measurements: int, seconds: float | None = None) -> Budget:
    """Give the budget of a run.

    Parameters
    ----------
    quick : bool
        Whether it is to take less than a minute.
    measurements : int
        How many measurements it has.
    seconds : float, optional
        What all of them may take, where a user has said so.
    """
    if seconds is not None:
        return Budget(seconds, measurements, seconds)
    if quick:
        return Budget(QUICK_SECONDS, measurements, QUICK_MOST_SECONDS)
    return Budget(SECONDS, measurements, MOST_SECONDS)


class Budget:
    """Shares the time that is left between the measurements that are left.

    Parameters
    ----------
    seconds : float
        What all measurements may take.
    measurements : int
        How many there are.
    most : float
        What one of them may take.
    """

    def __init__(self, seconds: float, measurements: int, most: float) -> None:
        self._deadline = time.perf_counter() + seconds
        self._most = most
        self._left = measurements
        self._end = 0.0

    def begin(self) -> None:
        """Begin the next measurement."""
        now = time.perf_counter()
        self._end = now + min(self._most, max(0.0, self._deadline - now) / max(1, self._left))
        self._left -= 1

    def goes_on(self, rounds: int) -> bool:
        """Say whether another round is to follow so many."""
        if rounds < FEWEST_ROUNDS:
            return True
        return rounds < MOST_ROUNDS and time.perf_counter() < self._end
