"""Rows in the order of time: how often ordinary p-values and circular shifts call independent series related.

Target and input are independent first-order autoregressions of 100 rows. Ordinary p-values are those of T0
without an order of rows; `--time` refuses them. With 19 circular shifts an input is called related if it is
better than under every shift, which happens with probability 1/20. About two minutes.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measurement import collect_rows, describe_machine, format_table, make_parser, save_results
from scipy.signal import lfilter

import symscreen

if TYPE_CHECKING:
    from symscreen._typing import Values

TABLES, ROWS, SHIFTS, LEVEL, PHIS = 1_000, 100, 19, 0.05, (0.0, 0.3, 0.6, 0.9)
WARM_UP = 500  # rows after which an autoregression is stationary


def _draw_series(phi: float, rng: np.random.Generator) -> Values:
    """Draw an autoregression, shape (n,)."""
    return np.asarray(lfilter([1.0], [1.0, -phi], rng.normal(size=ROWS + WARM_UP))[WARM_UP:])


def count_claims(key: dict[str, Any]) -> dict[str, Any]:
    """Count the tables whose input is called related to the target."""
    claims = {"ordinary": 0, "shifts": 0}
    for table in range(key["tables"]):
        rng = np.random.default_rng([67, round(10 * key["phi"]), table])
        columns = {
            "t": np.arange(ROWS),
            "x": _draw_series(key["phi"], rng),
            "y": _draw_series(key["phi"], rng),
        }
        options: dict[str, Any] = {"target": "y", "inputs": "x", "layers": "u", "unary": "id", "jobs": 1}
        ordinary = symscreen.screen(columns, **options).table["p_value"].iloc[0]
        shifted = symscreen.screen(columns, time="t", permutations=SHIFTS, seed=table, **options)
        claims["ordinary"] += int(ordinary <= LEVEL)
        claims["shifts"] += int(shifted.table["p_family"].iloc[0] <= LEVEL)
    return claims


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES, help="for each autocorrelation")
    parser.add_argument("--processes", type=int, default=1, help="rows computed at the same time")
    parser.add_argument("--checkpoint", type=Path, help="a file of results from which a run continues")
    chosen = parser.parse_args(arguments)
    keys = [{"phi": phi, "tables": chosen.tables} for phi in PHIS]
    rows = collect_rows(keys, count_claims, chosen.checkpoint, processes=chosen.processes)
    found = {
        "machine": describe_machine(),
        "level": LEVEL,
        "table_rows": ROWS,
        "shifts": SHIFTS,
        "rows": rows,
    }
    lines = [
        [f"{row['phi']:g}", *(f"{100 * row[name] / row['tables']:.1f}" for name in ("ordinary", "shifts"))]
        for row in rows
    ]
    error = f"{100 * math.sqrt(LEVEL * (1 - LEVEL) / chosen.tables):.1f}"
    head = ["autocorrelation", "ordinary p-values, %", "circular shifts, %"]
    text = f"{format_table(head, lines)}\n\nError of counting at 5 %: {error} points."
    save_results("autocorrelation", found, text, chosen.results)
