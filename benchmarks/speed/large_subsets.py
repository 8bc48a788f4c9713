"""All pairs of 100,000 features and all triples of 2,000: seconds and memory of a fresh process for each.

Features are of two kinds: functions of twelve inputs and products of these, in which few directions carry
most of the variance, and independent normal columns, in which none do. The bare products are the inner
products of all pairs in single precision by numpy, in tiles, on one thread.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import BENCHMARKS, make_parser, save_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS, N_BEST = 400, 10
TILE = 1024
WORKS = (
    ("formulas", 100_000, 2, 1),
    ("formulas", 100_000, 2, 2),
    ("normal columns", 100_000, 2, 1),
    ("normal columns", 100_000, 2, 2),
    ("normal columns", 2_000, 3, 1),
    ("normal columns", 2_000, 3, 2),
)
HEAD = (
    "columns",
    "size of subsets",
    "subsets",
    "threads",
    "seconds",
    "seconds of CPU",
    "peak MB",
    "bare products",
)


def draw_columns(kind: str, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns, and a target of two of them with noise."""
    rng = np.random.default_rng(0)
    if kind == "formulas":
        inputs = rng.uniform(0.5, 2.0, (12, ROWS))
        functions = (np.log, np.sqrt, np.exp, np.square, np.reciprocal, np.sin)
        base = np.vstack([inputs, *(function(inputs) for function in functions)])
        pairs = np.array(np.triu_indices(len(base), 1))
        base = np.vstack([base, base[pairs[0]] * base[pairs[1]]])
        chosen = rng.permutation(len(base) ** 2)[: n_columns - len(base)]
        columns = np.vstack([base, base[chosen // len(base)] * base[chosen % len(base)]])
    else:
        columns = rng.normal(size=(n_columns, ROWS))
    target = columns[n_columns // 3] + columns[n_columns // 2]
    return columns, target + 0.1 * target.std() * rng.normal(size=ROWS)


def measure(kind: str, n_columns: int, size: int, jobs: int) -> None:
    """Search in this process, whose kernels are compiled before, and print what it took."""
    import symscreen

    columns, target = draw_columns(kind, n_columns)
    symscreen.find_best_subsets(columns[:200].T, target, size=size, jobs=jobs)
    started, used = time.perf_counter(), time.process_time()
    symscreen.find_best_subsets(columns.T, target, size=size, n_best=N_BEST, jobs=jobs)
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps([seconds, cpu, peak, measure_bare_products(columns) if size == 2 else None]))


def measure_bare_products(columns: np.ndarray) -> float:
    """Return the seconds that the inner products of all pairs take, from those of some tiles."""
    from threadpoolctl import threadpool_limits

    tile = columns[:TILE].astype(np.float32)
    out, seconds = np.empty((TILE, TILE), dtype=np.float32), []
    with threadpool_limits(1):
        for _ in range(20):
            started = time.perf_counter()
            np.matmul(tile, tile.T, out=out)
            seconds.append(time.perf_counter() - started)
    return float(np.median(seconds)) * (len(columns) / TILE) ** 2 / 2


def main(arguments: Sequence[str]) -> None:
    """Run each search in a process of its own."""
    parser = make_parser(__doc__)
    parser.add_argument("--one", nargs=4, help="one search in this process: kind, columns, size, threads")
    options = parser.parse_args(arguments)
    if options.one:
        kind, *numbers = options.one
        measure(kind, *map(int, numbers))
        return
    rows: list[dict[str, Any]] = []
    for kind, n_columns, size, jobs in WORKS:
        command = [
            sys.executable,
            str(BENCHMARKS / "run.py"),
            "large_subsets",
            "--one",
            kind,
            *map(str, (n_columns, size, jobs)),
        ]
        found = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
        )
        subsets = comb(n_columns, size)
        rows.append(dict(zip(HEAD, (f"{n_columns:,} {kind}", size, subsets, jobs, *found), strict=True)))
        print(rows[-1], flush=True)
    save_rows("large_subsets", rows, options.results, f"{ROWS} rows, {N_BEST} subsets kept.")
