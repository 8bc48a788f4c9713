"""How much the null tables of T0 differ from seed to seed, from exact counts, and what they cost.

Each target gets one table for each of several seeds. The standard deviation of log p between them is the
relative error of a p-value. Where the target consists of ones and zeros, the counts of all permutations are
known, and the mean of the tables is compared with them.
"""

from __future__ import annotations

import math
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import format_table, make_parser, save_results

from symscreen.statistics.nulls.linear_rank_table import build_linear_rank_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LEVELS = (0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
SEEDS = 16


def make_targets() -> dict[str, Values]:
    """Draw the targets."""
    rng = np.random.default_rng(5)
    return {
        "normal, 12 rows": rng.normal(size=12),
        "normal, 60 rows": rng.normal(size=60),
        "lognormal (σ = 2), 60 rows": rng.lognormal(0.0, 2.0, 60),
        "16 ones of 50 rows": (np.arange(50) >= 34).astype(float),
        "12 ones of 40 rows and one of 1e4": np.r_[1e4, np.ones(12), np.zeros(27)],
        "normal, 150 rows": rng.normal(size=150),
        "Cauchy, 300 rows": rng.standard_cauchy(300),
        "30 ones of 310 rows": (np.arange(310) >= 280).astype(float),
        "normal, 1000 rows": rng.normal(size=1000),
    }


def count_tail(target: Values) -> tuple[Values, Values] | None:
    """Return |z| and P(|Z| ≥ |z|) of a target of ones and zeros, both descending; None for other targets."""
    if set(target.tolist()) != {0.0, 1.0}:
        return None
    n, ones = len(target), int(target.sum())
    ways = np.zeros((ones + 1, ones * n + 1))
    ways[0, 0] = 1.0
    for rank in range(1, n + 1):
        for count in range(min(rank, ones), 0, -1):
            ways[count, rank:] += ways[count - 1, :-rank]
    z = (np.arange(ones * n + 1) - ones * (n + 1) / 2) / math.sqrt(ones * (n - ones) * (n + 1) / 12)
    tail = 2.0 * np.cumsum(ways[ones, ::-1])[::-1] / ways[ones].sum()
    possible = (z > 0) & (tail > 0)
    return z[possible], tail[possible]


def compare_tables(name: str, target: Values, n_seeds: int) -> dict[str, Any]:
    """Build the tables of a target; return the spread of log p, the distance from exact counts, the time."""
    build_linear_rank_table(target, n_seeds)  # compiles
    began = process_time()
    tables = [build_linear_rank_table(target, seed) for seed in range(n_seeds)]
    seconds = (process_time() - began) / n_seeds
    exact = count_tail(target)
    z = tables[0].knots + 1e-9 * tables[0].max_statistic if exact is None else exact[0]
    logs = np.log([table.compute_sf(z) for table in tables])
    means = logs.mean(axis=0)
    found: dict[str, Any] = {"target": name, "seconds": seconds, "spread": [], "distance": []}
    for level in LEVELS:
        place = int(np.argmin(np.abs(means - math.log(level))))
        is_near = abs(means[place] - math.log(level)) < 0.7
        found["spread"].append(float(logs[:, place].std(ddof=1)) if is_near else None)
        is_known = is_near and exact is not None
        found["distance"].append(float(means[place] - math.log(exact[1][place])) if is_known else None)
    return found


def format_results(rows: list[dict[str, Any]]) -> str:
    """Write the table of all targets."""
    lines = []
    for row in rows:
        for kind in ("spread", "distance"):
            if any(value is not None for value in row[kind]):
                cells = ["" if value is None else f"{value:.4f}" for value in row[kind]]
                what = "SD of log p" if kind == "spread" else "mean log p − exact"
                lines.append([row["target"], what, *cells, f"{row['seconds']:.3f}"])
    return format_table(["target", "", *(f"p = {level:g}" for level in LEVELS), "processor, s"], lines)


def main(arguments: Sequence[str]) -> None:
    """Measure and save."""
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="tables of each target")
    options = parser.parse_args(arguments)
    rows = [compare_tables(name, target, options.seeds) for name, target in make_targets().items()]
    found = {"levels": LEVELS, "rows": rows}
    save_results("null_tables", found, format_results(rows), options.results)
