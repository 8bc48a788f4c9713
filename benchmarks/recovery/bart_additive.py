"""BART on the paper's additive model: what its three rules keep, whether two seeds agree, what it costs.

y = 2·x1³ + 5·x3 + 10 + e with n = 100 and noise of variance 0.01, in the strict spaces bu (24 features) and
ub (42) of the ablation grammar, one feature a rank class. A rule is right where x1 and x3 both occur among
the features that it keeps, and x2 does not.

Arguments are the number of tables, and settings of the screener, such as ``10 depth=10``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import make_parser, save_rows

import symscreen
from symscreen.screeners.base import JointInput, transform_to_ranks
from symscreen.screeners.joint.bart import BART, compute_thresholds, sample_inclusion
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

SPACES = ("bu", "ub")
RULES = ("local", "gmax", "gse")


def make_space(layers: str, table: int) -> tuple[list[str], int, np.ndarray, NumericTarget]:
    """Return one formula a rank class, the number of features, their values and the response."""
    frame = symscreen.datasets.make_additive(n=100, noise_variance=0.01, seed=table).frame
    result = symscreen.screen(frame, operators="ablation", layers=layers, pool="strict", top="all")
    columns = result.transform(frame)
    rows = np.argsort(frame["target"].to_numpy(), kind="stable")
    values = np.ascontiguousarray(columns.to_numpy()[rows].T)
    _, first = np.unique(transform_to_ranks(values).T, axis=0, return_index=True)
    first.sort()
    return (
        [str(columns.columns[place]) for place in first],
        len(values),
        np.ascontiguousarray(values[first]),
        NumericTarget(frame["target"].to_numpy()[rows]),
    )


def is_right(kept: list[str]) -> bool:
    """Say whether the formulas kept are of x1 and x3 only, and of both."""
    text = " ".join(kept)
    return "x1" in text and "x3" in text and "x2" not in text


def screen_table(layers: str, table: int, settings: dict[str, Any]) -> tuple[dict[str, list[str]], float]:
    """Return what each rule keeps, and the correlation of inclusion with that of another seed."""
    names, _, values, response = make_space(layers, table)
    own, permuted = sample_inclusion(JointInput(values, response, seed=1, jobs=2), settings)
    other, _ = sample_inclusion(JointInput(values, response, seed=2, jobs=2), settings | {"rule": "none"})
    inclusion, again = np.concatenate(own).mean(axis=0), np.concatenate(other).mean(axis=0)
    kept = {}
    for rule in RULES:
        above = inclusion > compute_thresholds(permuted, rule, settings["alpha"])
        kept[rule] = [name for name, chosen in zip(names, above, strict=True) if chosen]
    return kept, float(np.corrcoef(inclusion, again)[0, 1])


def measure_permutations(settings: dict[str, Any]) -> float:
    """Return the seconds that 50 permutations of 24 features and one fit take two processes."""
    rng = np.random.default_rng(0)
    response = NumericTarget(np.sort(rng.normal(size=100)))
    shown = JointInput(rng.normal(size=(24, 100)), response, jobs=2)
    start = time.perf_counter()
    sample_inclusion(shown, settings | {"replicates": 1, "permutations": 50})
    return time.perf_counter() - start


def main(arguments: Sequence[str]) -> None:
    """Measure each table, and count the right answers."""
    parser = make_parser(__doc__)
    parser.add_argument("tables", type=int, nargs="?", default=10)
    parser.add_argument("settings", nargs="*", metavar="OPTION=VALUE", help="settings of bart")
    options = parser.parse_args(arguments)
    settings = BART.replace_settings(dict(word.split("=", 1) for word in options.settings)).all_settings
    rows = []
    for layers in SPACES:
        right, correlations = dict.fromkeys(RULES, 0), []
        for table in range(options.tables):
            kept, correlation = screen_table(layers, table, settings)
            correlations.append(correlation)
            for rule, names in kept.items():
                right[rule] += is_right(names)
                if not is_right(names):
                    print(f"{layers}, table {table}, {rule}: wrong, {names}", flush=True)
        rows.append({"space": layers, "tables": options.tables, **right, "agreement": min(correlations)})
    seconds = measure_permutations(settings)
    note = f"{settings}; 50 permutations of 24 features: {seconds:.1f} s with 2 jobs."
    save_rows("bart_additive", rows, options.results, note)
