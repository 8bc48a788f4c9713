"""A space of a million features at n = 400: time and peak memory, beside the bare sort of as many columns.

Run with ``make bench``. The absolute figures depend on the machine; the ratio to the sort, taken in the same
run, is what to compare.
"""

from __future__ import annotations

import platform
import resource
import time
from typing import TYPE_CHECKING

import numpy as np

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 400
OPTIONS = {"layers": "ubb", "unary": "square,sqrt,log,sin,exp,cos", "binary": "mul,sub"}


def table(inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform inputs and a response of three of them with noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (ROWS, inputs))
    return x, x[:, 0] ** 2 + x[:, 1] / x[:, 2] + rng.normal(0, 0.1, ROWS)


def bare_sort(columns: int) -> float:
    """Return the seconds that one thread takes to sort so many columns of packed keys by value."""
    keys = np.random.default_rng(1).integers(0, 1 << 63, (2000, ROWS), dtype=np.uint64)
    best = min(_timed(lambda: np.sort(keys, axis=1)) for _ in range(5))
    return best * columns / len(keys)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print one line for one thread and one for two."""
    x, y = table(4)
    symscreen.screen(x[:, :3], y, layers="ub")  # warm-up: compiles, or loads what was compiled before
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    for jobs in (1, 2):
        start = time.perf_counter()
        result = symscreen.screen(x, y, jobs=jobs, **OPTIONS)
        seconds = time.perf_counter() - start
        sort = bare_sort(result.scored)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"jobs {jobs}: {result.scored:,} features in {seconds:.2f} s, "
            f"{seconds / result.scored * 1e6:.2f} µs each, {seconds / sort:.2f} × the bare sort in one "
            f"thread, peak {peak:.0f} MB"
        )


if __name__ == "__main__":
    main()
