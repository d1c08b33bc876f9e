"""Fetches philote-mdo's own test suite, and runs it with and without philote_fast."""
