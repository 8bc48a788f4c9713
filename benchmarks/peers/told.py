"""What every side tells at its end. Runs in the environment of any peer: the standard library alone."""

from __future__ import annotations

import json
import resource
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["peak_mb", "tell"]


def peak_mb() -> float:
    """Return the most memory that this process has held, in units of 10⁶ bytes.

    Where the system tells of this process alone, that; ``ru_maxrss`` counts what its parent held before it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def tell(seconds: float, features: int, *packages: str, **more: Any) -> None:
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
            {"seconds": seconds, "features": features, "peak_mb": peak_mb(), "versions": versions, **more}
        )
    )
