"""BART with the trees of its authors and with stumps, on the additive model of figure 5.

y = 2·x1³ + 5·x3 + 10 + e with 100 rows, in the strict spaces bu and ub of the ablation grammar. A feature is
correct if it uses x1 and x3 only. Both kinds of trees have 50 trees and equal chains; they differ in `depth`.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import make_parser, save_rows

import symscreen
from symscreen.evaluation import compute_metrics, get_ranking_losses, parse_truth
from symscreen.evaluation.truth import find_correct_features
from symscreen.experiments.additive_model import LAYER_ORDERS, NOISE_VARIANCES
from symscreen.experiments.base import write_bart_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

N_ROWS = 100


def measure_precision(order: str, variance: float, seed: int, depth: int) -> float:
    """Return the average precision of a ranking by BART on one table."""
    data = symscreen.datasets.make_additive(n=N_ROWS, noise_variance=variance, seed=seed)
    spec = write_bart_spec(is_short=False).replace("depth=10", f"depth={depth}")
    result = symscreen.screen(
        data.frame,
        operators="ablation",
        layers=order,
        pool="strict",
        screener=spec,
        top="all",
        seed=seed,
    )
    correct = find_correct_features(result.expressions, parse_truth(data.truth), "active")
    (losses,) = get_ranking_losses(result).values()
    return float(compute_metrics(losses, correct, recall=())["average_precision"])


def main(arguments: Sequence[str]) -> None:
    """Compare the trees on some tables of each order and noise."""
    parser = make_parser(__doc__)
    parser.add_argument("--tables", type=int, default=5, help="tables of each order and noise variance")
    options = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for order, variance in product(LAYER_ORDERS, NOISE_VARIANCES):
        row: dict[str, Any] = {"order": order, "noise_variance": variance, "tables": options.tables}
        for name, depth in (("trees", 10), ("stumps", 1)):
            areas = [measure_precision(order, variance, seed, depth) for seed in range(options.tables)]
            row[name] = float(np.mean(areas))
            row[f"{name}_se"] = float(np.std(areas, ddof=1) / np.sqrt(len(areas)))
        rows.append(row)
    save_rows("bart_trees", rows, options.results)
