"""What T0, alone and with ξ, costs a feature beside the bare SIMD sort of its keys, by the number of rows.

One thread; a feature is computed (a product of two columns of a pool), checked, ordered and scored, block by
block as a screen does. Beside it stands the sort of as many columns of packed 64-bit keys, and the fastest
sort of this processor, which for columns of up to 512 rows is that of 32-bit keys. Every run has other data,
lest the processor learn the branches. Least of several, in processor time.

Run with ``python benchmarks/order.py``, or with the numbers of rows that are asked for behind it.
"""

from __future__ import annotations

import platform
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.feature_values import compute_block_size
from symscreen.statistics.column_arithmetic import combine_columns
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_t0
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.statistics.workspace import Workspace
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = (64, 100, 256, 400, 512, 1000, 1500, 10_000, 100_000)
NARROW = 512
REPEATS = 15
POOL_BYTES = 1 << 22


def seconds(prepare: Callable[[], object], work: Callable[..., object]) -> float:
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
    return seconds(lambda: rng.integers(0, most, shape, dtype=dtype), lambda keys: keys.sort(axis=1))


def score_seconds(rng: np.random.Generator, shape: tuple[int, int], *, xi: bool) -> float:
    """Time all that is done to a block of products."""
    m, n = shape
    pool = rng.normal(size=(max(20, POOL_BYTES // (8 * n)), n))
    response, room = NumericTarget(np.sort(rng.normal(size=n))), Workspace()

    def scored(pairs: tuple[np.ndarray, np.ndarray]) -> None:
        values = room.get_array("values", shape, np.float64)
        low, high = room.get_array("least", (m,), np.float64), room.get_array("largest", (m,), np.float64)
        combine_columns(np.multiply, pool, pairs, values, (low, high))
        if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
            raise ValueError("a product of normal columns is undefined or constant")
        ordered = sort_block(values, room)
        compute_t0(ordered, response)
        if xi:
            compute_xi(ordered, response)

    return seconds(lambda: tuple(rng.integers(0, len(pool), (2, m))), scored)


def main() -> None:
    """Print one line a number of rows."""
    rng = np.random.default_rng(0)
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print("µs a feature; in brackets the ratio to the sort of 64-bit keys, and to the fastest sort")
    for n in [int(word) for word in sys.argv[1:]] or ROWS:
        shape = (compute_block_size(n), n)
        wide = fastest = sort_seconds(rng, shape, np.uint64)
        if n <= NARROW:
            fastest = sort_seconds(rng, shape, np.uint32)
        line = f"{n:>7,} rows: sort {wide / shape[0] * 1e6:9.3f}, fastest {fastest / shape[0] * 1e6:9.3f}"
        for name, xi in (("T0", False), ("T0 + ξ", True)):
            ours = score_seconds(rng, shape, xi=xi)
            line += f" | {name} {ours / shape[0] * 1e6:9.3f} ({ours / wide:.2f} ×, {ours / fastest:.2f} ×)"
        print(line, flush=True)


if __name__ == "__main__":
    main()
