"""Whether `fit` finds a law of a few columns among many that have nothing to do with it.

Sixteen textbook laws of two to four inputs, with noise, are fitted in tables of their own inputs alone and of
many more columns. A law counts as found if the formula has its inputs and no others, and is wrong on fresh
rows by less than a tenth of the noise. The same tables with a target of noise show how often a formula is
claimed. Times are those of the wide table over those of the same law in its own columns, in one run.

About an hour of two cores.
"""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, format_table, make_parser, save_results

import symscreen
from symscreen.errors import ExtrapolationWarning
from symscreen.expressions.traversal import collect_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

ROWS, FRESH_ROWS = 300, 2_000
NOISE_RATIO = 0.01  # standard deviation over the root mean square of the target
MAX_ERROR = 0.1  # of a found law on fresh rows, in standard deviations of the noise
WIDTHS = (0, 30, 300, 3_000)  # columns; 0 for the inputs of the law alone
NOISE_TABLES = 10
LAWS: dict[str, tuple[int, Callable[..., Values]]] = {
    "voltage": (2, lambda i, r: i * r),
    "kinetic energy": (2, lambda m, v: m * v**2 / 2),
    "gravitation": (3, lambda m, n, r: m * n / r**2),
    "thin lens": (2, lambda a, b: 1 / (1 / a + 1 / b)),
    "hypotenuse": (2, lambda a, b: np.sqrt(a**2 + b**2)),
    "falling body": (3, lambda v, t, g: v * t - g * t**2 / 2),
    "charging": (3, lambda u, t, r: u * (1 - np.exp(-t / r))),
    "wave": (3, lambda a, w, t: a * np.sin(w * t / 3)),
    "centre of mass": (4, lambda m, x, n, y: (m * x + n * y) / (m + n)),
    "Michaelis and Menten": (3, lambda v, k, s: v * s / (k + s)),
    "Arrhenius": (3, lambda a, e, t: a * np.exp(-e / t)),
    "Bernoulli": (4, lambda p, d, v, h: p + d * v**2 / 2 + d * h),
    "sum of velocities": (3, lambda u, v, c: (u + v) / (1 + u * v / (9 * c**2))),
    "Gauss": (2, lambda x, s: np.exp(-(x**2) / (2 * s**2))),
    "sum and product": (3, lambda a, b, c: a + 2 * b * c),
    "product of differences": (2, lambda a, b: (a - 3) * (b - 3)),
}


def list_keys() -> Iterator[dict[str, Any]]:
    """List the fits: each law at each width, and tables of noise."""
    for law, width in product(LAWS, WIDTHS):
        yield {"law": law, "width": width, "repeat": 0}
    for repeat, width in product(range(NOISE_TABLES), WIDTHS[1:]):
        yield {"law": "noise", "width": width, "repeat": repeat}


def fit_table(key: dict[str, Any]) -> dict[str, Any]:
    """Fit one table."""
    law, width = key["law"], key["width"]
    n_inputs, compute = LAWS.get(law, (0, None))
    rng = np.random.default_rng([31, [*LAWS, "noise"].index(law), width, key["repeat"]])
    names = [f"x{place}" for place in range(1, (width or n_inputs) + 1)]
    used = [str(name) for name in rng.choice(names, n_inputs, replace=False)]
    columns, fresh = (
        dict(zip(names, rng.uniform(1.0, 5.0, (len(names), n)), strict=True)) for n in (ROWS, FRESH_ROWS)
    )
    if compute is None:
        truth, scale = np.zeros(ROWS), 1.0
    else:
        truth = compute(*(columns[name] for name in used))
        scale = NOISE_RATIO * float(np.sqrt(np.mean(truth**2)))
    start = perf_counter()
    result = symscreen.fit(columns, truth + scale * rng.normal(size=ROWS), jobs=2, quiet=True)
    seconds = perf_counter() - start
    error = None
    if compute is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            wrong = result.predict(fresh) - compute(*(fresh[name] for name in used))
        error = float(np.sqrt(np.mean(wrong**2))) / scale
    return {
        "seconds": seconds,
        "verdict": result.record["verdict"]["kind"],
        "has_inputs": set(collect_inputs(result.formula.terms)) == set(used),
        "error": error,
        "formula": result.formula.round_numbers(3).equation,
    }


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count the laws found and the claims of noise at each width."""
    own = {row["law"]: row["seconds"] for row in rows if not row["width"]}
    summary = []
    for width in WIDTHS:
        laws = [row for row in rows if row["width"] == width and row["law"] != "noise"]
        noise = [row for row in rows if row["width"] == width and row["law"] == "noise"]
        found = [row for row in laws if row["has_inputs"] and row["error"] < MAX_ERROR]
        summary.append(
            {
                "width": width,
                "laws": len(laws),
                "found": len(found),
                "time_ratio": median(row["seconds"] / own[row["law"]] for row in laws),
                "noise": len(noise),
                "claims": sum(row["verdict"] != "none" for row in noise),
            }
        )
    return summary


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    rows = collect_rows(list_keys(), fit_table, chosen.checkpoint)
    summary = summarize(rows)
    table = [
        [
            one["width"] or "those of the law",
            f"{one['found']} of {one['laws']}",
            f"{one['time_ratio']:.1f}",
            f"{one['claims']} of {one['noise']}" if one["noise"] else "",
        ]
        for one in summary
    ]
    head = ["columns", "laws found", "time, over that of the law's columns", "claims for noise"]
    found = {"rows_of_a_table": ROWS, "noise_ratio": NOISE_RATIO, "summary": summary, "fits": rows}
    save_results("wide_tables", found, format_table(head, table), chosen.results)
