"""What philote_fast gains, measured against stock philote-mdo and against a pure-Python rival."""
