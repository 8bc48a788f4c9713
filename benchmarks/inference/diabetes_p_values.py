"""P-values of every formula of two layers on the diabetes table, beside those of a million permutations.

The table of scikit-learn has 442 rows, and every formula has tied rows. About three minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measurement import describe_machine, format_table, make_parser, save_results
from scipy.stats import rankdata
from sklearn.datasets import load_diabetes

import symscreen

PERMUTATIONS = 1_000_000
MIN_P_VALUE = 0.001  # rarer values are too few among the permutations
_BLOCK = 5_000
_EQUAL = 1e-6  # relative difference of sums that are equal in single precision


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS)
    chosen = parser.parse_args(arguments)
    table = load_diabetes(as_frame=True, scaled=False)
    screener = symscreen.SymbolicScreener(layers="ub", top="all").fit(table.data, table.target)
    values, p_values = (
        np.asarray(screener.transform(table.data)),
        screener.result_.table["p_value"].to_numpy(),
    )
    ranks = rankdata(values, axis=0) - (len(values) + 1) / 2
    y = table.target.to_numpy() - table.target.mean()
    exact = count_permutations(y, ranks, chosen.permutations) / chosen.permutations
    compared = exact >= MIN_P_VALUE
    ratios = p_values[compared] / exact[compared]
    found: dict[str, Any] = {
        "machine": describe_machine(),
        "permutations": chosen.permutations,
        "features": len(exact),
        "tied": int(sum(len(np.unique(column)) < len(column) for column in values.T)),
        "compared": int(compared.sum()),
        "quantiles": {f"{q:g}": float(np.quantile(ratios, q)) for q in (0.0, 0.05, 0.5, 0.95, 1.0)},
    }
    head = ["p / p of permutations", *found["quantiles"]]
    text = (
        f"{found['features']:,} features, {found['tied']:,} with ties. {found['compared']:,} have p-values "
        f"of at least {MIN_P_VALUE:g} by {chosen.permutations:,} permutations. Quantiles of the ratio:"
    )
    quantiles = format_table(head, [["", *(f"{ratio:.3f}" for ratio in found["quantiles"].values())]])
    save_results("diabetes_p_values", found, f"{text}\n\n{quantiles}", chosen.results)


def count_permutations(y: np.ndarray, ranks: np.ndarray, n_permutations: int) -> np.ndarray:
    """Count the permutations of y whose |Σ y_i R_i| is at least that of the data, by column of ranks."""
    observed = np.abs(y @ ranks) * (1.0 - _EQUAL)
    rng, counts = np.random.default_rng(0), np.zeros(ranks.shape[1])
    single_y, single_ranks = y.astype(np.float32), ranks.astype(np.float32)
    for _ in range(n_permutations // _BLOCK):
        permuted = rng.permuted(np.tile(single_y, (_BLOCK, 1)), axis=1)
        counts += (np.abs(permuted @ single_ranks) >= observed).sum(axis=0)
    return counts
