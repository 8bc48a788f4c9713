"""A weak additive term, with one round and with two.

The truth is y = 10 x1² + 0.3 sin(x2) + N(0, variance 0.01), x ~ U[−3, 3], n = 200, in the space ``ub`` of
id, square, cube, sin; +, ×. Prints for each seed the place of sin(x2) among all features in one round, and in
the second round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from measurement import make_parser, save_rows

import symscreen

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> None:
    """Screen each seed."""
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args(arguments)
    rows = []
    for seed in range(options.seeds):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-3, 3, size=(200, 3))
        y = 10 * x[:, 0] ** 2 + 0.3 * np.sin(x[:, 1]) + rng.normal(0, 0.1, 200)
        space = {"layers": "ub", "unary": "id,square,cube,sin", "binary": "add,mul"}
        table = symscreen.screen(x, y, rounds=2, **space).table
        second = table[table["round"] == 2].reset_index(drop=True)
        ranks = np.flatnonzero(second.expression == "sin(x2)")
        rank = int(ranks[0]) + 1 if len(ranks) else None
        alone = None if rank is None else int(second.place_alone[rank - 1])
        rows.append({"seed": seed, "rank in one round": alone, "rank in the second round": rank})
    single = [row["rank in one round"] for row in rows if row["rank in one round"]]
    note = f"Found in the second round in {len(single)} of {options.seeds} seeds."
    note += f" Median rank in one round: {np.median(single):g} of 159." if single else ""
    save_rows("residual_rounds", rows, options.results, note)
