"""Exact T0 beside its definition over all pairs of rows, vectorised in numpy.

The definition (Luo and Li 2024, eq. 18) is computed as it is written, and with its weights, which depend on
the response alone, computed once for all features. Both see products of two inputs; the definition's values
are compared with ours.

Run with ``python benchmarks/definition.py``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measured import RESULTS, machine, markdown, number, ours, ratio_of, save, spread
from tables import make

import symscreen

if TYPE_CHECKING:
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
    x, y = make("strong", rows, INPUTS)
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


def main() -> None:
    """Measure both in turn, with one thread and with two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    found: dict[str, Any] = {"machine": machine(), "rows": []}
    for rows, columns in ROWS.items():
        theirs: list[tuple[float, float]] = []
        own: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(asked.repeats):
            theirs.append(definition(rows, columns))
            for jobs, told in own.items():
                task = {"kind": "strong", "rows": rows, "inputs": INPUTS}
                one = ours(task, layers="b[mul]", screener="t0", jobs=jobs)
                told.append(1e6 * one["seconds"] / one["features"])
        found["rows"] += [
            {
                "rows": rows,
                "jobs": jobs,
                "written_us": [one[0] for one in theirs],
                "weighted_us": [one[1] for one in theirs],
                "ours_us": told,
            }
            for jobs, told in own.items()
        ]
    lines = [
        [
            one["rows"],
            one["jobs"],
            *(number(min(one[which])) for which in ("written_us", "weighted_us", "ours_us")),
            *(spread(ratio_of(one[which], one["ours_us"])) for which in ("written_us", "weighted_us")),
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
    save("definition", found, markdown(head, lines), asked.results)


if __name__ == "__main__":
    main()
