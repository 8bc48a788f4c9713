"""All fourteen ODE-Strogatz equations from their tables, without noise: formula, seconds, exact or not.

Exact is what fresh rows say: 1 − R² of the formula as fitted, on rows drawn from the truth over the range
of the table's inputs, is at most 1e-20. A symbolic comparison would need every identity between a formula
and its rewriting (``cos(x1)/tan(x2)`` is ``sin(x1) + cos(x1 + x2)/sin(x2)``); rows need none, and a
formula that is not the law does not come so near to it away from the table's rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from measurement import make_parser, save_rows

import symscreen
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = 10_000
EXACT = 1e-20


def compute_fresh_error(name: str, formula: symscreen.Formula) -> float:
    """Return 1 − R² of a formula on fresh rows where truth and formula are defined."""
    data = symscreen.datasets.load_strogatz(name)
    rng = np.random.default_rng(0)
    columns = {
        each: rng.uniform(data.frame[each].min(), data.frame[each].max(), ROWS) for each in ("x1", "x2")
    }
    truth = evaluate_expression(parse_expression(data.truth), columns)
    # ratios grow without bound near their poles, and so do their digits' errors
    usual = np.abs(truth - np.median(truth)) <= 1e3 * np.abs(data.frame["target"]).max()
    columns = {each: values[usual] for each, values in columns.items()}
    left = formula.predict(columns) - truth[usual]
    around = truth[usual] - truth[usual].mean()
    return float((left @ left) / (around @ around))


def main(arguments: Sequence[str]) -> None:
    """Fit each table."""
    parser = make_parser(__doc__)
    parser.add_argument("tables", nargs="*", default=symscreen.datasets.list_strogatz_names())
    options = parser.parse_args(arguments)
    data = symscreen.datasets.load_strogatz("vdp2")
    symscreen.fit(data.frame, operators="strogatz", layers="ub")  # compiles the kernels, or loads them
    rows = []
    for name in options.tables:
        frame = symscreen.datasets.load_strogatz(name).frame
        start = time.perf_counter()
        result = symscreen.fit(frame, operators="strogatz", jobs=2)
        seconds = time.perf_counter() - start
        error = compute_fresh_error(name, result.formula)
        rows.append(
            {
                "table": name,
                "exact": "yes" if error <= EXACT else "no",
                "1 - R2": error,
                "s": seconds,
                "features": result.record["searched"],
                "models": result.record["models"],
                "formula": result.formula.round_numbers(6).text,
            }
        )
        print(rows[-1], flush=True)
    exact = sum(row["exact"] == "yes" for row in rows)
    slowest = max(row["s"] for row in rows)
    save_rows("strogatz", rows, options.results, f"{exact} of {len(rows)} exact, {slowest:.1f} s at most.")
