"""Patches of ``philote_mdo.openmdao.utils``: what happens at setup, and access by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import philote_mdo.openmdao.utils as utils
from openmdao.vectors.vector import Vector
from philote_mdo.general import DisciplineClient
from philote_mdo.generated.data_pb2 import DisciplineOptions

from philote_fast.patches.registry import Group
from philote_fast.patches.state import sent_options

SETUP = Group("openmdao setup", "options set after construction, and scalars of OpenMDAO's")

_client_setup = SETUP.stock(utils, "client_setup")
_create_local_inputs = SETUP.stock(utils, "create_local_inputs")


@SETUP.replaces(utils, "client_setup", "(comp)")
def client_setup(comp: Any) -> None:
    """Send the options as they are now, unless the server has them, before it sets up."""
    client = comp._client
    if isinstance(client, DisciplineClient):
        options = _set_options(client, comp.options)
        if not _has_been_sent(client, options):
            client.send_options(options)
    _client_setup(comp)


def _set_options(client: Any, options: Any) -> dict[str, Any]:
    """Return the discipline's options that have a value."""
    values = {}
    for name in client.options_list:
        try:
            values[name] = options[name]
        except RuntimeError:
            # Declared and never set, which is for the discipline to judge.
            continue
    return values


def _has_been_sent(client: Any, options: dict[str, Any]) -> bool:
    if not options:
        return True
    sent = sent_options(client)
    if sent is None:
        return False
    now = DisciplineOptions()
    now.options.update(options)
    fields = sent.options.fields
    return all(name in fields and fields[name] == now.options.fields[name] for name in options)


@SETUP.replaces(utils, "create_local_inputs", "(inputs, var_meta, type=0)")
def create_local_inputs(inputs: Any, var_meta: Any, type: Any = 0) -> dict[str, Any]:
    """Take the variables out of a vector, each as an array, though it be a scalar."""
    values: dict[str, Any] = _create_local_inputs(inputs, var_meta, type)
    if isinstance(inputs, Vector):
        return {name: np.asarray(value) for name, value in values.items()}
    return values
