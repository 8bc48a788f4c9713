"""The side of symscreen: one screen, timed after two small ones that load the compiled code.

The argument is a JSON object: ``table`` (the arguments of `tables.make_table`, or a path), ``options`` of
`symscreen.screen`, and ``sort``, the number of columns of packed 64-bit keys that are sorted in the same
process, in one thread and in two.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import symscreen

sys.path.insert(0, str(Path(__file__).parents[2]))
from side_report import measure_peak_mb, print_report
from tables import load_table, make_table

_REPEATS = 3
_KEPT = 20
_WARMED = (300, 600)  # short and long columns are ordered by different code
_WARM_INPUTS = 9  # as many as make a search drop something


def bare_sort(rows: int, columns: int, threads: int) -> float:
    """Return the seconds a column that the bare SIMD sort takes, the least of a few times.

    One thread is timed by its processor time, which other processes lengthen less.
    """
    block = max(4, (1 << 20) // (8 * rows))
    keys = np.random.default_rng(1).integers(0, 1 << 63, (block, rows), dtype=np.uint64)
    own = [keys.copy() for _ in range(threads)]
    rounds = -(-columns // (block * threads))
    clock = time.thread_time if threads == 1 else time.perf_counter

    def one(place: int) -> float:
        spent = 0.0
        for _ in range(rounds):
            own[place][:] = keys
            start = clock()
            own[place].sort(axis=1)
            spent += clock() - start
        return spent

    with ThreadPoolExecutor(threads) as executor:
        best = min(max(executor.map(one, range(threads))) for _ in range(_REPEATS))
    return best / (rounds * block * threads)


def main() -> None:
    """Screen, and print the report."""
    task = json.loads(sys.argv[1])
    x, y = load_table(task["table"])
    # what is timed is the scoring of all features
    options = {"p_values": False, "max_correlation": 1, **task["options"]}
    for rows in _WARMED:
        symscreen.screen(
            *make_table("strong", rows, _WARM_INPUTS), **{**options, "layers": options.get("layers", "b")}
        )
    start, spent = time.perf_counter(), time.process_time()
    result = symscreen.screen(x, y, **options)
    seconds, spent = time.perf_counter() - start, time.process_time() - spent
    peak = measure_peak_mb()
    search = result.record.get("search") or {}
    told = {
        "rows": len(y),
        "processor_seconds": spent,
        "expressions": list(result.table.expression[:_KEPT]),
        "survivors": search.get("survivors"),
        "peak_mb": peak,
    }
    if task.get("sort"):
        told["sort_us"] = [1e6 * bare_sort(len(y), task["sort"], threads) for threads in (1, 2)]
    print_report(seconds, search.get("features", result.n_scored), "symscreen", "numpy", "numba", **told)


if __name__ == "__main__":
    main()
