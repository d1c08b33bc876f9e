"""A folder for ``PYTHONPATH``, with what a fresh interpreter runs first."""

#: In the environment where the script's process is to print its counts at the end.
STATS = "PHILOTE_FAST_RUN_STATS"
