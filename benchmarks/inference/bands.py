"""How often prediction bands of `fit` hold fresh rows, for a law inside the space and one outside of it.

* ``split``: half of the rows that the search does not use calibrate the band. With m such rows and a
  continuous target, the coverage at 90 % is k/(m+1), k = ⌈0.9(m+1)⌉, exactly: theory, on average over tables.
* ``cv+``: the whole fit is repeated in 10 folds. The guarantee is that of Barber et al. (2021), theorem 4.

The inputs are uniform from 1 to 5. The law ``inside`` is x1² + x2/2 with normal noise. The law ``outside`` is
4·sin(2·x1) with normal noise whose standard deviation is x2: the space has no sine, and no constant width is
right. Each table is judged on 1,000 fresh rows. About ten minutes of processor time.
"""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, format_table, make_parser, save_results

import symscreen
from symscreen.errors import ExtrapolationWarning
from symscreen.statistics.inference.prediction_bands import compute_band_rank, compute_cv_plus_guarantee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LEVEL = 0.9
CALIBRATING_ROWS = (100, 30)
ROWS_PER_CALIBRATING_ROW = 4  # half of the rows search, a quarter estimates, a quarter calibrates
FRESH_ROWS = 1_000
N_FOLDS = 10
TABLES = {"split": 1_000, "cv+": 100}
LAYERS = "u[square,sqrt]"
LAWS: dict[str, Callable[[np.random.Generator, Values], Values]] = {
    "inside": lambda rng, x: x[0] ** 2 + 0.5 * x[1] + rng.normal(size=x.shape[1]),
    "outside": lambda rng, x: 4.0 * np.sin(2.0 * x[0]) + x[1] * rng.normal(size=x.shape[1]),
}


def list_keys(tables: dict[str, int]) -> Iterator[dict[str, Any]]:
    """List the tables of each method, law and size."""
    for method, law, calibrating in product(tables, LAWS, CALIBRATING_ROWS):
        n = ROWS_PER_CALIBRATING_ROW * calibrating
        for repeat in range(tables[method]):
            yield {"method": method, "law": law, "n": n, "repeat": repeat}


def measure_table(key: dict[str, Any]) -> dict[str, Any]:
    """Fit a table, and count the fresh rows that its band holds."""
    rng = np.random.default_rng([41, list(LAWS).index(key["law"]), key["n"], key["repeat"]])
    x, fresh = rng.uniform(1.0, 5.0, (3, key["n"])), rng.uniform(1.0, 5.0, (3, FRESH_ROWS))
    target, fresh_target = (LAWS[key["law"]](rng, each) for each in (x, fresh))
    share = {"split": 0.5} if key["method"] == "split" else {}
    options = {"layers": LAYERS, "bands": key["method"], "bands_level": LEVEL, "jobs": 1, **share}
    result = symscreen.fit(x.T, target, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)  # fresh rows are a little outside the range
        low, high = result.predict_interval(fresh.T).T
    return {
        "coverage": float(np.mean((low <= fresh_target) & (fresh_target <= high))),
        "width": float(np.median(high - low)),
        "band_rows": result.record["bands"]["rows"],
        "formula": result.formula.round_numbers(3).equation,
    }


def summarize(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Summarize the tables of one method, law and size."""
    first, coverage = rows[0], np.array([row["coverage"] for row in rows])
    n = first["band_rows"]
    if first["method"] == "split":
        guarantee, exact = LEVEL, compute_band_rank(n, LEVEL) / (n + 1)
    else:
        guarantee, exact = compute_cv_plus_guarantee(n, N_FOLDS, LEVEL), None
    return {
        "method": first["method"],
        "law": first["law"],
        "band_rows": n,
        "tables": len(rows),
        "coverage": float(coverage.mean()),
        "error": float(coverage.std(ddof=1) / np.sqrt(len(rows))),
        "theory": exact,
        "guarantee": guarantee,
        "lowest_twentieth": float(np.quantile(coverage, 0.05)),
        "width": float(np.median([row["width"] for row in rows])),
    }


def format_cell(value: object) -> str:
    """Format a value of the table."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    for method, count in TABLES.items():
        name = "--cv-plus-tables" if method == "cv+" else "--split-tables"
        parser.add_argument(name, type=int, default=count, dest=method, help="tables for each law and size")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    tables = {method: getattr(chosen, method) for method in TABLES}
    rows = collect_rows(list_keys(tables), measure_table, chosen.checkpoint)
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["law"], row["n"]), []).append(row)
    summary = [summarize(each) for each in groups.values()]
    head = list(summary[0])
    save_results(
        "bands",
        {"level": LEVEL, "fresh_rows": FRESH_ROWS, "summary": summary},
        format_table(head, [list(map(format_cell, row.values())) for row in summary]),
        chosen.results,
    )
