"""Meet in the middle: time, memory and recall of the search for laws of two formulas of a pool.

Pairs of formulas are planted as sums with free coefficients, and as products. One call searches all pairs as
sums and as products. A law is right if the planted function, without its noise, lies in the span of the law's
terms on fresh rows. The parts of a sum have standard deviations whose ratio is between 1/3 and 3. Each
planted pair is drawn anew until it can be planted: see `is_plantable`. The share of draws that are refused is
stored. The rows are sorted as those of a fit are, and the pool is grown on them; the time to grow it is
measured apart. The peak memory is that of the process with the pool.

A planted pair is outvoted if it is not first, and the first law has a smaller value of the criterion than the
planted pair itself: within the noise, the data then prefer another law.

A whole run takes hours.
"""

from __future__ import annotations

import json
import os
import time
from functools import cache, partial
from math import log
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, format_table, make_parser, save_results

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import apply_operator, parse_expression
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.grammar import OPERATORS, Grammar
from symscreen.linear_models.model_criteria import compute_search_penalty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData

UNARY = ("square", "cube", "sqrt", "inv", "exp", "log", "sin", "cos")
BINARY = ("add", "sub", "mul", "div")
ROWS = 1000
N_DRAWN = 20_000  # formulas of a pool
# formulas, noise relative to the root mean square, planted pairs of each kind
SETTINGS = ((1_000_000, 0.0, 100), (100_000, 0.01, 50), (1_000_000, 0.01, 10))
_KEY = ("formulas", "noise", "kind", "pair")
_MIN_DIFFERENT_ROWS = 10
_CENTRAL_SHARE = 0.9  # of the fresh rows, without those of the largest values


def make_columns(seed: int) -> dict[str, np.ndarray]:
    """Draw the rows of four columns."""
    rng = np.random.default_rng([37, seed])
    return {name: rng.uniform(1.0, 5.0, ROWS) for name in "abcd"}


def make_data(target: np.ndarray, pool_limit: int, jobs: int = 1) -> LawData:
    """Build the data of a search."""
    grammar = Grammar(
        "pairs",
        OPERATORS,
        tuple(OPERATORS[name] for name in UNARY),
        tuple(OPERATORS[name] for name in BINARY),
        constants=(1, 2),
    )
    return build_law_data(make_columns(0), target, grammar, pool_limit=pool_limit, jobs=jobs)


@cache
def draw_formulas(pool_limit: int) -> list[Expression]:
    """Draw formulas of a pool; planted pairs are drawn from them, so that the pool need not be kept."""
    pool = make_data(np.arange(float(ROWS)), pool_limit).pool
    drawn = np.random.default_rng([43, pool_limit]).choice(len(pool), N_DRAWN, replace=False)
    return [pool.build_expression(int(index)) for index in drawn]


class Plant:
    """A sum or product of two formulas of a pool, on the rows of the search and on fresh rows."""

    def __init__(
        self, drawn: Sequence[Expression], kind: str, rng: np.random.Generator, *, is_noisy: bool
    ) -> None:
        tables = (make_columns(0), make_columns(1))
        self.n_refused = -1
        is_usable = False
        while not is_usable:
            self.n_refused += 1
            formulas = [drawn[k] for k in rng.choice(len(drawn), 2, replace=False)]
            values = [[evaluate_expression(each, table) for each in formulas] for table in tables]
            is_usable = is_plantable(np.array(values), is_noisy=is_noisy)
        (first, second), fresh = values
        self.kind = kind
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

    def is_outvoted_by(self, law: Law, data: LawData) -> bool:
        """Return whether a law that is not the planted one has a smaller value of the criterion."""
        if self.is_found_by(law):
            return False
        pair = tuple(parse_expression(text) for text in self.formulas)
        counts = np.bincount(data.pool.complexity).astype(float)
        n_pairs = np.cumsum(np.convolve(counts, counts)) / 2.0
        n_choices = float(n_pairs[sum(map(compute_complexity, pair))])
        terms = pair if self.kind == "sum" else (apply_operator(OPERATORS["mul"], *pair),)
        planted = Law(terms, has_intercept=self.kind == "sum", search_size=n_choices)
        return compute_criterion(law, data) < compute_criterion(planted, data)

    def is_found_by(self, law: Law) -> bool:
        """Return whether the planted function lies in the span of the terms of a law.

        The fresh rows with the largest values do not count: they would hide any difference elsewhere.
        """
        values = [evaluate_expression(term, make_columns(1)) for term in law.terms]
        design = np.column_stack([*values, *([np.ones(ROWS)] if law.has_intercept else [])])
        used = np.isfinite(self.fresh)
        sizes = np.where(used, np.abs(self.fresh), np.inf)
        used &= sizes <= np.quantile(sizes[used], _CENTRAL_SHARE)
        if not np.isfinite(design[used]).all():
            return False
        design = design[used] / np.maximum(np.abs(design[used]).max(axis=0), 1e-300)
        target = self.fresh[used]
        residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
        return bool(np.linalg.norm(residuals) < 1e-6 * np.linalg.norm(target))


