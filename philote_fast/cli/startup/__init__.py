"""A folder for ``PYTHONPATH``, with what a fresh interpreter runs first."""
