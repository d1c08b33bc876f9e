"""A model of OpenMDAO with a remote component."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

# OpenMDAO writes a report of each run into the directory otherwise.
os.environ.setdefault("OPENMDAO_REPORTS", "0")

import openmdao.api as om
from philote_mdo.openmdao import RemoteExplicitComponent

from philote_fast.bench.timing import Subject
from philote_fast.bench.values import doubles, same_bits


def run_model(channel: Any, size: int) -> Subject:
    """Run a model whose one component has `size` scalar inputs and outputs, and is remote."""
    prob = om.Problem(reports=False)
    component = RemoteExplicitComponent(channel=channel)
    prob.model.add_subsystem("component", component, promotes=["*"])
    prob.setup()
    prob.final_setup()
    values = doubles(size)
    for index in range(size):
        prob.set_val(f"x{index}", values[index])

    def run() -> Any:
        prob.run_model()
        return component._outputs.asarray()

    def check(found: Any) -> None:
        same_bits(np.array(found), values)

    return Subject(run, check, close=prob.cleanup)