def is_plantable(values: np.ndarray, *, is_noisy: bool) -> bool:
    """Return whether two formulas are defined, no copies of each other and, with noise, not hidden by it.

    Each must differ from its median by more than 10⁻¹² of its largest difference in ten rows at least. Where
    only a few rows differ, all formulas with a peak there agree up to rounding, and no search can tell them
    apart. With noise, the formulas are correlated by less than 0.95, and no value is more than 10 standard
    deviations from the mean.

    Parameters
    ----------
    values : float64 array, shape (2, 2, n)
        Values of both formulas on the rows of the search, which must be finite, and on fresh rows, of which
        nine tenths must be finite.
    is_noisy : bool
        Whether noise is added.
    """
    if not np.isfinite(values[0]).all() or np.isfinite(values[1]).all(axis=0).mean() < 0.9:
        return False
    deviations = values[0] - values[0].mean(axis=1, keepdims=True)
    scales = np.abs(values[0]).max(axis=1)
    if scales.max() > 1e100 or (deviations.std(axis=1) < 1e-6 * scales).any():
        return False
    differences = np.sort(np.abs(values[0] - np.median(values[0], axis=1, keepdims=True)), axis=1)
    if (differences[:, -_MIN_DIFFERENT_ROWS] < 1e-12 * differences[:, -1]).any():
        return False
    correlation = abs(np.corrcoef(values[0])[0, 1])
    if not is_noisy:
        return bool(correlation < 1.0 - 1e-6)
    largest = (np.abs(deviations) / deviations.std(axis=1, keepdims=True)).max()
    return bool(correlation < 0.95 and largest < 10.0)


def compute_criterion(law: Law, data: LawData) -> float:
    """Compute n·log(RSS)/2 + k·log(n)/2 + log N·n/(n − k) of a law."""
    values = [evaluate_expression(term, data.columns) for term in law.terms]
    design = np.column_stack([*values, *([np.ones(ROWS)] if law.has_intercept else [])])
    design = design / np.abs(design).max(axis=0)
    residuals = data.target - design @ np.linalg.lstsq(design, data.target, rcond=None)[0]
    n_parameters = design.shape[1] + law.n_constants
    square = max(float(residuals @ residuals), 1e-300)
    penalty = n_parameters * log(ROWS) + compute_search_penalty(log(law.search_size), ROWS, n_parameters)
    return (ROWS * log(square) + penalty) / 2.0


def list_keys(numbers: Sequence[int] | None) -> Iterator[dict[str, Any]]:
    """List the searches of all settings, or of the given numbers of planted pairs."""
    for place, (formulas, noise, n_planted) in enumerate(SETTINGS):
        for pair in range(n_planted if numbers is None else numbers[place]):
            for kind in ("sum", "product"):
                yield {"formulas": formulas, "noise": noise, "kind": kind, "pair": pair}


