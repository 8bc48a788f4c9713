"""The papers' experiments, run by `symscreen reproduce` and stored: docs/reproduction.md quotes them.

``python benchmarks/run.py reproduction figure5`` runs ``symscreen reproduce figure5 --size medium``, and
writes its tables and remarks to ``results/reproduction/figure5.json``, with the command, the commit, the
machine and the time. Tables of more than 1,000 rows, such as those of single draws, are left out and named.
``--data DIR`` is for the experiments that read data, and ``--checkpoint FILE`` for those that can continue
from a file. ``--units`` and ``--noise`` are for ``srbench``; its run with units is written to
``srbench-units.json``. ``python benchmarks/run.py figures`` then writes the quotes of the stored runs into
the page.
"""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measurement import RESULTS, find_commit, format_table, make_parser, save_results

_DIGITS = 6  # significant digits of stored numbers
_MAX_STORED_ROWS = 1_000  # rows of a stored table
_MAX_SHOWN_ROWS = 60  # rows of a table in the Markdown file


def main(arguments: list[str]) -> None:
    """Run the experiments that are named, and store their tables."""
    parser = make_parser(__doc__)
    parser.set_defaults(results=RESULTS / "reproduction")
    parser.add_argument("name", nargs="*", help="experiments, as symscreen reproduce lists them")
    parser.add_argument("--size", default="medium", help="small, medium or full")
    parser.add_argument("--data", type=Path, help="a folder with data, for the experiments that read some")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    parser.add_argument("--units", action="store_true", help="give the fits the units of the columns")
    parser.add_argument("--noise", help="noise ratios with commas between them")
    options = parser.parse_args(arguments)
    settings = [] if options.noise is None else ["--noise", options.noise]
    settings += ["--units"] if options.units else []
    for name in options.name:
        found = run_experiment(name, ["--size", options.size, *settings], options.data, options.checkpoint)
        stem = f"{name}-units" if options.units else name
        save_results(stem, found, format_run(found), options.results, quiet=True)


def format_run(found: dict[str, Any]) -> str:
    """Format the command, the time, the tables and the remarks of a run as Markdown."""
    time_used = f", {found['seconds']:.0f} s" if "seconds" in found else ""
    if "cpu_seconds" in found:
        time_used += f", with {found['cpu_seconds']:.0f} s of processor time"
    parts = [f"`{found['command']}`, commit {found['commit']}{time_used}"]
    parts += [f"## {table}\n\n{_format_rows(rows)}" for table, rows in found["outputs"].items()]
    parts.append("\n".join(f"- {remark}" for remark in found["remarks"]))
    return "\n\n".join(parts)


def run_experiment(
    name: str, settings: list[str], data: Path | None, checkpoint: Path | None = None
) -> dict[str, Any]:
    """Run an experiment by the command line; return the command, the seconds, the tables and the remarks.

    A run from a checkpoint has no seconds, since results of earlier runs may be in it.
    """
    arguments = ["reproduce", name, *settings]
    given: list[str | Path] = [] if data is None else ["--data", data]
    given += [] if checkpoint is None else ["--checkpoint", checkpoint]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "symscreen",
            *arguments,
            *given,
            "--out",
            folder,
            "--force",
            "--quiet",
        ]
        start, cpu_start = time.perf_counter(), _measure_cpu_seconds()
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        seconds, cpu_seconds = time.perf_counter() - start, _measure_cpu_seconds() - cpu_start
        tables = {
            path.stem.removeprefix(f"{name}-"): _read_rows(path)
            for path in sorted(Path(folder).glob("*.csv"))
        }
        remarks = Path(folder, f"{name}-remarks.txt").read_text().splitlines()
    named = [] if data is None else ["--data", data.name]  # the path of the folder tells nothing
    times = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1)}
    return {
        "command": " ".join(["symscreen", *arguments, *named]),
        "commit": find_commit(),
        **(times if checkpoint is None else {}),
        "outputs": {table: rows for table, rows in tables.items() if len(rows) <= _MAX_STORED_ROWS},
        "rows_left_out": {table: len(rows) for table, rows in tables.items() if len(rows) > _MAX_STORED_ROWS},
        "remarks": remarks,
    }


def _measure_cpu_seconds() -> float:
    """Return the processor time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a table; numbers are rounded."""
    with path.open(newline="") as file:
        return [{name: _read_cell(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _read_cell(text: str) -> float | int | str | None:
    """Read a number, a text, or nothing."""
    if not text:
        return None
    for read in (int, lambda number: float(f"{float(number):.{_DIGITS}g}")):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _format_rows(rows: list[dict[str, Any]]) -> str:
    """Format rows as a table in Markdown; of many rows the first."""
    if not rows:
        return "(no rows)"
    shown = [[_format_cell(cell) for cell in row.values()] for row in rows[:_MAX_SHOWN_ROWS]]
    more = (
        f"\n\n({len(rows) - _MAX_SHOWN_ROWS} more rows are in the JSON file.)"
        if len(rows) > len(shown)
        else ""
    )
    return format_table(list(rows[0]), shown) + more


def _format_cell(cell: float | str | None) -> str:
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return "" if cell is None else str(cell).replace("|", "\\|")
