"""All fourteen ODE-Strogatz equations from their tables, without noise: formula, seconds, exact or not.

Exact is what fresh rows say: 1 − R² of the formula as fitted, on rows drawn from the truth over the range
of the table's inputs, is at most 1e-20. A symbolic comparison would need every identity between a formula
and its rewriting (``cos(x1)/tan(x2)`` is ``sin(x1) + cos(x1 + x2)/sin(x2)``); rows need none, and a
formula that is not the law does not come so near to it away from the table's rows. Names of tables as
arguments take only these.
"""

from __future__ import annotations

import platform
import sys
import time

import numpy as np

import symscreen
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression

ROWS = 10_000
EXACT = 1e-20


def left_on_fresh_rows(name: str, formula: symscreen.Formula) -> float:
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


def main() -> None:
    """Print one line for each table."""
    names = sys.argv[1:] or symscreen.datasets.list_strogatz_names()
    data = symscreen.datasets.load_strogatz("vdp2")
    symscreen.fit(data.frame, operators="strogatz", layers="ub")  # warm-up: compiles, or loads
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    exact, slowest = 0, 0.0
    for name in names:
        frame = symscreen.datasets.load_strogatz(name).frame
        start = time.perf_counter()
        result = symscreen.fit(frame, operators="strogatz", jobs=2)
        seconds = time.perf_counter() - start
        left = left_on_fresh_rows(name, result.formula)
        exact, slowest = exact + (left <= EXACT), max(slowest, seconds)
        print(
            f"{name}: {'exact' if left <= EXACT else 'not exact'} (1 - R2 {left:.1e}), {seconds:.1f} s, "
            f"{result.record['searched']:,} features, {result.record['models']:,} models, "
            f"{result.formula.round_numbers(6).text}"
        )
    print(f"{exact} of {len(names)} exact, {slowest:.1f} s at most")


if __name__ == "__main__":
    main()
