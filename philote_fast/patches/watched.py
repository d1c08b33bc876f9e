"""Lists of metadata that count how often somebody could have come by one of their elements.

Whoever wants to know whether metadata still says what it said need not read all of it again where
nobody else holds an element, and nobody has been given one since: see ``Tables`` in ``_core``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

from philote_fast._core import Touches


class Watched(list[Any]):
    """A list like any other, pickled and copied as one."""

    __slots__ = ("_touches",)

    _touches: Touches

    def __new__(cls, items: Any = ()) -> Watched:  # noqa: D102  as a list is made
        self = super().__new__(cls)
        self._touches = Touches()
        return self

    @property
    def touches(self) -> int:
        """How often an element was given away, or the list changed; counted before and after."""
        return self._touches.count

    # Counted at each step, and not by index: that takes twenty times as long, and stock's own code
    # walks through the lists, for each partial at that.
    def __iter__(self) -> Iterator[Any]:
        return self._touches.walk(super().__iter__())

    def __reversed__(self) -> Iterator[Any]:
        return self._touches.walk(super().__reversed__())

    def __add__(self, other: Any) -> Any:
        return self[:] + other

    # Else a list on the left would take the elements past all that counts.
    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (list(self),)


def _counting(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def counted(self: Watched, *args: Any, **kwargs: Any) -> Any:
        self._touches.add()
        try:
            return method(self, *args, **kwargs)
        finally:
            self._touches.add()

    return counted


# All that gives an element away, changes the list, or has Python code run with an element.
_NAMES = """
__contains__ __delitem__ __eq__ __ge__ __getitem__ __gt__ __iadd__ __imul__ __init__ __le__
__lt__ __mul__ __ne__ __repr__ __rmul__ __setitem__ append clear copy count extend index insert pop
remove reverse sort
"""
for _name in _NAMES.split():
    setattr(Watched, _name, _counting(getattr(list, _name)))
