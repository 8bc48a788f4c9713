"""P-values under a global null: how often they fall below 0.05, 0.01, 0.001, 1e-4 and 1e-5.

Features are noise. Several responses of each kind are drawn, each with its own null distribution, so that the
error of one table is not taken for that of all. The features have no ties. The rate should be nominal, but
for a response whose statistic has jumps. The benchmark ``tied_nulls`` measures features with ties. ± is the
error of counting; that of the tables comes on top. ``--study xi`` is for ξ and responses with ties.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from inference.null_patterns import LEVELS as PATTERN_LEVELS
from inference.null_patterns import TABLES, against_runs, tabulate_rates, xi_lines
from measurement import describe_machine, format_table, make_parser, save_results

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LEVELS = (0.05, 0.01, 0.001, 1e-4, 1e-5)
ROWS = (12, 20, 50, 100, 200, 1000)
P_VALUES = 1_000_000
RESPONSES = 5
BLOCK = 2000


def outlying(*sizes: float) -> Callable[[np.random.Generator, int], Values]:
    """Return a maker of normal responses with gross outliers: slips of a unit, codes of missing values."""
    return lambda rng, n: np.append(rng.normal(size=n - len(sizes)), sizes)


KINDS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal, σ = 2": lambda rng, n: rng.lognormal(0.0, 2.0, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "five levels": lambda rng, n: rng.integers(0, 5, n).astype(np.float64),
    "a third ones": lambda rng, n: (rng.permutation(n) < n // 3).astype(np.float64),
    "normal, one of 1e2": outlying(1e2),
    "normal, one of 1e4": outlying(1e4),
    "normal, one of 1e6": outlying(1e6),
    "normal, one of 1e9": outlying(1e9),
    "normal, 1e8 and 1e4": outlying(1e8, 1e4),
}


def rates(kind: str, n: int, count: int, *, responses: int, screeners: tuple[str, ...]) -> dict[str, Any]:
    """Count p-values at most each level."""
    rng = np.random.default_rng([n, list(KINDS).index(kind), 0])
    below = {name: np.zeros(len(LEVELS)) for name in screeners}
    seconds = dict.fromkeys(screeners, 0.0)
    done = 0
    for seed in range(responses):
        response = NumericTarget(np.sort(KINDS[kind](rng, n)))
        nulls = {}
        for name in screeners:
            start = time.process_time()
            nulls[name] = SCREENERS[name].null_distribution(response, seed)
            seconds[name] += (time.process_time() - start) / responses
        for _ in range(max(count // responses // BLOCK, 1)):
            ordered = sort_block(rng.random((BLOCK, n)))
            done += BLOCK
            for name in screeners:
                statistics = SCREENERS[name].statistic(ordered, response)
                p = nulls[name](ordered, statistics, "free")
                below[name] += [(p <= level).sum() for level in LEVELS]
    found = {name: {"below": below[name].tolist(), "set_up_seconds": seconds[name]} for name in screeners}
    return {"kind": kind, "n": n, "p_values": done, "screeners": found}


def measure_xi(results: Path) -> None:
    """Count for ξ line by line, each pattern of ties in the response by itself, and write it down."""
    found: dict[str, Any] = {"machine": describe_machine(), "levels": PATTERN_LEVELS, "tables": TABLES}
    found["rows"] = xi_lines()
    found["exact"] = against_runs()
    note = (
        f"Rates over nominal, mean of {TABLES} tables (seeds) that read the same features; ± one error of "
        "counting, in brackets the standard deviation between tables."
    )
    rows = [
        [one["n"], one["ones"], one["compared"], f"{one['least']:.9f}", f"{one['most']:.9f}"]
        for one in found["exact"]
    ]
    head = ("n", "ones", "p-values", "least p / exact", "most p / exact")
    text = [format_table(*tabulate_rates(found["rows"])), note]
    text += ["Two values against the exact law of runs, from 0.3 to 1e-14:", format_table(head, rows)]
    save_results("nulls_xi", found, "\n\n".join(text), results)


def main(arguments: Sequence[str]) -> None:
    """Count, and write rates over nominal."""
    parser = make_parser(__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the p-values, for a quicker look")
    parser.add_argument("--responses", type=int, default=RESPONSES, help="of each kind and number of rows")
    parser.add_argument(
        "--work", type=float, default=math.inf, help="p-values times rows, at most, for each line"
    )
    parser.add_argument("--screeners", default="t0")
    parser.add_argument("--study", choices=("pooled", "xi"), default="pooled")
    options = parser.parse_args(arguments)
    if options.study == "xi":
        measure_xi(options.results)
        return
    found: dict[str, Any] = {"machine": describe_machine(), "levels": LEVELS, "rows": []}
    for n in ROWS:
        for kind in KINDS:
            one = rates(
                kind,
                n,
                int(min(P_VALUES * options.share, options.work / n)),
                responses=options.responses,
                screeners=tuple(options.screeners.split(",")),
            )
            found["rows"].append(one)
            print(one, flush=True)
    lines = []
    for one in found["rows"]:
        total = one["p_values"]
        for name, own in one["screeners"].items():
            cells = [
                f"{hits / total / level:.3f} ± {math.sqrt((1 - level) / (level * total)):.3f}"
                for hits, level in zip(own["below"], LEVELS, strict=True)
            ]
            lines.append([name, one["n"], one["kind"], f"{total:,}", *cells, f"{own['set_up_seconds']:.2f}"])
    head = (
        "screener",
        "n",
        "response",
        "p-values",
        *(f"rate / {level:g}" for level in LEVELS),
        "set-up, s",
    )
    save_results("nulls", found, format_table(head, lines), options.results)
