"""P-values of features with ties: how often they fall below a level, beside the exact permutation test.

A table has one target and one feature. The feature's rows are permuted many times, so each permuted feature
has the same ties and is independent of the target. The rate is the share of p-values at most a level. The
exact test of the same table has its p-values from the same permutations, so its rate is below the level where
the statistic is discrete. Each cell of the study sums over many tables.

About an hour of processor time.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Maker = Callable[[np.random.Generator, int], Values]

LEVELS = (0.05, 0.01, 0.001)
ROWS = (30, 100, 442, 2000)
P_VALUES, TABLES = 1_000_000, 50
_BLOCK_VALUES = 2_000_000
_EQUAL = 1e-9  # relative difference of statistics that are equal


def _tie_three_rows(rng: np.random.Generator, n: int) -> Values:
    """Draw distinct values, three of them equal."""
    values = rng.normal(size=n)
    values[1:3] = values[0]
    return values


def _draw_zero_inflated(rng: np.random.Generator, n: int) -> Values:
    """Draw 70 % zeros and positive values."""
    return np.where(rng.random(n) < 0.7, 0.0, rng.lognormal(size=n))


FEATURES: dict[str, Maker] = {
    "2 levels": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "5 levels": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "integers 0 to 9": lambda rng, n: rng.integers(0, 10, n).astype(float),
    "20 levels": lambda rng, n: rng.integers(0, 20, n).astype(float),
    "70 % zeros": _draw_zero_inflated,
    "three tied rows": _tie_three_rows,
}
TARGETS: dict[str, Maker] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "binary": lambda rng, n: (rng.random(n) < 0.4).astype(float),
    "count": lambda rng, n: rng.poisson(3.0, n).astype(float),
}


def list_keys(screener: str, p_values: int, numbers_of_rows: list[int]) -> Iterator[dict[str, Any]]:
    """List the cells of the study."""
    for n, target, feature in product(numbers_of_rows, TARGETS, FEATURES):
        yield {"screener": screener, "n": n, "target": target, "feature": feature, "p_values": p_values}


def count_small_p_values(key: dict[str, Any]) -> dict[str, Any]:
    """Count p-values at most each level, ours and those of the exact test."""
    n, screener = key["n"], SCREENERS[key["screener"]]
    rng = np.random.default_rng(
        [31, n, list(TARGETS).index(key["target"]), list(FEATURES).index(key["feature"])]
    )
    n_permutations = key["p_values"] // TABLES
    below, exact_below = np.zeros(len(LEVELS)), np.zeros(len(LEVELS))
    for table in range(TABLES):
        y, x = np.zeros(n), np.zeros(n)
        while np.ptp(y) == 0.0:
            y = TARGETS[key["target"]](rng, n)
        while np.ptp(x) == 0.0:
            x = FEATURES[key["feature"]](rng, n)
        target = NumericTarget(np.sort(y))
        null = screener.null_distribution(target, table)
        statistics, p_values = [], []
        step = max(_BLOCK_VALUES // n, 1)
        for start in range(0, n_permutations, step):
            block = sort_block(rng.permuted(np.tile(x, (min(step, n_permutations - start), 1)), axis=1))
            found = screener.statistic(block, target)
            statistics.append(found if screener is SCREENERS["xi"] else np.abs(found))  # ξ has no sign
            p_values.append(null(block, found, "free"))
        size, p_value = np.concatenate(statistics), np.concatenate(p_values)
        ordered = np.sort(size)
        at_least = len(size) - np.searchsorted(ordered, size - _EQUAL * ordered[-1])
        below += [(p_value <= level).sum() for level in LEVELS]
        exact_below += [(at_least <= level * len(size)).sum() for level in LEVELS]
    return {"below": below.tolist(), "exact_below": exact_below.tolist()}


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--screener", default="t0", choices=("t0", "spearman", "xi", "kendall"))
    parser.add_argument("--p-values", type=int, default=P_VALUES, help="of each cell")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="numbers of rows")
    parser.add_argument("--processes", type=int, default=1, help="cells computed at the same time")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    keys = list_keys(chosen.screener, chosen.p_values, chosen.rows)
    rows = collect_rows(keys, count_small_p_values, chosen.checkpoint, processes=chosen.processes)
    found = {"machine": describe_machine(), "levels": LEVELS, "tables": TABLES, "rows": rows}
    head = ["feature", "target", "n", *(f"rate / {level:g}" for level in LEVELS)]
    head += [f"exact test / {level:g}" for level in LEVELS]
    lines = [[row["feature"], row["target"], f"{row['n']:,}", *_format_rates(row)] for row in rows]
    errors = ", ".join(f"{math.sqrt((1 - level) / (level * chosen.p_values)):.3f}" for level in LEVELS)
    note = f"Rates over the level, {chosen.p_values:,} p-values a line. Errors of counting: {errors}."
    name = "tied_nulls" if chosen.screener == "t0" else f"tied_nulls_{chosen.screener}"
    save_results(name, found, "\n\n".join([format_table(head, lines), note]), chosen.results)


def _format_rates(row: dict[str, Any]) -> list[str]:
    """Format rates over their level: ours, then those of the exact test."""
    counts = zip([*row["below"], *row["exact_below"]], LEVELS * 2, strict=True)
    return [f"{count / row['p_values'] / level:.3f}" for count, level in counts]
