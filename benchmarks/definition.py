"""Exact T0 beside its definition over all pairs of rows, vectorised in numpy.

The definition (Luo and Li 2024, eq. 18) is given its weights, which depend on the response alone, and one
n × n comparison a feature. Both see products of two inputs; a few of the definition's values are compared
with ours.

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


def weights(y: Values) -> tuple[Values, Values]:
    """Return what a pair of rows adds where θ_i ≥ θ_j, and where θ_i < θ_j."""
    n = len(y)
    pair = 2.0 * np.abs(y[:, None] - y) / (n * (n - 1))
    return np.where(y[:, None] < y, pair, 0.0), np.where(y[:, None] >= y, pair, 0.0)


def by_definition(theta: Values, above: Values, below: Values) -> float:
    """Compute T0 over all ordered pairs."""
    return float(np.where(theta[:, None] >= theta, above, below).sum())


def definition(rows: int, columns: int) -> float:
    """Return the seconds a feature by the definition, checked against ours."""
    x, y = make("strong", rows, INPUTS)
    z = x[:, :columns] * x[:, 1 : columns + 1]
    above, below = weights(y)
    start = time.perf_counter()
    found = [by_definition(column, above, below) for column in z.T]
    seconds = (time.perf_counter() - start) / columns
    if not np.allclose(found, symscreen.t0(z, y), rtol=0.0, atol=1e-10):
        raise SystemExit("the definition and symscreen.t0 disagree")
    return seconds


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
        theirs: list[float] = []
        own: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(asked.repeats):
            theirs.append(1e6 * definition(rows, columns))
            for jobs, told in own.items():
                task = {"kind": "strong", "rows": rows, "inputs": INPUTS}
                one = ours(task, layers="b[mul]", screener="t0", jobs=jobs)
                told.append(1e6 * one["seconds"] / one["features"])
        found["rows"] += [
            {"rows": rows, "jobs": jobs, "definition_us": theirs, "ours_us": told}
            for jobs, told in own.items()
        ]
    lines = [
        [
            one["rows"],
            one["jobs"],
            number(min(one["definition_us"])),
            number(min(one["ours_us"])),
            spread(ratio_of(one["definition_us"], one["ours_us"])),
        ]
        for one in found["rows"]
    ]
    head = ("rows", "our threads", "definition, µs", "ours, µs", "ratio: median (range)")
    save("definition", found, markdown(head, lines), asked.results)


if __name__ == "__main__":
    main()
