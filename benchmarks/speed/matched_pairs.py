"""Meet in the middle: time, memory and recall of the search for laws of two formulas of a pool.

Pairs of formulas are planted as sums with free coefficients, and as products. One call searches all pairs as
sums and as products. A law is right if the planted function, without its noise, lies in the span of the law's
terms on fresh rows. The parts of a sum have standard deviations whose ratio is between 1/3 and 3. With noise,
pairs are planted that noise does not hide: correlated by less than 0.95, and no value is more than 10
standard deviations from the mean. The time to grow a pool is not part of a search.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import BENCHMARKS, make_parser, run_process, save_rows

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.law import LawData
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.grammar import OPERATORS, Grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import Law

UNARY = ("square", "cube", "sqrt", "inv", "exp", "log", "sin", "cos")
BINARY = ("add", "sub", "mul", "div")
ROWS = 1000
# formulas, noise relative to the root mean square, planted pairs of each kind
SETTINGS = ((1_000_000, 0.0, 100), (100_000, 0.01, 20), (1_000_000, 0.01, 5))


def make_columns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the rows of four columns."""
    return {name: rng.uniform(1.0, 5.0, ROWS) for name in "abcd"}


def make_data(columns: dict[str, np.ndarray], target: np.ndarray, pool_limit: int) -> LawData:
    """Build the data of a search; the rows of the pool do not depend on the target."""
    grammar = Grammar(
        "pairs",
        OPERATORS,
        tuple(OPERATORS[name] for name in UNARY),
        tuple(OPERATORS[name] for name in BINARY),
        constants=(1, 2),
    )
    return LawData(columns, target, grammar, pool_limit=pool_limit)


class Plant:
    """A sum or product of two formulas of a pool, on the rows of the search and on fresh rows."""

    def __init__(
        self,
        pool: FormulaPool,
        kind: str,
        tables: Sequence[dict[str, np.ndarray]],
        rng: np.random.Generator,
        *,
        is_noisy: bool,
    ) -> None:
        while True:
            formulas = [pool.build_expression(int(k)) for k in rng.choice(len(pool), 2, replace=False)]
            values = [[evaluate_expression(each, table) for each in formulas] for table in tables]
            if is_plantable(np.array(values), is_noisy=is_noisy):
                break
        (first, second), fresh = values
        self.formulas = [str(each) for each in formulas]
        if kind == "sum":
            factors = [1.0 / first.std(), float(rng.uniform(1.0, 3.0) ** rng.choice([-1, 1])) / second.std()]
            factors[1] *= float(rng.choice([-1, 1]))
            offset = float(rng.normal())
            self.target, self.fresh = (
                offset + factors[0] * a + factors[1] * b for a, b in ((first, second), fresh)
            )
        else:
            scale = np.abs(first).max()
            self.target, self.fresh = (
                a / scale * (b / np.abs(second).max()) for a, b in ((first, second), fresh)
            )

    def is_found_by(self, law: Law, columns: dict[str, np.ndarray]) -> bool:
        """Return whether the planted function lies in the span of the terms of a law."""
        values = [evaluate_expression(term, columns) for term in law.terms]
        design = np.column_stack([*values, *([np.ones(ROWS)] if law.has_intercept else [])])
        used = np.isfinite(self.fresh)
        if not np.isfinite(design[used]).all():
            return False
        design = design[used] / np.abs(design[used]).max(axis=0)
        residuals = self.fresh[used] - design @ np.linalg.lstsq(design, self.fresh[used], rcond=None)[0]
        return bool(np.linalg.norm(residuals) < 1e-6 * np.linalg.norm(self.fresh[used]))


def is_plantable(values: np.ndarray, *, is_noisy: bool) -> bool:
    """Return whether two formulas are defined, no copies of each other and, with noise, not hidden by it."""
    if not np.isfinite(values[0]).all() or np.isfinite(values[1]).all(axis=0).mean() < 0.9:
        return False
    deviations = values[0] - values[0].mean(axis=1, keepdims=True)
    scales = np.abs(values[0]).max(axis=1)
    if scales.max() > 1e100 or (deviations.std(axis=1) < 1e-6 * scales).any():
        return False
    correlation = abs(np.corrcoef(values[0])[0, 1])
    if not is_noisy:
        return bool(correlation < 1.0 - 1e-6)
    largest = (np.abs(deviations) / deviations.std(axis=1, keepdims=True)).max()
    return bool(correlation < 0.95 and largest < 10.0)


def measure(pool_limit: int, noise: float, n_pairs: int) -> dict[str, Any]:
    """Search planted pairs in this process."""
    rng = np.random.default_rng(0)
    columns, fresh = make_columns(rng), make_columns(rng)
    start, used = time.perf_counter(), time.process_time()
    pool = make_data(columns, np.arange(float(ROWS)), pool_limit).pool
    growth = {"wall": time.perf_counter() - start, "processor": time.process_time() - used}
    searches = []
    for kind in ("sum", "product"):
        for _ in range(n_pairs):
            plant = Plant(pool, kind, (columns, fresh), rng, is_noisy=noise > 0.0)
            errors = noise * np.sqrt((plant.target**2).mean()) * rng.standard_normal(ROWS)
            data = make_data(columns, plant.target + errors, pool_limit)
            data.__dict__["pool"] = pool  # grown before
            start, used = time.perf_counter(), time.process_time()
            laws = find_matched_pairs(data)
            searches.append(
                {
                    "kind": kind,
                    "formulas": plant.formulas,
                    "wall": time.perf_counter() - start,
                    "processor": time.process_time() - used,
                    "place": next(
                        (place for place, law in enumerate(laws, 1) if plant.is_found_by(law, fresh)), None
                    ),
                }
            )
            print(searches[-1], file=sys.stderr, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"growth": growth, "peak_gb": peak, "searches": searches}


def summarize(pool_limit: int, noise: float, found: dict[str, Any]) -> list[dict[str, Any]]:
    """Make a row for each kind of law."""
    rows = []
    for kind in ("sum", "product"):
        searches = [each for each in found["searches"] if each["kind"] == kind]
        places = [each["place"] for each in searches]
        rows.append(
            {
                "formulas": pool_limit,
                "noise": noise,
                "law": kind,
                "planted": len(places),
                "first": sum(place == 1 for place in places),
                "among the ten best": sum(place is not None and place <= 10 for place in places),
                "s, median": median(each["wall"] for each in searches),
                "s of processor time, median": median(each["processor"] for each in searches),
                "s of processor time, longest": max(each["processor"] for each in searches),
                "growth, s of processor time": found["growth"]["processor"],
                "peak GB": found["peak_gb"],
                "missed": [
                    each["formulas"] for each in searches if each["place"] is None or each["place"] > 10
                ],
            }
        )
    return rows


def main(arguments: Sequence[str]) -> None:
    """Measure each setting in a process of its own."""
    parser = make_parser(__doc__)
    parser.add_argument("--pairs", type=int, help="the number of planted pairs of each kind")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(*json.loads(options.measure))))
        return
    rows = []
    for pool_limit, noise, n_pairs in SETTINGS:
        setting = json.dumps([pool_limit, noise, options.pairs or n_pairs])
        command = [sys.executable, BENCHMARKS / "run.py", "matched_pairs", "--measure", setting]
        rows += summarize(pool_limit, noise, run_process(command, limit=36_000.0))
    note = f"{ROWS} rows of four inputs. Other work ran on the machine, so the seconds are upper bounds."
    save_rows("matched_pairs", rows, options.results, note)
