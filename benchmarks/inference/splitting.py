"""Sample splitting of a screen: how often intervals cover the formula that was chosen, and noise is claimed.

A screen of half of the rows chooses a formula; the other half gives its interval and p-value. Each table has
five inputs and a space of two layers. The population value of Γ of the chosen formula is that of 200,000
other rows. Claims are formulas without relation to the target whose `split_p` is at most 0.05: among noise
all formulas; with one true term those that contain neither of its inputs. About five minutes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results

import symscreen

if TYPE_CHECKING:
    from symscreen._typing import Values

TABLES, LEVEL, POPULATION = 1_000, 0.05, 200_000
INPUTS = [f"x{number}" for number in range(1, 6)]
OPTIONS: dict[str, Any] = {"layers": "ub", "unary": "square,exp", "binary": "add,mul", "top": 10, "jobs": 1}


def _draw_table(target: str, n_rows: int, rng: np.random.Generator) -> dict[str, Values]:
    """Draw a table of noise, or one whose target is a product of two inputs and noise."""
    columns = dict(zip(INPUTS, rng.normal(size=(len(INPUTS), n_rows)), strict=True))
    noise = rng.normal(size=n_rows)
    signal = np.exp(columns["x1"]) * columns["x2"] if target == "one true term" else 0.0
    return columns | {"y": 0.5 * signal + noise}


def measure_splits(key: dict[str, Any]) -> dict[str, Any]:
    """Count the intervals that cover the population value, and the tables with a false claim."""
    target, n_splits = key["target"], key["splits"]
    many = _draw_table(target, POPULATION, np.random.default_rng(61))
    n_covered, n_claims, known = 0, 0, dict[str, float]()
    for table in range(key["tables"]):
        rng = np.random.default_rng([61, key["rows"], table])
        options = {"splits": n_splits} if n_splits else {"split": 0.5}
        result = symscreen.screen(
            _draw_table(target, key["rows"], rng), target="y", seed=table, **options, **OPTIONS
        )
        rows = result.table
        is_false = [
            target == "noise" or not any(name in formula for name in ("x1", "x2"))
            for formula in rows["expression"]
        ]
        n_claims += int((rows["split_p"] <= LEVEL)[is_false].any())
        if not n_splits:
            best = rows.iloc[0]
            formula = str(best["expression"])
            if target != "noise" and formula not in known:
                scored = symscreen.screen(
                    many, target="y", also=[formula], layers="u", unary="square", top="all"
                )
                of_many = scored.table.set_index("expression")
                known[formula] = float(of_many["gini"][formula])
            value = known.get(formula, 0.0)
            n_covered += int(best["split_low"] <= value <= best["split_high"])
    return {"covered": None if n_splits else n_covered, "claims": n_claims}


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES, help="for each row of the result")
    parser.add_argument("--processes", type=int, default=1, help="rows computed at the same time")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    keys = [
        {"target": target, "rows": rows, "splits": splits, "tables": chosen.tables}
        for target in ("noise", "one true term")
        for rows, splits in ((60, 0), (200, 0), (60, 5))
    ]
    rows = collect_rows(keys, measure_splits, chosen.checkpoint, processes=chosen.processes)
    found = {"machine": describe_machine(), "level": LEVEL, "population": POPULATION, "rows": rows}
    lines = [
        [
            row["target"],
            str(row["rows"]),
            str(row["splits"] or 1),
            "" if row["covered"] is None else f"{100 * row['covered'] / row['tables']:.1f}",
            f"{100 * row['claims'] / row['tables']:.1f}",
        ]
        for row in rows
    ]
    head = ["target", "rows", "splits", "intervals that cover, %", "tables with a false claim, %"]
    error = f"{100 * math.sqrt(LEVEL * (1 - LEVEL) / chosen.tables):.1f}"
    text = f"{format_table(head, lines)}\n\nError of counting: {error} points at 5 % and at 95 %."
    save_results("splitting", found, text, chosen.results)
