"""How near the default comparison of `symscreen fit` is to nested cross-validation, and what it costs.

By default, each fold of the comparison repeats the stage of the search that found the formula. Nested
cross-validation repeats the whole search in each fold. Both have the same folds. The tables are laws with
noise, pure noise, diabetes, and a table like California housing.

With ``--effort quick`` it takes some minutes of one core, with the default effort about an hour.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import collect_rows, format_table, make_parser, save_results
from reliability.new_rows import make_housing, make_law
from sklearn.datasets import load_diabetes

from symscreen.fitting.baselines import Comparison, compare_by_default, compare_task
from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.procedure import run_fit

if TYPE_CHECKING:
    from collections.abc import Callable

    Table = tuple[pd.DataFrame, np.ndarray]

SEED = 41
LAWS = ("ratio", "signed", "power", "heavy", "decay")
LAW_ROWS, HOUSING_ROWS = 120, 300
NOISE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Student": lambda rng, n: rng.standard_t(3.0, n),
}
NOISE_ROWS, WEAK_ROWS = 80, 60
EFFORTS = ("quick", "default")


def make_noise(rng: np.random.Generator, kind: str) -> Table:
    """Make a table whose target has nothing to do with its four columns."""
    x = pd.DataFrame(rng.normal(size=(NOISE_ROWS, 4)), columns=list("abcd"))
    return x, NOISE[kind](rng, NOISE_ROWS)


def make_weak_law(rng: np.random.Generator) -> Table:
    """Make a small table of which a product explains half of the variance."""
    x = pd.DataFrame(rng.uniform(0.5, 3.0, (WEAK_ROWS, 4)), columns=list("abcd"))
    y = (x["a"] * x["b"]).to_numpy()
    return x, y + y.std() * rng.normal(size=WEAK_ROWS)


def make_table(name: str) -> Table:
    """Make a table by its name."""
    rng = np.random.default_rng([SEED, sum(map(ord, name))])
    if name == "diabetes":
        data = load_diabetes(as_frame=True, scaled=False)
        return data.data, data.target.to_numpy()
    if name == "housing":
        return make_housing(rng, HOUSING_ROWS)
    if name == "weak law":
        return make_weak_law(rng)
    if name in LAWS:
        return make_law(rng, LAW_ROWS, name)
    return make_noise(rng, name.removeprefix("noise, "))


TABLES = ("weak law", *LAWS, *(f"noise, {kind}" for kind in NOISE), "diabetes", "housing")


def measure_table(key: dict[str, Any]) -> dict[str, Any]:
    """Fit a table and compare the fit both ways; the times are processor times in seconds."""
    warnings.simplefilter("ignore")
    x, y = make_table(key["table"])
    task = prepare_fit(x, y, {"effort": key["effort"], "jobs": 1})
    start = process_time()
    result: Any = run_fit(task)
    fitted = process_time()
    comparison = compare_by_default(task, result)
    compared = process_time()
    nested = compare_task(replace(task, search_part=None))
    end = process_time()
    found = {"rows": len(x), "columns": x.shape[1], "stage": result.record["stage"], "r2_fit": result.r2}
    default = comparison.r2 if isinstance(comparison, Comparison) else None
    return found | {
        "formula": result.formula.round_numbers(3).equation,
        "default": default,
        "nested": nested.r2,
        "fit_s": fitted - start,
        "default_s": compared - fitted,
        "nested_s": end - compared,
    }


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument(
        "--effort", action="append", choices=EFFORTS, help="efforts of the fits; all if left out"
    )
    parser.add_argument("--table", action="append", choices=TABLES, help="tables; all if left out")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    parser.add_argument("--processes", type=int, default=1, help="tables that are measured at the same time")
    chosen = parser.parse_args(arguments)
    keys = [
        {"effort": effort, "table": name}
        for effort in chosen.effort or EFFORTS
        for name in chosen.table or TABLES
    ]
    measured = collect_rows(keys, measure_table, chosen.checkpoint, processes=chosen.processes)
    head = ["effort", "table", "rows x columns", "R2 of the fit", "default", "nested", "ridge", "boosting"]
    head += ["forest", "fit, s", "default, s", "nested, s"]
    save_results(
        "comparison", {"rows": measured}, format_table(head, list(map(format_row, measured))), chosen.results
    )


def format_row(row: dict[str, Any]) -> list[str]:
    """Format the figures of a table."""
    default = "" if row["default"] is None else f"{row['default']['formula']:.3f}"
    nested = [f"{value:.3f}" for value in row["nested"].values()]
    times = [f"{row[name]:.1f}" for name in ("fit_s", "default_s", "nested_s")]
    size = f"{row['rows']:,} x {row['columns']}"
    return [row["effort"], row["table"], size, f"{row['r2_fit']:.3f}", default, *nested, *times]
