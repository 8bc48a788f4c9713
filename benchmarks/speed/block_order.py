"""The cost of T0, alone and with ξ, per feature, compared with the bare SIMD sort of its keys, by rows.

One thread; a feature is computed (a product of two columns of a pool), checked, ordered and scored, block by
block as a screen does. Beside it stands the sort of as many columns of packed 64-bit keys, and the fastest
sort of this processor, which for columns of up to 512 rows is that of 32-bit keys. Every run has other data,
lest the processor learn the branches. Least of several, in processor time.

Arguments are the numbers of rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from measurement import make_parser, save_rows

from symscreen.expansion.feature_values import compute_block_size
from symscreen.statistics.column_arithmetic import combine_columns
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_t0
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.statistics.workspace import Workspace
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROWS = (64, 100, 256, 400, 512, 1000, 1500, 10_000, 100_000)
NARROW = 512
REPEATS = 15
POOL_BYTES = 1 << 22


def measure_seconds(prepare: Callable[[], object], work: Callable[..., object]) -> float:
    """Return the least processor time of some runs on data of their own, after one that compiles."""
    work(prepare())
    found = []
    for _ in range(REPEATS):
        data = prepare()
        start = time.thread_time()
        work(data)
        found.append(time.thread_time() - start)
    return min(found)


def sort_seconds(rng: np.random.Generator, shape: tuple[int, int], dtype: type[np.generic]) -> float:
    """Time the sort of columns of keys in place."""
    most = np.iinfo(dtype).max
    return measure_seconds(lambda: rng.integers(0, most, shape, dtype=dtype), lambda keys: keys.sort(axis=1))


def score_seconds(rng: np.random.Generator, shape: tuple[int, int], *, xi: bool) -> float:
    """Time all that is done to a block of products."""
    m, n = shape
    pool = rng.normal(size=(max(20, POOL_BYTES // (8 * n)), n))
    response, workspace = NumericTarget(np.sort(rng.normal(size=n))), Workspace()

    def scored(pairs: tuple[np.ndarray, np.ndarray]) -> None:
        values = workspace.get_array("values", shape, np.float64)
        low, high = (
            workspace.get_array("least", (m,), np.float64),
            workspace.get_array("largest", (m,), np.float64),
        )
        combine_columns(np.multiply, pool, pairs, values, (low, high))
        if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ValueError("a product of normal columns is undefined or constant")
        ordered = sort_block(values, workspace)
        compute_t0(ordered, response)
        if xi:
            compute_xi(ordered, response)

    return measure_seconds(lambda: tuple(rng.integers(0, len(pool), (2, m))), scored)


def main(arguments: Sequence[str]) -> None:
    """Measure each number of rows."""
    parser = make_parser(__doc__)
    parser.add_argument("rows", type=int, nargs="*", default=ROWS)
    options = parser.parse_args(arguments)
    rng, results = np.random.default_rng(0), []
    for n in options.rows:
        shape = (compute_block_size(n), n)
        wide = fastest = sort_seconds(rng, shape, np.uint64)
        if n <= NARROW:
            fastest = sort_seconds(rng, shape, np.uint32)
        row = {
            "rows": n,
            "64-bit sort, µs": wide / shape[0] * 1e6,
            "fastest sort, µs": fastest / shape[0] * 1e6,
        }
        for name, xi in (("T0", False), ("T0 + ξ", True)):
            seconds = score_seconds(rng, shape, xi=xi)
            row[f"{name}, µs"] = seconds / shape[0] * 1e6
            row[f"{name} / 64-bit sort"], row[f"{name} / fastest sort"] = seconds / wide, seconds / fastest
        results.append(row)
        print(row, flush=True)
    save_rows("block_order", results, options.results, "Processor time of a feature, one thread.")