def search_planted_pair(key: dict[str, Any], jobs: int = 1) -> dict[str, Any]:
    """Search a planted pair with a number of threads."""
    rng = np.random.default_rng([41, key["formulas"], key["pair"], len(key["kind"])])
    plant = Plant(draw_formulas(key["formulas"]), key["kind"], rng, is_noisy=key["noise"] > 0.0)
    errors = key["noise"] * np.sqrt((plant.target**2).mean()) * rng.standard_normal(ROWS)
    reset_peak_memory()
    start, used = time.perf_counter(), time.process_time()
    data = make_data(plant.target + errors, key["formulas"], jobs)
    len(data.pool)
    grown, used_by_growth = time.perf_counter(), time.process_time() - used
    used = time.process_time()
    laws = find_matched_pairs(data)
    return {
        "planted": plant.formulas,
        "refused_draws": plant.n_refused,
        "is_outvoted": key["noise"] > 0.0 and bool(laws) and plant.is_outvoted_by(laws[0], data),
        "place": next((place for place, law in enumerate(laws, 1) if plant.is_found_by(law)), None),
        "wall_s": time.perf_counter() - grown,
        "processor_s": time.process_time() - used,
        "growth_processor_s": used_by_growth,
        "growth_wall_s": grown - start,
        "peak_gb": read_peak_memory(),
        "load": os.getloadavg()[0],
        "jobs": jobs,
    }


def reset_peak_memory() -> None:
    """Let the peak memory of this process start at its present size."""
    Path("/proc/self/clear_refs").write_text("5")


def read_peak_memory() -> float:
    """Return the peak memory of this process in GB since `reset_peak_memory`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


def summarize(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Summarize the searches of each setting and kind of law."""
    summary = []
    for cell in dict.fromkeys((row["formulas"], row["noise"], row["kind"]) for row in rows):
        chosen = [row for row in rows if (row["formulas"], row["noise"], row["kind"]) == cell]
        places = [row["place"] for row in chosen]
        n_draws = len(chosen) + sum(row["refused_draws"] for row in chosen)
        summary.append(
            dict(zip(("formulas", "noise", "kind"), cell, strict=True))
            | {
                "planted": len(chosen),
                "first": sum(place == 1 for place in places),
                "outvoted": sum(row["is_outvoted"] for row in chosen),
                "among_ten": sum(place is not None and place <= 10 for place in places),
                "wall_s_median": median(row["wall_s"] for row in chosen),
                "wall_s_longest": max(row["wall_s"] for row in chosen),
                "processor_s_longest": max(row["processor_s"] for row in chosen),
                "growth_wall_s_median": median(row["growth_wall_s"] for row in chosen),
                "peak_gb": max(row["peak_gb"] for row in chosen),
                "load_median": median(row["load"] for row in chosen),
                "refused_share": 1.0 - len(chosen) / n_draws,
            }
        )
    return summary


def join_results(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Join the searches of several results, with commits and machines; the last of equal ones counts."""
    joined = {}
    for path in paths:
        found = json.loads(path.read_text(encoding="utf-8"))
        machine = " ".join(f"{found['machine'][name]}" for name in ("cpu", "cores", "date"))
        for row in found["rows"]:
            key = tuple(row[name] for name in _KEY)
            joined[key] = {"commit": found["commit"], "machine": machine} | row
    keys = (tuple(key[name] for name in _KEY) for key in list_keys(None))
    return [joined[key] for key in keys if key in joined]


def main(arguments: Sequence[str]) -> None:
    """Search the planted pairs of each setting."""
    parser = make_parser(__doc__)
    parser.add_argument(
        "--pairs", metavar="N,N,N", help="the number of planted pairs of each kind, for each setting"
    )
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    parser.add_argument(
        "--jobs", metavar="N", type=int, default=1, help="threads of a search; they have no effect on places"
    )
    parser.add_argument(
        "--processes", metavar="N", type=int, default=1, help="how many searches run at the same time"
    )
    parser.add_argument(
        "--join", metavar="FILE", type=Path, nargs="+", help="results that are joined, with no new search"
    )
    options = parser.parse_args(arguments)
    numbers = None if options.pairs is None else [int(number) for number in options.pairs.split(",")]
    rows = (
        join_results(options.join)
        if options.join
        else collect_rows(
            list_keys(numbers),
            partial(search_planted_pair, jobs=options.jobs),
            options.checkpoint,
            processes=options.processes,
        )
    )
    summary = summarize(rows)
    head = list(summary[0])
    table = format_table(
        head,
        [[f"{cell:.3g}" if isinstance(cell, float) else cell for cell in row.values()] for row in summary],
    )
    save_results(
        "matched_pairs", {"rows_of_data": ROWS, "summary": summary, "rows": rows}, table, options.results
    )
