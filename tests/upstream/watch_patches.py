"""A pytest plugin for philote-mdo's own tests: imports philote_fast, and reports what it did.

``WATCH_PATCHES`` is "first" (before philote_mdo), "last" (after every test module, whose names are
bound by then), "never" or "run" (by ``philote-fast run``, before anything else);
``WATCH_REPORT`` is the file to which the report goes, with what is patched and how many channels
and servers each package made; and ``WATCH_DESELECT`` lists the tests to leave out, by their whole
names: pytest's own ``--deselect`` takes every test whose name begins so.
"""

import collections
import json
import os
import sys
from pathlib import Path

import grpc

_WHEN = os.environ["WATCH_PATCHES"]
_REPORT = Path(os.environ["WATCH_REPORT"])

if _WHEN == "first":
    assert "philote_mdo" not in sys.modules
    import philote_fast  # noqa: F401
elif _WHEN == "run":
    assert "philote_fast" in sys.modules

_made = collections.Counter()


def _count(kind, base):
    """Count the instances of a class of grpc by the package that they come from."""
    made = base.__new__

    def new(cls, *arguments, **keywords):
        _made[f"{kind} of {cls.__module__.partition('.')[0]}"] += 1
        return made(cls)

    base.__new__ = new


_count("channels", grpc.Channel)
_count("servers", grpc.Server)


def pytest_collection_modifyitems(config, items):
    left_out = json.loads(os.environ["WATCH_DESELECT"])
    chosen = [item for item in items if item.nodeid not in left_out]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_collection_finish(session):
    if _WHEN == "last":
        assert "philote_mdo" in sys.modules
        assert "philote_fast" not in sys.modules
        import philote_fast  # noqa: F401


def pytest_sessionfinish(session):
    philote_fast = sys.modules.get("philote_fast")
    rows = list(philote_fast.status()) if philote_fast else []
    _REPORT.write_text(
        json.dumps(
            {
                "imported": philote_fast is not None,
                "patched": len(rows),
                "stock": [str(row) for row in rows if row.state != "fast"],
                "made": dict(_made),
            }
        )
    )
