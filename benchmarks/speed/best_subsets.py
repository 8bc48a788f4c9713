"""Models per second: all pairs, triples and fours of some features; a stream of features with a small core.

Whole calls, with the fit of the finalists on the columns; for pairs, and for a small core, that and the inner
products are most of it. On a machine that is busy otherwise, the rate per second of processor time is what to
compare. The scan is bound by the multiplier: a model costs six products, so a core that multiplies eight
doubles a cycle at 3 GHz tries no more than 4e9 models a second; what is read stays in the two nearest caches.
"""

from __future__ import annotations

import time
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import make_parser, save_rows

from symscreen.linear_models.exhaustive_subsets import find_best_models, search_core_subsets
from symscreen.linear_models.gram import compute_gram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROWS = 400
KEEP = 100
SUBSETS = ((2, 500), (3, 500), (3, 1000), (4, 100), (4, 150), (4, 250))
STREAM, CORES = 16_384, ((1, 40), (2, 40), (2, 60), (3, 40))


def make_columns(features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal features and a response of three of them with noise."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(features, ROWS))
    return values, values[0] + values[features // 2] - values[-1] + rng.normal(size=ROWS)


def measure_seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the least wall and processor time of seven runs, after one that compiles."""
    work()
    wall, processor = [], []
    for _ in range(7):
        start, used = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return min(wall), min(processor)


def measure_rate(description: str, models: int, work: Callable[[], object]) -> dict[str, Any]:
    """Measure the models per second of a call."""
    wall, processor = measure_seconds(work)
    row = {
        "search": description,
        "models": models,
        "ms": wall * 1e3,
        "10⁶ models a second": models / wall / 1e6,
        "10⁶ models a second of processor time": models / processor / 1e6,
    }
    print(row, flush=True)
    return row


def main(arguments: Sequence[str]) -> None:
    """Measure each size and number of threads."""
    options = make_parser(__doc__).parse_args(arguments)
    rows = []
    for size, features in SUBSETS:
        gram = compute_gram(*make_columns(features))
        for jobs in (1, 2):
            search = partial(find_best_models, gram, size, KEEP, jobs)
            rows.append(measure_rate(f"size {size} of {features}, jobs {jobs}", comb(features, size), search))
    stream, target = make_columns(STREAM)
    for size, simple in CORES:
        core = compute_gram(np.random.default_rng(1).normal(size=(simple, ROWS)), target)
        for jobs in (1, 2):
            description = f"each of {STREAM:,} features with {size} of {simple}, jobs {jobs}"
            search = partial(search_core_subsets, stream, core, sizes=[size], keep=KEEP, jobs=jobs)
            rows.append(measure_rate(description, STREAM * comb(simple, size), search))
    values, target = make_columns(500)
    seconds = measure_seconds(lambda: compute_gram(values, target))[0]
    note = f"{ROWS} rows. Inner products of 500 features: {seconds * 1e3:.1f} ms."
    save_rows("best_subsets", rows, options.results, note)
