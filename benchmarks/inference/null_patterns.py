"""Null distributions line by line: ξ with each pattern of ties in the response.

One block of noise features is sorted once and scored against every response, so that lines of as many rows
share their features. Several tables (seeds) read the same statistics: their spread is the error of one table,
next to that of counting.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.nulls.xi_null import compute_runs_distribution
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Known = dict[str, tuple[NumericTarget, list[Any], float]]
    Maker = Callable[[np.random.Generator, int, int], Values]

LEVELS = (0.05, 0.01, 0.001, 1e-4)
XI_ROWS = (50, 101, 150, 400, 1000, 3000, 10_000)
TABLES = 3
WORK = 60_000_000  # p-values times rows of a line
MOST = 250_000  # p-values of a line
BLOCK = 8_000_000  # values at a time


def shares(*of_each: float) -> Callable[[int], Values]:
    """Return a maker of responses with these shares of rows in 0, 1, …."""
    edges = np.cumsum(of_each[:-1])
    return lambda n: np.searchsorted(edges, (np.arange(n) + 0.5) / n).astype(np.float64)


def mostly_zero(share: float) -> Callable[[int], Values]:
    """Return a maker of responses with this share of zeros, the rest distinct."""
    return lambda n: np.maximum(np.arange(n) + 1.0 - round(share * n), 0.0)


def mostly_full(share: float) -> Callable[[int], Values]:
    """Return a maker of responses with this share of rows in the largest value, the rest distinct."""
    return lambda n: np.minimum(np.arange(n), n - round(share * n)).astype(np.float64)


XI_RESPONSES: dict[str, Callable[[int], Values]] = {
    "untied": lambda n: np.arange(n, dtype=np.float64),
    "2 values, even": shares(0.5, 0.5),
    "2 values, 89/11": shares(0.89, 0.11),
    "3 levels, even": shares(1 / 3, 1 / 3, 1 / 3),
    "3 levels, 45/45/10": shares(0.45, 0.45, 0.1),
    "5 levels, even": shares(0.2, 0.2, 0.2, 0.2, 0.2),
    "85 % lowest, rest distinct": mostly_zero(0.85),
    "85 % highest, rest distinct": mostly_full(0.85),
}


def _blocks(maker: Maker, rng: np.random.Generator, n: int, most: int, *, tied: bool) -> Any:
    """Yield sorted blocks of features: those with ties alone, or all of them; none that is constant."""
    most = min(most, WORK // n)
    step = max(1, min(BLOCK // n, most))
    for _ in range(most // step):
        ordered = sort_block(maker(rng, step, n))
        kept = np.ptp(ordered.values, axis=1) > 0
        kept &= ordered.tied if tied else True
        yield ordered if kept.all() else ordered.take(np.flatnonzero(kept))


def _known(screener: str, responses: dict[str, NumericTarget]) -> Known:
    """Prepare tables; return the seconds per table."""
    known: Known = {}
    for kind, response in responses.items():
        start = time.process_time()
        nulls = [SCREENERS[screener].null_distribution(response, seed) for seed in range(TABLES)]
        known[kind] = response, nulls, (time.process_time() - start) / TABLES
    return known


def _lines(
    screener: str, n: int, known: Known, maker: Maker, *, tied: bool, place: int
) -> list[dict[str, Any]]:
    """Count p-values at most each level: one line a response."""
    rng = np.random.default_rng([n, place])
    lines: list[dict[str, Any]] = [
        {
            "response": kind,
            "n": n,
            "p_values": 0,
            "below": np.zeros((TABLES, len(LEVELS))),
            "set_up_seconds": took,
        }
        for kind, (_, _, took) in known.items()
    ]
    for ordered in _blocks(maker, rng, n, MOST, tied=tied):
        for line in lines:
            response, nulls, _ = known[line["response"]]
            statistics = SCREENERS[screener].statistic(ordered, response)
            line["p_values"] += len(statistics)
            for table, null in enumerate(nulls):
                p = null(ordered, statistics, "free")
                line["below"][table] += [(p <= level).sum() for level in LEVELS]
    for line in lines:
        line["below"] = line["below"].tolist()
        print(line, flush=True)
    return lines


def xi_lines() -> list[dict[str, Any]]:
    """Count for ξ: untied features, and features of 20 levels, against each response."""
    lines = []
    for place, n in enumerate(XI_ROWS):
        known = _known("xi", {kind: NumericTarget(make(n)) for kind, make in XI_RESPONSES.items()})
        for features, maker in (
            ("untied", lambda rng, m, n: rng.random((m, n))),
            ("20 levels, even", lambda rng, m, n: np.floor(20 * rng.random((m, n)))),
        ):
            if features == "untied" or n in (150, 1000):
                found = _lines("xi", n, known, maker, tied=features != "untied", place=place)
                lines += [{"features": features, **line} for line in found]
    return lines


def against_runs() -> list[dict[str, Any]]:
    """Divide p-values of ξ for responses of two values by those of the exact law of runs."""
    lines = []
    for n, ones in ((100, 50), (101, 12), (150, 17), (400, 200), (1000, 110), (3000, 1500), (10_000, 1100)):
        runs, chance = compute_runs_distribution(n - ones, ones)
        exact = np.cumsum(chance)
        response = NumericTarget(np.repeat([0.0, 1.0], [n - ones, ones]))
        own = SCREENERS["xi"]
        null = own.null_distribution(response, 0)
        some = np.flatnonzero((exact > 1e-14) & (exact < 0.3))
        some = some[:: max(1, len(some) // 60)]
        ordered = sort_block(np.array([_with_runs(n, ones, int(runs[k])) for k in some]))
        p = null(ordered, own.statistic(ordered, response), "free")
        ratio = (p / exact[some]).tolist()
        lines.append({"n": n, "ones": ones, "compared": len(some), "least": min(ratio), "most": max(ratio)})
        print(lines[-1], flush=True)
    return lines


def _with_runs(n: int, ones: int, runs: int) -> Values:
    """Return a feature in whose order the zeros and ones make the given number of runs."""
    lengths = [
        np.diff(np.linspace(0, count, parts + 1).astype(int)).tolist()
        for count, parts in ((n - ones, (runs + 1) // 2), (ones, runs // 2))
    ]
    begins = [0, n - ones]
    rows: list[int] = []
    for run in range(runs):
        kind = run % 2
        length = lengths[kind][run // 2]
        rows.extend(range(begins[kind], begins[kind] + length))
        begins[kind] += length
    theta = np.empty(n)
    theta[rows] = np.arange(n)
    return theta


def tabulate_rates(lines: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Write rates over nominal: the mean of the tables, ± counting, and in brackets one table's spread."""
    rows = []
    for line in lines:
        total = line["p_values"]
        cells = []
        for level, hits in zip(LEVELS, np.transpose(line["below"]), strict=True):
            own = hits / total / level
            counting = math.sqrt((1 - level) / (level * total))
            cells.append(f"{own.mean():.3f} ± {counting:.3f} ({own.std(ddof=1):.3f})")
        rows.append(
            [
                line["features"],
                f"{line['n']:,}",
                line["response"],
                f"{total:,}",
                *cells,
                f"{line['set_up_seconds']:.2f}",
            ]
        )
    head = ("features", "n", "response", "p-values", *(f"rate / {level:g}" for level in LEVELS), "set-up, s")
    return head, rows
