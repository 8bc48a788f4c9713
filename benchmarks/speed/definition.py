"""Exact T0 compared with its definition over all pairs of rows, vectorised in numpy.

The definition (Luo and Li 2024, eq. 18) is computed as it is written, and with its weights, which depend on
the response alone, computed once for all features. Both see products of two inputs; the definition's values
are compared with ours.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import (
    compute_ratios,
    describe_machine,
    format_number,
    format_spread,
    format_table,
    make_parser,
    save_results,
    screen_in_process,
)
from tables import make_table

import symscreen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

ROWS = {100: 400, 400: 100, 1000: 40}  # columns by the definition
INPUTS = 632  # a fifth of a million products


def as_written(theta: Values, y: Values) -> float:
    """Compute T0 of one feature by the formula, all n × n terms of it."""
    n = len(y)
    pair = 2.0 * np.abs(y[:, None] - y) / (n * (n - 1))
    above, below = theta[:, None] >= theta, theta[:, None] < theta
    return float((pair * (above * (y[:, None] < y) + below * (y[:, None] >= y))).sum())


def weights(y: Values) -> tuple[Values, Values]:
    """Return what a pair of rows adds where θ_i ≥ θ_j, and where θ_i < θ_j: the same for all features."""
    n = len(y)
    pair = 2.0 * np.abs(y[:, None] - y) / (n * (n - 1))
    return np.where(y[:, None] < y, pair, 0.0), np.where(y[:, None] >= y, pair, 0.0)


def with_weights(theta: Values, above: Values, below: Values) -> float:
    """Compute T0 of one feature from the weights of all pairs."""
    return float(np.where(theta[:, None] >= theta, above, below).sum())


def definition(rows: int, columns: int) -> tuple[float, float]:
    """Return the µs a feature as written, and with the weights at hand; both are checked against ours."""
    x, y = make_table("strong", rows, INPUTS)
    z = (x[:, :columns] * x[:, 1 : columns + 1]).T
    start = time.perf_counter()
    found = [as_written(column, y) for column in z]
    middle = time.perf_counter()
    above, below = weights(y)
    again = [with_weights(column, above, below) for column in z]
    end = time.perf_counter()
    if not np.allclose([found, again], symscreen.t0(z.T, y), rtol=0.0, atol=1e-10):
        raise SystemExit("the definition and symscreen.t0 disagree")
    return 1e6 * (middle - start) / columns, 1e6 * (end - middle) / columns


def main(arguments: Sequence[str]) -> None:
    """Measure both in turn, with one thread and with two."""
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"machine": describe_machine(), "rows": []}
    for rows, columns in ROWS.items():
        theirs: list[tuple[float, float]] = []
        own: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(options.repeats):
            theirs.append(definition(rows, columns))
            for jobs, outcome in own.items():
                task = {"kind": "strong", "rows": rows, "inputs": INPUTS}
                one = screen_in_process(task, layers="b[mul]", screener="t0", jobs=jobs)
                outcome.append(1e6 * one["seconds"] / one["features"])
        found["rows"] += [
            {
                "rows": rows,
                "jobs": jobs,
                "written_us": [one[0] for one in theirs],
                "weighted_us": [one[1] for one in theirs],
                "ours_us": outcome,
            }
            for jobs, outcome in own.items()
        ]
    lines = [
        [
            one["rows"],
            one["jobs"],
            *(format_number(min(one[which])) for which in ("written_us", "weighted_us", "ours_us")),
            *(
                format_spread(compute_ratios(one[which], one["ours_us"]))
                for which in ("written_us", "weighted_us")
            ),
        ]
        for one in found["rows"]
    ]
    head = (
        "rows",
        "our threads",
        "as written, µs",
        "weights at hand, µs",
        "ours, µs",
        "as written / ours",
        "weights at hand / ours",
    )
    save_results("definition", found, format_table(head, lines), options.results)
