"""Where figures were taken: the machine, the versions, and how busy it was."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("philote-fast", "philote-mdo", "grpcio", "protobuf", "numpy")
# A load above this share of the cores, before the run has made any, is somebody else's.
QUIET = 0.3


def processor() -> str:
    """Name the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float:
    """Give the load of the last minute, or 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def describe() -> dict[str, Any]:
    """Describe the machine as it is now; call before measuring, for the load to be others'."""
    return {
        "processor": processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: version(package) for package in PACKAGES},
        "load_before": round(load(), 2),
        "quiet": load() <= QUIET * cores(),
    }


def tell(machine: dict[str, Any]) -> str:
    """Say in a sentence or two where figures were taken."""
    versions = ", ".join(f"{name} {what}" for name, what in machine["packages"].items())
    told = (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}; {versions}."
    )
    if not machine["quiet"]:
        told += (
            " Provisional: the machine was busy with other work "
            f"(load {machine['load_before']} before the run)."
        )
    return told
