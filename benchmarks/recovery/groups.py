"""Whether one form is found for groups of rows with constants of their own, and what its intervals hold.

Each draw is a table of y = a_g·x1·exp(−b·x2) + c_g·x3 with 3 to 40 groups of 8 to 200 rows, and errors of
2 % of the standard deviation of y. The inputs are uniform in every other draw, else normal; a_g and c_g are
uniform in [−3, 3], b in [0.3, 1.5]. `symscreen.fit` sees the groups (`per`) or ignores them (with
`effort="quick"`). A draw counts where the terms are the two of the form and nothing else. Intervals of 95 %
are compared with the constants that made the draw. The time is that of the processor, with forty groups and
with one group, of 50 rows each.

It takes some minutes of one core.
"""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import describe_machine, format_table, make_parser, save_results

import symscreen
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.results.fit_result import GroupedFitResult

NOISE, N_TIMED_ROWS = 0.02, 50
HEAD = (
    "draws",
    "form found by group",
    "form found ignoring groups",
    "a and c in intervals",
    "b in intervals",
)


def draw(
    seed: int, n_groups: int | None = None, n_rows: int | None = None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Draw a table, and the constants that made it."""
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(3, 41)) if n_groups is None else n_groups
    counts = rng.integers(8, 201, groups) if n_rows is None else np.full(groups, n_rows)
    n = int(counts.sum())
    x = rng.uniform(0.5, 3.0, (3, n)) if seed % 2 else rng.normal(size=(3, n))
    codes = np.repeat(np.arange(groups), counts)
    a, c = rng.uniform(-3.0, 3.0, (2, groups))
    b = float(rng.uniform(0.3, 1.5))
    clean = a[codes] * x[0] * np.exp(-b * x[1]) + c[codes] * x[2]
    frame = pd.DataFrame(x.T, columns=["x1", "x2", "x3"]).assign(material=[f"m{code:02d}" for code in codes])
    return frame.assign(y=clean + NOISE * clean.std() * rng.normal(size=n)), {"a": a, "b": b, "c": c}


def is_form(formula: Any, b: float) -> bool:
    """Return whether the terms of one group are x1*exp(−b·x2) and x3, up to a constant near b."""
    names = [str(term) for term in formula.terms]
    if len(names) != 2 or "x3" not in names or formula.intercept != 0.0:
        return False
    (other,) = (term for term in formula.terms if str(term) != "x3")
    rows = pd.DataFrame({"x1": [1.0, 2.0, 1.0, -1.0], "x2": [0.0, 0.0, 1.0, 2.0], "x3": [1.0, 5.0, 2.0, 0.0]})
    truth = parse_expression(f"x1*exp(-{b!r}*x2)")
    columns = {name: rows[name].to_numpy() for name in rows}
    found, expected = (evaluate_expression(term, columns) for term in (other, truth))
    return bool(np.allclose(found / found[0], expected / expected[0], rtol=0.05))


def count_hits(result: GroupedFitResult, truth: dict[str, Any]) -> tuple[int, int, bool]:
    """Count the constants of groups, and those in their intervals; say whether b is in its interval."""
    table, hits = result.constants, 0
    for constant, term in zip(result.formula.constants, result.formula.terms, strict=True):
        values = truth["c"] if "x3" in str(term) else truth["a"]
        hits += int(
            ((table[f"{constant.symbol}_low"] <= values) & (values <= table[f"{constant.symbol}_high"])).sum()
        )
    inside = result.terms[result.terms.place == "inside"]  # empty where b became a simple number
    has_b = bool(((inside.low <= -truth["b"]) & (-truth["b"] <= inside.high)).any())
    return hits, 2 * len(table), has_b


def measure(seed: int) -> dict[str, Any]:
    """Fit one draw, with and without its groups."""
    frame, truth = draw(seed)
    result = symscreen.fit(frame, target="y", per="material", jobs=1)
    found = is_form(result.formula.get_formula(result.formula.groups[0]), truth["b"])
    ignoring = symscreen.fit(frame.drop(columns="material"), target="y", effort="quick", jobs=1)
    hits, n_constants, has_b = count_hits(result, truth) if found else (0, 0, False)
    return {
        "seed": seed,
        "groups": len(truth["a"]),
        "rows": len(frame),
        "formula": result.formula.round_numbers(4).equation,
        "found": found,
        "found_ignoring": is_form(ignoring.formula, truth["b"]),
        "hits": hits,
        "constants": n_constants,
        "b_hit": has_b,
    }


def time_fit(n_groups: int) -> float:
    """Return the processor time of one fit."""
    frame, _ = draw(1, n_groups, N_TIMED_ROWS)
    start = process_time()
    symscreen.fit(frame, target="y", per="material", jobs=1)
    return process_time() - start


def main(arguments: Sequence[str]) -> None:
    """Measure, print and save."""
    options = make_parser(__doc__)
    options.add_argument("--draws", type=int, default=20)
    given, named = options.parse_args(arguments), describe_machine()
    found = [measure(seed) for seed in range(given.draws)]
    times = {str(n_groups): min(time_fit(n_groups) for _ in range(2)) for n_groups in (1, 40)}
    n_constants = sum(each["constants"] for each in found)
    n_found = sum(each["found"] for each in found)
    row = (
        len(found),
        n_found,
        sum(each["found_ignoring"] for each in found),
        f"{100 * sum(each['hits'] for each in found) / n_constants:.1f} %",
        f"{sum(each['b_hit'] for each in found)} of {n_found}",
    )
    outcome = {"machine": named, "noise": NOISE, "found": found, "seconds_by_groups": times}
    save_results("groups", outcome, format_table(HEAD, [row]), given.results)
