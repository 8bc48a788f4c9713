"""One worker against two, through Dask: time, traffic, and what of it grows with the workers.

It needs two free cores, and Dask. Runs of one and of two workers alternate. The scheduler and the main
process need a processor, too: with two workers on two cores they share.
"""

from __future__ import annotations

import json
import pickle
import resource
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import describe_machine, format_spread, format_table, make_parser, save_results

import symscreen
from symscreen.screening.scoring import streaming

if TYPE_CHECKING:
    from collections.abc import Sequence

BINARY = ["add", "mul", "div"]
UNARY = {1000: ["sin", "log", "sqrt"], 5000: ["sin", "log"]}  # by the number of rows


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Make six inputs, and a response that three of them make."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (rows, 6))
    return x, x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + rng.normal(0, 0.1, rows)


def make_options(rows: int) -> dict[str, Any]:
    """Return what is screened: fewer formulas where each takes longer."""
    plain = {"p_values": False, "max_correlation": 1}
    return {"layers": "ubb", "unary": UNARY[rows], "binary": BINARY, **plain}


def run(rows: int, workers: int) -> dict[str, Any]:
    """Screen once; the rate is that of the last two thirds: by then every worker has loaded its kernels."""
    outcome: list[tuple[float, symscreen.Progress]] = []
    began, spent = time.perf_counter(), _of_children()
    result = symscreen.screen(
        *data(rows),
        backend="dask",
        jobs=workers,
        on_progress=lambda standing: outcome.append((time.perf_counter(), standing)),
        **make_options(rows),
    )
    first, early = next(one for one in outcome if 3 * one[1].n_done >= one[1].n_total)
    last, late = outcome[-1]
    return {
        "rows": rows,
        "workers": workers,
        "wall": last - began,
        "features": late.n_scored,
        "features_a_second": (late.n_scored - early.n_scored) / (last - first),
        "cpu_of_workers": _of_children() - spent,
        "parts": len(outcome),
        "chunks": result.record["options"]["run"]["backend"]["chunks"],
        "best": result.table.expression[0],
    }


def _of_children() -> float:
    """Return the processor time of the processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def traffic(rows: int) -> dict[str, int]:
    """Measure what travels: what scores, once to each worker; a task's plan; a merged table back."""
    sizes: dict[str, int] = {}
    own = streaming.map_reduce

    def weighed(backend: Any, function: Any, tasks: Any, merge: Any) -> Any:
        sizes.setdefault("sent_once", len(pickle.dumps(function.scorer.space.pool.values)))
        sizes.setdefault("fates", len(function.scorer.space.statuses))
        sizes.setdefault("plan", len(pickle.dumps(tasks[0])))
        for count, part in own(backend, function, tasks, merge):
            sizes["table"] = len(pickle.dumps(part))
            yield count, part

    streaming.map_reduce = weighed
    symscreen.screen(*data(rows), jobs=2, **make_options(rows))
    streaming.map_reduce = own
    return sizes


def main(arguments: Sequence[str]) -> None:
    """Measure, and write what was found."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": describe_machine(), "runs": [], "two_against_one": {}, "bytes": {}}
    lines = []
    for rows in UNARY:
        runs = [run(rows, workers) for _ in range(options.repeats) for workers in (1, 2)]
        one, two = (np.array([own["features_a_second"] for own in runs[at::2]]) for at in (0, 1))
        ratios = {
            "rate": (two / one).tolist(),
            "whole": [a["wall"] / b["wall"] for a, b in zip(runs[::2], runs[1::2], strict=True)],
        }
        found["runs"] += runs
        found["two_against_one"][rows] = ratios | {"best": float(two.max() / one.max())}
        found["bytes"][rows] = traffic(rows)
        cells = [f"{rows:,}", f"{runs[0]['features']:,}", f"{one.max():,.0f}", f"{two.max():,.0f}"]
        cells += [
            f"{two.max() / one.max():.2f}",
            format_spread(ratios["rate"]),
            format_spread(ratios["whole"]),
        ]
        lines.append(cells)
    head = (
        "rows",
        "features",
        "a second, one worker",
        "two",
        "two against one, the best runs",
        "pair by pair",
        "whole runs, pair by pair",
    )
    save_results("workers", found, format_table(head, lines), options.results)
    print(json.dumps(found, indent=2))
