"""Puts the patches in and takes them out again, whole groups at a time."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import re
import sys
import threading
import types
import warnings

from philote_fast.patches import bindings
from philote_fast.patches.later import Watch, is_imported
from philote_fast.patches.registry import GROUPS, MISSING, Group, Patch

#: The patch modules, in the order of import. A failure in one leaves the others alone.
MODULES = (
    "discipline",
    "registration",
    "utils",
    "pair_dict",
    "discipline_client",
    "explicit_client",
    "implicit_client",
    "discipline_server",
    "explicit_server",
    "implicit_server",
)

#: A part of philote_mdo that is patched only once it is imported, and the modules that patch it.
LATE = "philote_mdo.openmdao"
LATE_MODULES = ("openmdao_setup", "openmdao_explicit", "openmdao_implicit")

#: Values of the environment variable ``PHILOTE_FAST`` that prevent the install at import.
OFF = frozenset({"0", "false", "no", "off"})

_SUPPORTED = re.compile(r"0\.8(?!\d)")

#: Held while patches go in or out.
lock = threading.RLock()
_loaded: set[str] = set()
_warned: set[str] = set()


def install() -> None:
    """Replace the slow functions of philote_mdo by fast ones.

    Safe to call again and from several threads: what is in place stays in place. A group of patches
    that does not fit the philote_mdo found here is left out; one ``RuntimeWarning`` names each such
    group with the reason, and ``status()`` shows it.
    """
    with lock:
        load()
        if waits_for() is not None:
            _watch.start()
        refused = [group for group in GROUPS if not group.put_in()]
        bindings.rebind({id(p.stock): p.function for p in _globals() if p.current() is p.function})
        complaint = _complaint(refused)
    if complaint:
        _warn(complaint)


def uninstall() -> None:
    """Restore every attribute of philote_mdo to the identical stock object.

    A patch that another tool has put on top of ours is that tool's to remove: it stays, and
    ``status()`` says so. Calling this when nothing is installed does nothing.
    """
    with lock:
        _watch.stop()
        for group in reversed(GROUPS):
            group.take_out()
        bindings.rebind({id(p.function): p.stock for p in _globals()})


def installed() -> bool:
    """Say whether the patches are installed, all of them or those groups that fit.

    Returns
    -------
    bool
        True from ``install()`` until ``uninstall()``, unless no group could be applied.
    """
    with lock:
        return any(group.active for group in GROUPS)


def install_at_import() -> None:
    """Install, unless the environment variable ``PHILOTE_FAST`` prevents it.

    A philote_mdo that does not fit must not break the import, not even where warnings are errors.
    """
    if not prevented():
        with contextlib.suppress(Warning):
            install()


def load() -> None:
    """Import the patch modules, each once; nothing is replaced by that."""
    with lock:
        _load_modules(MODULES)
        if is_imported(LATE):
            _load_late_modules()


def waits_for() -> str | None:
    """Return the part of philote_mdo that is to be patched once it is imported, or None."""
    return None if is_imported(LATE) or _loaded.issuperset(LATE_MODULES) else LATE


def _late_part_imported() -> None:
    """Patch the part that is just being imported. Whatever comes of it, that import succeeds."""
    with lock, contextlib.suppress(Warning):
        _watch.stop()
        _load_late_modules()
        if installed():
            install()


def _load_late_modules() -> None:
    # Without OpenMDAO there is nothing in that part to patch, and nothing wrong.
    if getattr(sys.modules[LATE], "omdao_installed", True):
        _load_modules(LATE_MODULES)


def prevented() -> bool:
    """Say whether the environment variable ``PHILOTE_FAST`` prevents the install at import."""
    return os.environ.get("PHILOTE_FAST", "").strip().lower() in OFF


def philote_version() -> str | None:
    """Return the version of the philote-mdo distribution, or None where it has no metadata."""
    try:
        return importlib.metadata.version("philote-mdo")
    except importlib.metadata.PackageNotFoundError:
        return None


def _load_modules(names: tuple[str, ...]) -> None:
    """Import those of the patch modules that have not been; a wrong version keeps them stock."""
    known = len(GROUPS)
    for name in names:
        if name not in _loaded:
            _loaded.add(name)
            _load_module(name)
    if (why := _wrong_version()) is not None:
        for group in GROUPS[known:]:
            group.failure = why


def _load_module(name: str) -> None:
    """Import one patch module; where that fails its groups stay stock."""
    known = len(GROUPS)
    try:
        importlib.import_module(f"philote_fast.patches.{name}")
    except Exception as error:
        # Another philote_mdo may lack a whole module. That must not break the user's import.
        if len(GROUPS) == known:
            Group(name, "")
        for group in GROUPS[known:]:
            group.failure = f"{type(error).__name__}: {error}"


def _wrong_version() -> str | None:
    version = philote_version()
    if version is not None and _SUPPORTED.match(version):
        return None
    found = "a philote-mdo of unknown version" if version is None else f"philote-mdo {version}"
    return f"{found} is not 0.8.x"


_watch = Watch(LATE, _late_part_imported)


def _globals() -> list[Patch]:
    patches = (patch for group in GROUPS for patch in group.patches)
    return [patch for patch in patches if patch.is_global and patch.stock is not MISSING]


def _complaint(refused: list[Group]) -> str | None:
    """Put what the user was not yet told about the refused groups into one text."""
    reasons: dict[str, list[str]] = {}
    for group in refused:
        reasons.setdefault(str(group.objection()), []).append(group.name)
    fresh = {why: names for why, names in reasons.items() if why not in _warned}
    _warned.update(fresh)
    if not fresh:
        return None
    told = "; ".join(f"{', '.join(names)} ({why})" for why, names in fresh.items())
    return f"philote_fast leaves parts of philote_mdo as they are: {told}"


def _warn(text: str) -> None:
    """Warn at the line of the user's own code that asked for the patches."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_internal(frame):
        frame = frame.f_back
    if frame is None:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return
    warnings.warn_explicit(
        text,
        RuntimeWarning,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_internal(frame: types.FrameType) -> bool:
    """Say whether a frame belongs to this package or to the import system."""
    name = str(frame.f_globals.get("__name__", ""))
    return (
        name.partition(".")[0] == "philote_fast"
        or name.startswith("importlib.")
        or ("importlib" in frame.f_code.co_filename and "_bootstrap" in frame.f_code.co_filename)
    )
