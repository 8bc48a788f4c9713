"""What the first screen on a machine compiles, kernel by kernel, and what a later one takes.

``symscreen screen data.csv --layers ub`` runs on 300 rows and 8 inputs, each time in a process of its own:
first with an empty folder for compiled kernels, then with the kernels of the first run. With ``--against``
the runs alternate with those of another checkout, which has a folder of kernels of its own.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import BENCHMARKS, describe_machine, format_table, make_parser, save_results
from tables import make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS, INPUTS = 300, 8
# prints a list of (kernel, seconds of processor time) for each kernel that is compiled for a call from Python
CHILD = """
import json, sys, time
from numba.core import event
starts, kernels = [], []
class Stopwatch(event.Listener):
    def on_start(self, event):
        starts.append(time.process_time())
    def on_end(self, event):
        spent, function = time.process_time() - starts.pop(), event.data["dispatcher"].py_func
        if not starts:
            kernels.append((f"{function.__module__.removeprefix('symscreen.')}.{function.__name__}", spent))
event.register("numba:compile", Stopwatch())
from symscreen.cli.command import run_command
status = run_command(sys.argv[1:])
print(json.dumps(kernels), file=sys.stderr)
sys.exit(status)
"""


def write_data(folder: Path) -> Path:
    """Write the table that is screened."""
    x, y = make_table("strong", ROWS, INPUTS)
    names = ",".join([*(f"x{place}" for place in range(1, INPUTS + 1)), "y"])
    path = folder / "data.csv"
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=names, comments="")
    return path


def run_screen(checkout: Path, data: Path, kernels: Path) -> dict[str, Any]:
    """Screen in a process of its own; return its seconds and the kernels that it compiled."""
    environment = {
        **{name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PYTHONPATH": str(checkout),
        "PYTHONPYCACHEPREFIX": str(kernels / "bytecode"),
        "NUMBA_CACHE_DIR": str(kernels),
    }
    command = [sys.executable, "-c", CHILD, "screen", str(data), "--layers", "ub", "--jobs", "1"]
    began, before = perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=data.parent, env=environment, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": perf_counter() - began,
        "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "compiled": json.loads(done.stderr.splitlines()[-1]),
    }


def measure(checkouts: dict[str, Path], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Run the first screen of each checkout, then later ones in turn."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = write_data(folder)
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in checkouts}
        for _ in range(rounds + 1):
            for name, checkout in checkouts.items():
                runs[name].append(run_screen(checkout, data, folder / name))
    return runs


def format_results(runs: dict[str, list[dict[str, Any]]]) -> str:
    """Write a table of the runs, and one of the kernels of this checkout."""
    rows = []
    for name, (first, *later) in runs.items():
        for kind, those in (("first", [first]), ("later", later)):
            cells = [
                f"{statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})"
                for times in ([each[unit] for each in those] for unit in ("processor", "wall"))
            ]
            rows.append((name, kind, *cells))
    table = format_table(("checkout", "run", "processor, s: median (range)", "wall, s"), rows)
    compiled = sorted(runs["this"][0]["compiled"], key=lambda each: -each[1])
    lines = [(f"`{name}`", f"{spent:.2f}") for name, spent in compiled]
    lines.append(("together", f"{sum(spent for _, spent in compiled):.2f}"))
    return f"{table}\n\n{format_table(('kernel', 'compiling, s of processor time'), lines)}"


def main(arguments: Sequence[str]) -> None:
    """Measure and save."""
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="later runs")
    parser.add_argument("--against", type=Path, help="another checkout, such as one of an earlier commit")
    options = parser.parse_args(arguments)
    checkouts = {"this": BENCHMARKS.parent} | ({} if options.against is None else {"other": options.against})
    found = {"machine": describe_machine(), "runs": measure(checkouts, options.rounds)}
    save_results("first_run", found, format_results(found["runs"]), options.results)
