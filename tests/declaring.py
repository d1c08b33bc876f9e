"""Runs a case of declaring variables on stock and patched, and compares."""

from philote_mdo.general import Discipline

import philote_fast


def outcome(case):
    """What a case does to a discipline: its metadata, or the error's class, text and cause."""
    discipline = Discipline()
    try:
        case(discipline)
        error = None
    except Exception as caught:
        error = (type(caught), str(caught))
    return error, lists(discipline)


def lists(discipline):
    return [
        [m.SerializeToString(deterministic=True) for m in variables]
        for variables in (discipline._var_meta, discipline._discrete_var_meta)
    ]


def agree(case):
    """Run a case on both; return the common outcome."""
    philote_fast.uninstall()
    try:
        stock = outcome(case)
    finally:
        philote_fast.install()
    assert outcome(case) == stock
    return stock
