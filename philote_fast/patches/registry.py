"""What is replaced, by what, and whether it may be: the groups of patches and their checks.

A group is the unit of safety: either all of its patches apply or none does, because functions that
were written to work together must not be mixed with stock functions that were not.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from philote_fast import _core

F = TypeVar("F", bound=Callable[..., Any])

#: Every group, in the order in which the patch modules created them.
GROUPS: list[Group] = []

#: What a look-up gives where there is nothing.
MISSING: Any = object()

#: Name of each replacement by the replacement's identity. The patches keep the functions alive, so
#: that an identity is never used again.
NAMES: dict[int, str] = {}

_FALLBACKS: dict[tuple[str, str], int] = {}
_FALLBACKS_LOCK = threading.Lock()
_FALLBACKS_LIMIT = 256


class Patch:
    """One attribute of philote_mdo and the function that takes its place.

    Parameters
    ----------
    owner : type or types.ModuleType
        The class or module that has the attribute.
    name : str
        The attribute.
    signature : str
        The signature that the replacement was written against.
    function : callable
        The replacement.
    stock : object
        What philote_mdo has under that name, or ``MISSING``.
    """

    __slots__ = ("function", "name", "over", "own", "owner", "signature", "stock")

    def __init__(
        self, owner: Any, name: str, signature: str, function: Callable[..., Any], stock: Any
    ) -> None:
        self.owner = owner
        self.name = name
        self.signature = signature
        self.function = function
        self.stock = stock
        # An inherited attribute is shadowed while installed, and the shadow is deleted afterwards.
        self.own = name in vars(owner)
        # Another tool's patch that lay on top of ours when we had to leave it in place.
        self.over: Any = MISSING

    @property
    def dotted(self) -> str:
        """The attribute's full dotted name."""
        return f"{dotted_name(self.owner)}.{self.name}"

    @property
    def is_global(self) -> bool:
        """Whether this is a module's function, which other modules may have imported by name."""
        return isinstance(self.owner, types.ModuleType)

    def current(self) -> Any:
        """Return what the owner has under the name at this moment."""
        return lookup(self.owner, self.name)

    def objection(self) -> str | None:
        """Say why this patch must not be applied now, or None if it may."""
        if self.stock is MISSING:
            return f"philote_mdo has no {self.dotted}"
        current = self.current()
        if current is self.function or (self.over is not MISSING and current is self.over):
            return None
        if current is not self.stock:
            return f"{self.dotted} is already replaced by {origin(current)}"
        return self._not_philote() or self._wrong_signature()

    def put_in(self) -> None:
        """Install the replacement, unless another tool's patch already lies on top of it."""
        if self.current() is self.stock:
            setattr(self.owner, self.name, self.function)
            self.over = MISSING

    def take_out(self, *, was_active: bool) -> None:
        """Restore the stock object, unless another tool's patch lies on top of ours.

        Parameters
        ----------
        was_active : bool
            Whether the group was installed; a stranger's patch found now is then on top of ours.
        """
        current = vars(self.owner).get(self.name, MISSING)
        if current is self.function:
            self.over = MISSING
            self._restore()
        elif was_active and current is not self.stock and current is not MISSING:
            self.over = current

    def _restore(self) -> None:
        if self.own:
            setattr(self.owner, self.name, self.stock)
        else:
            delattr(self.owner, self.name)

    def _not_philote(self) -> str | None:
        stock = self.stock
        if isinstance(stock, types.FunctionType) and not hasattr(stock, "__wrapped__"):
            module, qualname = stock.__module__, stock.__qualname__
            if any(module == m and qualname == q for m, q in self._origins()):
                return None
        return f"{self.dotted} is already replaced by {origin(stock)}"

    def _origins(self) -> Iterator[tuple[str, str]]:
        """Yield each module and qualified name that philote_mdo's own function may carry."""
        if isinstance(self.owner, types.ModuleType):
            yield self.owner.__name__, self.name
            return
        for base in self.owner.__mro__:
            if base.__module__.partition(".")[0] == "philote_mdo" and self.name in vars(base):
                yield base.__module__, f"{base.__qualname__}.{self.name}"

    def _wrong_signature(self) -> str | None:
        found = str(inspect.signature(self.stock))
        if found == self.signature:
            return None
        return f"{self.dotted} has the signature {found}, not {self.signature}"


