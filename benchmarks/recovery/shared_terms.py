"""Whether two targets of the same terms, fitted together, show these terms where each alone does not.

In every trial two features are drawn from a space, and two targets of them with coefficients of their own,
each with the same share of noise. `symscreen.fit` sees both targets together, or one alone. A trial counts
where the terms of the formula are the true ones, none more and none less. As a control, two targets are drawn
that share nothing, each of two features: there, fitting together has to find four.

It takes some minutes of one core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from measurement import describe_machine, format_table, make_parser, save_results

import symscreen
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED, INPUTS, CLOSEST = 7, 3, 0.9
SPACE: dict[str, Any] = {"operators": "ablation", "layers": "ub", "jobs": 1}
ROWS, NOISE = (20, 40), (0.1, 0.3, 0.5)
NAMES = tuple(f"x{k + 1}" for k in range(INPUTS))
HEAD = (
    "rows", "noise", "together", "one alone", "both alone", "sharing nothing: together", "both alone",
)  # fmt: skip


def features() -> list[str]:
    """Write all features of the space."""
    x, grammar = np.random.default_rng(0).uniform(0.5, 2.0, (INPUTS, 50)), load_grammar(SPACE["operators"])
    space = expand(
        NAMES, x, grammar, grammar.resolve_layers(SPACE["layers"]), "cumulative", options=SpaceOptions()
    )
    return [str(space.build_expression(number)) for number in space.numbers.tolist()]


def drawn(
    rng: np.random.Generator, texts: list[str], rows: int, ratio: float
) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw a table with targets a and b of two features, and c of two others; and the four, shape (4, n)."""
    x = dict(zip(NAMES, rng.uniform(0.5, 2.0, (INPUTS, rows)), strict=True))
    while True:
        values = np.array(
            [
                evaluate_expression(parse_expression(texts[k]), x)
                for k in rng.choice(len(texts), 4, replace=False)
            ]
        )
        near = np.abs(np.corrcoef(values))
        if max(near[0, 1], near[2, 3]) < CLOSEST and len(set(kinds(values))) == 4:
            break
    standard = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
    targets = {}
    for name, pair in (("a", standard[:2]), ("b", standard[:2]), ("c", standard[2:])):
        clean = (rng.choice([-1.0, 1.0], 2) * rng.uniform(0.5, 1.5, 2)) @ pair
        targets[name] = clean + ratio * clean.std() * rng.normal(size=rows)
    return pd.DataFrame(x | targets), values


def kinds(values: np.ndarray) -> list[int]:
    """Say what affine copies have in common."""
    return compute_affine_signatures(values, mirrored=True).tolist()


def shows(frame: pd.DataFrame, targets: str, truth: np.ndarray) -> bool:
    """Fit targets, and say whether the terms are the true ones, up to affine copies."""
    rows = frame[[*NAMES, *targets.split(",")]]
    terms = symscreen.fit(rows, target=targets, max_terms=len(truth) + 1, **SPACE).formula.terms
    columns = {name: frame[name].to_numpy() for name in NAMES}
    found = [evaluate_expression(term, columns) for term in terms]
    return bool(found) and set(kinds(np.array(found))) == set(kinds(truth))


def rates(texts: list[str], rows: int, ratio: float, trials: int) -> list[float]:
    """Return how often the terms are found, as the columns of the table have it."""
    rng, right = np.random.default_rng([SEED, rows, round(100 * ratio)]), []
    for _ in range(trials):
        frame, truth = drawn(rng, texts, rows, ratio)
        a, b, c = (shows(frame, *one) for one in (("a", truth[:2]), ("b", truth[:2]), ("c", truth[2:])))
        together, apart = shows(frame, "a,b", truth[:2]), shows(frame, "a,c", truth)
        right.append([together, (a + b) / 2, a and b, apart, a and c])
    return np.mean(right, axis=0).tolist()


def main(arguments: Sequence[str]) -> None:
    """Measure, print and save."""
    options = make_parser(__doc__)
    options.add_argument("--trials", type=int, default=50)
    given, named, texts = options.parse_args(arguments), describe_machine(), features()
    found = [
        {"rows": rows, "noise": ratio, "rates": rates(texts, rows, ratio, given.trials)}
        for rows in ROWS
        for ratio in NOISE
    ]
    table = format_table(
        HEAD,
        [
            (one["rows"], f"{one['noise']:g}", *(f"{100 * share:.0f} %" for share in one["rates"]))
            for one in found
        ],
    )
    outcome = {"machine": named, "seed": SEED, "trials": given.trials, "features": len(texts), "found": found}
    save_results("shared_terms", outcome, table, given.results)
