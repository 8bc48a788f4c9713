"""Max-T p-values on noise, by type of target: how often any formula of a space does better than noise.

Each table has 40 rows and three inputs of noise, one of them of integers. Its space is all pairs by +, −, ×
and ÷. With 19 permutations a formula is called better than noise if it is better than the best of every
permuted space, which happens with probability 1/20 under independence. About four minutes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results

import symscreen

if TYPE_CHECKING:
    from collections.abc import Callable

    Columns = dict[str, Any]
    Maker = Callable[[np.random.Generator], tuple[Columns, dict[str, Any]]]

ROWS, TABLES, PERMUTATIONS, LEVEL = 40, 1_000, 19, 0.05


def _draw_times(rng: np.random.Generator) -> Columns:
    """Draw times to an event, of which about a third are censored."""
    times, limits = rng.exponential(size=ROWS), rng.exponential(2.0, size=ROWS)
    return {"time": np.minimum(times, limits), "died": times <= limits}


def _draw_stages(rng: np.random.Generator) -> Columns:
    """Draw two stages, of which only rows at the first can reach the second."""
    viewed = rng.random(ROWS) < 0.7
    return {"viewed": viewed * 1.0, "liked": (viewed & (rng.random(ROWS) < 0.5)) * 1.0}


TARGETS: dict[str, Maker] = {
    "numeric, t0": lambda rng: ({"y": rng.normal(size=ROWS)}, {"target": "y"}),
    "numeric, xi": lambda rng: ({"y": rng.normal(size=ROWS)}, {"target": "y", "screener": "xi"}),
    "numeric, kendall": lambda rng: ({"y": rng.normal(size=ROWS)}, {"target": "y", "screener": "kendall"}),
    "numeric, pearson": lambda rng: ({"y": rng.lognormal(size=ROWS)}, {"target": "y", "screener": "pearson"}),
    "weighted rows": lambda rng: (
        {"y": rng.lognormal(size=ROWS), "w": rng.exponential(size=ROWS)},
        {"target": "y", "weights": "w"},
    ),
    "groups of rows": lambda rng: (
        {"y": np.repeat(rng.normal(size=10), 4) + rng.normal(size=ROWS), "site": np.repeat(np.arange(10), 4)},
        {"target": "y", "groups": "site"},
    ),
    "three classes": lambda rng: ({"level": rng.choice(["a", "b", "c"], ROWS)}, {"target": "level"}),
    "times to an event": lambda rng: (_draw_times(rng), {"target": "time", "event": "died"}),
    "rankings of three labels": lambda rng: (
        {"taste": [">".join(rng.permutation(["p", "q", "r"])) for _ in range(ROWS)]},
        {"ranking": "taste"},
    ),
    "two stages": lambda rng: (_draw_stages(rng), {"stages": ["viewed", "liked"]}),
}


def count_claims(key: dict[str, Any]) -> dict[str, Any]:
    """Count the tables of noise of which a formula is called better than noise."""
    n_claims = 0
    for table in range(key["tables"]):
        rng = np.random.default_rng([37, list(TARGETS).index(key["target"]), table])
        columns, options = TARGETS[key["target"]](rng)
        inputs = {"x1": rng.normal(size=ROWS), "x2": rng.lognormal(size=ROWS), "x3": rng.integers(1, 6, ROWS)}
        if "groups" in options:  # inputs that are alike within a group, too
            inputs["x1"] = np.repeat(rng.normal(size=10), 4)
        result = symscreen.screen(
            inputs | columns, inputs=list(inputs), layers="b", binary=["add", "sub", "mul", "div"], top=1,
            permutations=PERMUTATIONS, p_values=False, seed=table, jobs=1, **options,
        )  # fmt: skip
        n_claims += int(result.table["p_family"].iloc[0] <= LEVEL)
    return {"claims": n_claims}


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES, help="for each target")
    parser.add_argument("--processes", type=int, default=1, help="targets computed at the same time")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    keys = [{"target": target, "tables": chosen.tables} for target in TARGETS]
    rows = collect_rows(keys, count_claims, chosen.checkpoint, processes=chosen.processes)
    found = {"machine": describe_machine(), "level": LEVEL, "permutations": PERMUTATIONS, "rows": rows}
    lines = [
        [
            row["target"],
            f"{row['tables']:,}",
            f"{100 * row['claims'] / row['tables']:.1f}",
            f"{100 * math.sqrt(LEVEL * (1 - LEVEL) / row['tables']):.1f}",
        ]
        for row in rows
    ]
    head = ["target", "tables of noise", "claimed, %", "error of counting, %"]
    save_results("family_rates", found, format_table(head, lines), chosen.results)
