"""Figures as people read them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Write a time with three digits and a fitting unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def number(value: float) -> str:
    """Write a ratio."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def significant(value: float) -> str:
    """Write a figure with three digits, all before the point, and a comma for the thousands."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
