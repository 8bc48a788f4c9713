"""Measurements in processes of their own, and the results: JSON, and the table made from it.

A side is a script that does its work, times the part that counts, and prints one line of JSON last:
``seconds``, ``features`` (or what else it counts), ``peak_mb`` and further figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import platform
import shlex
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BENCHMARKS = Path(__file__).parent
RESULTS = BENCHMARKS / "results"
_OWN_SIDE = BENCHMARKS / "peers" / "sides" / "symscreen_screen.py"


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Make the parser of a benchmark: its docstring, and the folder of the results."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the results")
    return parser


class ProcessError(Exception):
    """A process ended without a result; the text is the last line of its messages."""


def run_process(command: Sequence[str | Path], *, limit: float = 1800.0) -> dict[str, Any]:
    """Run a side, and return the JSON of its last line.

    Parameters
    ----------
    command : sequence of str or Path
        The interpreter, the script and its arguments.
    limit : float
        The maximum time in seconds.

    Returns
    -------
    dict
        Its last line.

    Raises
    ------
    ProcessError
        If it ended with an error, or took longer.
    """
    # libraries may not start threads of their own below those of a side
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
        raise ProcessError(f"more than {limit:.0f} s") from expired
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise ProcessError(words[-1])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def screen_in_process(
    table: dict[str, Any] | str, *, limit: float = 1800.0, sort: int = 0, **options: Any
) -> dict[str, Any]:
    """Screen a table with symscreen in a process of its own.

    Parameters
    ----------
    table : dict or str
        What `tables.make` takes, or the path of a saved table.
    limit : float
        The maximum time in seconds.
    sort : int
        The number of columns for the bare sort in the same process; 0 for none.
    **options
        The options of `symscreen.screen`.

    Returns
    -------
    dict
        The figures of ``peers/sides/symscreen_screen.py``.
    """
    task = json.dumps({"table": table, "options": options, "sort": sort})
    return run_process([sys.executable, _OWN_SIDE, task], limit=limit)


def describe_machine() -> dict[str, Any]:
    """Describe the machine and its software."""
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


def describe_run() -> dict[str, str]:
    """Return the command of this benchmark and the commit of the checkout."""
    options = [Path(word).name if os.sep in word else word for word in sys.argv[1:]]  # no path of a machine
    words = ["python", "benchmarks/run.py", *options]
    return {"command": shlex.join(words), "commit": find_commit()}


def find_commit() -> str:
    """Return the commit of the checkout; with a plus sign if files of the package differ from it."""

    def run_git(*arguments: str) -> str:
        command = ["git", "-C", str(BENCHMARKS), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = run_git("rev-parse", "--short=12", "HEAD")
    return f"{commit}+" if run_git("status", "--porcelain", "--", ":/symscreen") else commit


def collect_rows(
    keys: Iterable[dict[str, Any]],
    compute: Callable[[dict[str, Any]], dict[str, Any]],
    checkpoint: Path | None,
    *,
    processes: int = 1,
) -> list[dict[str, Any]]:
    """Compute a row for each key, or take it from a file of JSON lines; each row is written as it comes.

    Parameters
    ----------
    keys : iterable of dict
        What tells the rows apart.
    compute : callable
        Computes what a row has beside its key.
    checkpoint : Path or None
        The file. Rows of another commit are not taken.
    processes : int
        How many rows are computed at the same time, each in a process; `compute` is then a function of a
        module.

    Returns
    -------
    list of dict
        The rows, in the order of the keys.
    """
    commit, known = find_commit(), dict[str, dict[str, Any]]()
    if checkpoint is not None and checkpoint.exists():
        for line in checkpoint.read_text(encoding="utf-8").splitlines():
            saved = json.loads(line)
            if saved.pop("commit") == commit:
                known[_name_key(saved["key"])] = saved["row"]

    def keep(key: dict[str, Any], row: dict[str, Any]) -> None:
        known[_name_key(key)] = row
        if checkpoint is not None:
            with checkpoint.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "row": row, "commit": commit}) + "\n")

    listed = list(keys)
    missing = [key for key in listed if _name_key(key) not in known]
    if processes == 1:
        for key in missing:
            keep(key, compute(key))
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, mp_context=context) as pool:
            waited = {pool.submit(compute, key): key for key in missing}
            for done in as_completed(waited):
                keep(waited[done], done.result())
    return [key | known[_name_key(key)] for key in listed]


def _name_key(key: dict[str, Any]) -> str:
    """Return the text by which a row is found in a file."""
    return json.dumps(key, sort_keys=True)


def compute_ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Divide pair by pair: two sides that were measured in turn had the same disturbances."""
    return [one / other for one, other in zip(above, below, strict=True)]


def format_spread(values: Sequence[float], digits: int = 3) -> str:
    """Format the median and the range, ``12.1 (11.8 to 13)``."""
    middle, low, high = (
        format_number(value, digits) for value in (statistics.median(values), min(values), max(values))
    )
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def format_number(value: float, digits: int = 3) -> str:
    """Format a number with some significant digits, without an exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - int(f"{value:e}".partition("e")[2]))
    return f"{value:,.{places}f}"


def format_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format a table as Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def save_results(
    name: str, found: dict[str, Any], table: str, where: Path = RESULTS, *, quiet: bool = False
) -> None:
    """Print a table; write it as Markdown and the measurements as JSON, both with the machine.

    Parameters
    ----------
    name : str
        The name of the files.
    found : dict
        The measurements; ``machine``, ``command`` and ``commit`` are added, unless it has them. ``sha256``
        is added too: see `compute_digest`.
    table : str
        The table in Markdown.
    where : Path
        The folder.
    quiet : bool
        Whether to print nothing.
    """
    found = {"machine": describe_machine()} | describe_run() | found
    named = found["machine"]
    head = (
        f"{named['cpu']}, {named['cores']} cores, {named['memory_gib']} GiB, {named['os']}, Python "
        f"{named['python']}, numpy {named['numpy']}, numba {named['numba']}, {named['date']}; load at the "
        f"start {named['load_at_start']}."
    )
    text = f"{head}\n\n{table}\n"
    found |= {"sha256": compute_digest(found, text)}
    where.mkdir(parents=True, exist_ok=True)
    (where / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    (where / f"{name}.md").write_text(text)
    if not quiet:
        print(f"{head}\n\n{table}")


def compute_digest(found: dict[str, Any], text: str) -> str:
    """Compute the SHA-256 of measurements and their Markdown file; the member ``sha256`` does not count."""
    plain = {key: value for key, value in json.loads(json.dumps(found)).items() if key != "sha256"}
    return hashlib.sha256(f"{json.dumps(plain, sort_keys=True)}\n{text}".encode()).hexdigest()


def save_rows(name: str, rows: Sequence[dict[str, Any]], where: Path = RESULTS, note: str = "") -> None:
    """Save measurements whose table has one line for each row, and one column for each key."""
    lines = [[_format_cell(row.get(key)) for key in rows[0]] for row in rows]
    table = format_table(list(rows[0]), lines)
    save_results(name, {"note": note, "rows": list(rows)}, f"{note}\n\n{table}" if note else table, where)


def _format_cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 1e-4 else format_number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value).replace("|", "\\|")
