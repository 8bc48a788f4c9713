"""A bootstrap that repeats the selection: how often its intervals cover the formula that was chosen.

A screen of a table with three inputs chooses the feature with the largest Γ, in its better direction. The
space has two layers: squares and exponentials, then sums and products. Each replicate draws rows with
replacement and repeats the whole screen on them. Three intervals are compared:

* ``percentile``: quantiles of the largest Γ of each replicate;
* ``reversed``: the same quantiles, reflected at the largest Γ of the table;
* ``fixed``: quantiles of Γ of the formula chosen on the table, without repeated selection.

An interval covers if it has the population value of Γ of the chosen formula, that of 200,000 other rows, in
the direction found. About half a minute.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results

import symscreen

if TYPE_CHECKING:
    from symscreen._typing import Values

TABLES, REPLICATES, LEVEL, POPULATION = 400, 199, 0.95, 200_000
N_INPUTS, BAR = 3, 0.93  # the share of intervals that must cover for a bootstrap to be offered
TARGETS, ROWS = ("noise", "one true term"), (30, 60)
METHODS = ("percentile", "reversed", "fixed")


def draw_table(target: str, n_rows: int, rng: np.random.Generator) -> tuple[Values, Values]:
    """Draw all features of a table, shape (n, q), and its target, shape (n,)."""
    inputs = rng.normal(size=(n_rows, N_INPUTS))
    pool = np.hstack((inputs, inputs**2, np.exp(inputs)))
    first, second = np.triu_indices(pool.shape[1])
    features = np.hstack((pool, pool[:, first] + pool[:, second], pool[:, first] * pool[:, second]))
    signal = np.exp(inputs[:, 0]) * inputs[:, 1] if target == "one true term" else 0.0
    return features, 0.5 * signal + rng.normal(size=n_rows)


def compute_gini(features: Values, y: Values, weights: Values) -> Values:
    """Compute Γ of each feature for each sample, shape (b, q); `weights`, (b, n), count the rows drawn.

    Γ = Σ |Δy| s / Σ |Δy| over pairs of rows, where s is 1 if the feature orders them as the target does, −1
    if it orders them the other way, and 0 if it ties them.
    """
    first, second = np.triu_indices(len(y), k=1)
    differences = y[first] - y[second]
    signs = np.sign(features[first] - features[second])
    pairs = weights[:, first] * weights[:, second]
    return np.asarray((pairs @ (differences[:, np.newaxis] * signs)) / (pairs @ np.abs(differences))[:, None])


def measure_coverage(key: dict[str, Any]) -> dict[str, Any]:
    """Count the tables whose intervals cover the population value of the chosen formula."""
    target, n_rows = key["target"], key["rows"]
    many_features, many_y = draw_table(target, POPULATION, np.random.default_rng(71))
    delta = symscreen.t0(-many_y, many_y) / 2.0  # T0 of the reversed order is 2Δ
    population = 1.0 - np.asarray(symscreen.t0(many_features, many_y)) / delta
    covered = dict.fromkeys(METHODS, 0)
    for table in range(key["tables"]):
        rng = np.random.default_rng([71, n_rows, TARGETS.index(target), table])
        features, y = draw_table(target, n_rows, rng)
        found = compute_gini(features, y, np.ones((1, n_rows)))[0]
        best = int(np.abs(found).argmax())
        direction = math.copysign(1.0, found[best])
        truth = 0.0 if target == "noise" else direction * population[best]
        drawn = rng.multinomial(n_rows, np.full(n_rows, 1.0 / n_rows), size=key["replicates"])
        replicates = compute_gini(features, y, drawn.astype(float))
        tails = ((1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0)
        low, high = np.quantile(np.abs(replicates).max(axis=1), tails)
        fixed_low, fixed_high = np.quantile(direction * replicates[:, best], tails)
        size = abs(found[best])
        covered["percentile"] += int(low <= truth <= high)
        covered["reversed"] += int(2.0 * size - high <= truth <= 2.0 * size - low)
        covered["fixed"] += int(fixed_low <= truth <= fixed_high)
    return covered | {"features": many_features.shape[1]}


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES, help="for each row of the result")
    chosen = parser.parse_args(arguments)
    keys = [
        {"target": target, "rows": rows, "tables": chosen.tables, "replicates": REPLICATES}
        for target in TARGETS
        for rows in ROWS
    ]
    rows = collect_rows(keys, measure_coverage, None)
    found = {
        "machine": describe_machine(), "level": LEVEL, "population": POPULATION, "bar": BAR, "rows": rows,
    }  # fmt: skip
    lines = [
        [row["target"], row["rows"], *(f"{100 * row[method] / row['tables']:.1f}" for method in METHODS)]
        for row in rows
    ]
    head = ["target", "rows", *(f"{method}, %" for method in METHODS)]
    error = f"{100 * math.sqrt(LEVEL * (1 - LEVEL) / chosen.tables):.1f}"
    note = f"Intervals of the level {LEVEL:g} that cover. Error of counting: {error} points at the level."
    save_results("selection_bootstrap", found, f"{format_table(head, lines)}\n\n{note}", chosen.results)
