"""The report of a side. It runs in the environment of any peer, with the standard library only."""

from __future__ import annotations

import json
import resource
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def measure_peak_mb() -> float:
    """Return the most memory that this process has held, in units of 10⁶ bytes.

    ``/proc`` counts this process only; ``ru_maxrss`` includes what its parent held before it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def print_report(seconds: float, features: int, *packages: str, **more: Any) -> None:
    """Print a side's last line.

    Parameters
    ----------
    seconds : float
        Of the part that counts.
    features : int
        How many it did in them.
    *packages : str
        Whose versions are told.
    **more
        What else is told.
    """
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "?"
    print()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "features": features,
                "peak_mb": measure_peak_mb(),
                "versions": versions,
                **more,
            }
        )
    )
