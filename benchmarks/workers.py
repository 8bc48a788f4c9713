"""One worker against two, through Dask: time, traffic, and what of it grows with the workers.

Run it as ``python benchmarks/workers.py [--repeats R]`` on a machine of two free cores, with Dask installed.
Runs of one and of two workers alternate, and the fastest of each counts: others may use the machine.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import time
from typing import Any

import numpy as np
from measured import machine, save, spread

import symscreen
from symscreen.result import stream

ROWS = 1000
OPTIONS = {"layers": "ubb", "unary": ["sin", "log", "sqrt"], "binary": ["add", "mul", "div"]}


def data() -> tuple[np.ndarray, np.ndarray]:
    """Make six inputs, and a response that three of them make."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (ROWS, 6))
    return x, x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + rng.normal(0, 0.1, ROWS)


def run(workers: int) -> dict[str, Any]:
    """Screen once; the rate is that of the last two thirds: by then every worker has loaded its kernels."""
    told: list[tuple[float, symscreen.Standing]] = []
    began, spent = time.perf_counter(), _of_children()
    result = symscreen.screen(
        *data(),
        backend="dask",
        jobs=workers,
        on_progress=lambda standing: told.append((time.perf_counter(), standing)),
        **OPTIONS,
    )
    first, early = next(one for one in told if 3 * one[1].done >= one[1].total)
    last, late = told[-1]
    return {
        "workers": workers,
        "wall": last - began,
        "features": late.scored,
        "features_a_second": (late.scored - early.scored) / (last - first),
        "cpu_of_workers": _of_children() - spent,
        "parts": len(told),
        "chunks": result.record["options"]["run"]["backend"]["chunks"],
        "best": result.table.expression[0],
    }


def _of_children() -> float:
    """Return the processor time of the processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def traffic() -> dict[str, int]:
    """Measure what travels: what scores, once to each worker; a task's plan; a merged table back."""
    sizes: dict[str, int] = {}
    own = stream.parts_of

    def weighed(backend: Any, function: Any, tasks: Any, merge: Any) -> Any:
        sizes.setdefault("sent_once", len(pickle.dumps(function.scorer.space.pool.values)))
        sizes.setdefault("fates", len(function.scorer.space.fates))
        sizes.setdefault("plan", len(pickle.dumps(tasks[0])))
        for count, part in own(backend, function, tasks, merge):
            sizes["table"] = len(pickle.dumps(part))
            yield count, part

    stream.parts_of = weighed
    symscreen.screen(*data(), jobs=2, **OPTIONS)
    stream.parts_of = own
    return sizes


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    runs = [run(workers) for _ in range(repeats) for workers in (1, 2)]
    best = {w: max(one["features_a_second"] for one in runs if one["workers"] == w) for w in (1, 2)}
    found = {
        "machine": machine(),
        "runs": runs,
        "features_a_second": best,
        "two_against_one": best[2] / best[1],
        "bytes": traffic(),
    }
    table = "\n".join(
        f"| {w} | {spread([one['wall'] for one in runs if one['workers'] == w])} | {best[w]:,.0f} |"
        for w in (1, 2)
    )
    head = "| workers | whole run, s | features a second, the best run |\n|---|---|---|\n"
    ratio = f"\n\nTwo against one: {found['two_against_one']:.2f}.\n"
    save("workers", found, head + table + ratio)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
