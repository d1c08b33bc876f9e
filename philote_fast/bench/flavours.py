"""The implementations that are compared. A process is of one of them from its start to its end."""

from __future__ import annotations

import importlib

STOCK = "stock"
PATCHED = "patched"
# Patched, and with channels and servers on the native transport, as under `philote-fast run`.
NATIVE = "native"
FLAVOURS = (STOCK, PATCHED, NATIVE)
# What has nothing of Philote: a bare socket and other libraries.
RIVAL = "rival"


def accelerated(flavour: str) -> bool:
    """Say whether an import of philote_fast is to patch philote_mdo in a process of a flavour."""
    return flavour in (PATCHED, NATIVE)


def become(flavour: str) -> None:
    """Make this process one of a flavour; it has been started as `accelerated` says.

    Parameters
    ----------
    flavour : str
        One of `FLAVOURS`, or ``module:function`` for what that function makes of stock.

    Raises
    ------
    RuntimeError
        If the process is not wholly of that flavour: its figures would be wrong in silence.
    """
    import philote_fast
    from philote_fast.transport import replacing

    if ":" in flavour:
        module, _, function = flavour.partition(":")
        getattr(importlib.import_module(module), function)()
        return
    if flavour == NATIVE:
        replacing.replace()
    status = philote_fast.status()
    wanted = accelerated(flavour)
    if status.installed != wanted or status.all_fast != wanted:
        raise RuntimeError(f"this process is not {flavour}; see philote-fast status")
    if bool(status.replaced) != (flavour == NATIVE):
        raise RuntimeError(f"the transport of this process is not {flavour}'s")
