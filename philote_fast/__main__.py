"""``python -m philote_fast`` is the command ``philote-fast``."""

from philote_fast.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
