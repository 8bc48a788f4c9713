"""Measurements in processes of their own: the seconds timed inside, the peak memory, the machine named.

A side is a script that does its work, times the part that counts, and prints one line of JSON last:
``seconds``, ``features`` (or whatever it counts), ``peak_mb`` and what else it tells.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "HERE",
    "RESULTS",
    "FailedError",
    "child",
    "machine",
    "markdown",
    "number",
    "ours",
    "ratio_of",
    "save",
    "spread",
]

HERE = Path(__file__).parent
RESULTS = HERE / "results"
_OURS = HERE / "peers" / "ours.py"


class FailedError(Exception):
    """A process ended without a result; the text is its last words."""


def child(command: Sequence[str | Path], *, limit: float = 1800.0) -> dict[str, Any]:
    """Run a side to its end.

    Parameters
    ----------
    command : sequence of str or Path
        An interpreter, a script, its arguments.
    limit : float
        Seconds that it may take.

    Returns
    -------
    dict
        What it printed last.

    Raises
    ------
    FailedError
        If it ended with an error, or took longer.
    """
    # one library's threads under another's are no comparison: each side says how many threads it uses
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as expired:
        raise FailedError(f"more than {limit:.0f} s") from expired
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise FailedError(words[-1])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def ours(
    table: dict[str, Any] | str, *, limit: float = 1800.0, sort: int = 0, **options: Any
) -> dict[str, Any]:
    """Screen a table with symscreen in a process of its own.

    Parameters
    ----------
    table : dict or str
        What `tables.make` takes, or the path of a saved table.
    limit : float
        Seconds that it may take.
    sort : int
        How many columns are sorted beside it, for the bare sort; 0 for none.
    **options
        Of `symscreen.screen`.

    Returns
    -------
    dict
        What ``peers/ours.py`` tells.
    """
    task = json.dumps({"table": table, "options": options, "sort": sort})
    return child([sys.executable, _OURS, task], limit=limit)


def machine() -> dict[str, Any]:
    """Name the machine and what runs on it."""
    processors = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (processors.read_text().splitlines() if processors.exists() else [])
        if line.startswith("model name")
    ]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30),
        "os": platform.platform(aliased=True, terse=True),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "date": datetime.now(UTC).date().isoformat(),
        "load_at_start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def ratio_of(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Divide pair by pair: two sides measured in turn met the same noise."""
    return [one / other for one, other in zip(above, below, strict=True)]


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Write the median and the range, ``12.1 (11.8 to 13)``."""
    middle, low, high = (
        number(value, digits) for value in (statistics.median(values), min(values), max(values))
    )
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def number(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, and without an exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - int(f"{value:e}".partition("e")[2]))
    return f"{value:,.{places}f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def save(name: str, found: dict[str, Any], table: str, where: Path = RESULTS) -> None:
    """Print a table, and write it and all that was measured, the machine named.

    Parameters
    ----------
    name : str
        Of the files.
    found : dict
        What was measured; ``machine`` is what `machine` told.
    table : str
        In Markdown.
    where : Path
        A folder.
    """
    where.mkdir(parents=True, exist_ok=True)
    (where / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    named = found["machine"]
    head = (
        f"{named['cpu']}, {named['cores']} cores, {named['memory_gib']} GiB, {named['os']}, Python "
        f"{named['python']}, numpy {named['numpy']}, numba {named['numba']}, {named['date']}; load at the "
        f"start {named['load_at_start']}."
    )
    (where / f"{name}.md").write_text(f"{head}\n\n{table}\n")
    print(f"{head}\n\n{table}")