class Group:
    """Patches that belong together: all of them apply, or none does.

    Parameters
    ----------
    name : str
        A short name, as shown by ``status()``.
    reason : str
        What the group makes faster or repairs.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        self.patches: list[Patch] = []
        #: Why the group stays stock; None while nothing speaks against it.
        self.failure: str | None = None
        #: Whether the patches are in place.
        self.active = False
        self._stock: dict[tuple[int, str], Any] = {}
        GROUPS.append(self)

    def replaces(self, owner: Any, name: str, signature: str) -> Callable[[F], F]:
        """Register the decorated function as the replacement of ``owner.name``.

        Parameters
        ----------
        owner : type or types.ModuleType
            A class or module of philote_mdo.
        name : str
            The attribute that is replaced.
        signature : str
            ``str(inspect.signature(...))`` of the stock function.

        Returns
        -------
        callable
            A decorator. It returns the same function, dressed as the stock one so that
            ``inspect.signature``, ``mock.create_autospec`` and ``help`` see what they saw before.
        """

        def register(function: F) -> F:
            stock = self.stock(owner, name)
            if isinstance(function, types.BuiltinFunctionType):
                # The extension's own carry name, signature and text; more cannot be set on them.
                function.__module__ = stock.__module__
            elif callable(stock):
                functools.update_wrapper(function, stock)
            self.patches.append(Patch(owner, name, signature, function, stock))
            NAMES[id(function)] = name
            return function

        return register

    def stock(self, owner: Any, name: str) -> Any:
        """Return the stock function, as it was when it was first asked for.

        Parameters
        ----------
        owner : type or types.ModuleType
            A class or module of philote_mdo.
        name : str
            The attribute.
        """
        key = (id(owner), name)
        if key not in self._stock:
            self._stock[key] = lookup(owner, name)
        return self._stock[key]

    def objection(self) -> str | None:
        """Say why the group must stay stock, or None if it may be applied."""
        if self.failure is not None:
            return self.failure
        return next((why for patch in self.patches if (why := patch.objection())), None)

    def put_in(self) -> bool:
        """Install all patches, or none; the result says which."""
        if not self.active and self.objection() is None:
            self.active = self._put_in_all()
        return self.active

    def take_out(self) -> None:
        """Take out all patches, those too that came back when another tool removed its own."""
        for patch in reversed(self.patches):
            patch.take_out(was_active=self.active)
        self.active = False

    def _put_in_all(self) -> bool:
        try:
            for patch in self.patches:
                patch.put_in()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            self.take_out()
            return False
        return True


def lookup(owner: Any, name: str) -> Any:
    """Return ``owner.name`` as stored, without binding it, or ``MISSING``.

    Parameters
    ----------
    owner : type or types.ModuleType
        Where to look; for a class, its bases too.
    name : str
        The attribute.
    """
    for place in getattr(owner, "__mro__", (owner,)):
        if name in vars(place):
            return vars(place)[name]
    return MISSING


def dotted_name(thing: Any) -> str:
    """Return the full dotted name of a class, function or module."""
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    return f"{thing.__module__}.{thing.__qualname__}"


def origin(thing: Any) -> str:
    """Name the code that an attribute came from, for messages."""
    if thing is MISSING:
        return "nothing (it was removed)"
    code = getattr(thing, "__code__", None)
    if isinstance(code, types.CodeType):
        # A wrapper made with functools.wraps claims the stock name; its code cannot.
        return f"{getattr(code, 'co_qualname', code.co_name)} in {code.co_filename}"
    return f"an object of {type(thing).__module__}.{type(thing).__qualname__}"


#: Says whether each named method of an instance, on which stock would call it, is still our own
#: replacement: False as soon as one is overridden by a subclass, set on the instance, replaced by a
#: test double, patched by another tool or uninstalled. Asked at each call: no frame of Python's.
untouched: Callable[..., bool] = functools.partial(_core.untouched, NAMES)


def note_fallback(what: str, why: str) -> None:
    """Count one use of stock code where the fast code could not be used; ``status()`` shows it.

    Parameters
    ----------
    what : str
        What stayed stock.
    why : str
        The reason; keep it free of values that change from call to call.
    """
    key = (what, why)
    with _FALLBACKS_LOCK:
        if key in _FALLBACKS or len(_FALLBACKS) < _FALLBACKS_LIMIT:
            _FALLBACKS[key] = _FALLBACKS.get(key, 0) + 1


def fallbacks() -> dict[tuple[str, str], int]:
    """Return how often each fallback was noted, by what and why."""
    with _FALLBACKS_LOCK:
        return dict(_FALLBACKS)
