"""Deep formulas through cuts: layers ``ubub`` on ten inputs, cut by ranks or by BART.

The truth is y = 15(exp(x1) − exp(x2))² + 20 sin(π x3 x4) + N(0, 0.5²), x ~ U[−1, 1], n = 250: the size of
iBART's own example. Prints where both terms stand in the final table, and the formula that ``fit`` finds.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measurement import make_parser, save_rows

import symscreen

if TYPE_CHECKING:
    from collections.abc import Sequence

GRAMMAR = """
unary = ["sinpi", "exp", "square", "abs", "cube"]
binary = ["add", "sub", "mul"]
layers = "ubub"
[define.sinpi]
formula = "sin(pi*x)"
"""
TERMS = ("(exp(x1) - exp(x2))**2", "sinpi(x3*x4)")


def sample(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw 250 rows of the ten inputs and the response."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(250, 10))
    signal = 15 * (np.exp(x[:, 0]) - np.exp(x[:, 1])) ** 2 + 20 * np.sin(np.pi * x[:, 2] * x[:, 3])
    return x, signal + rng.normal(0, 0.5, 250)


def main(arguments: Sequence[str]) -> None:
    """Screen and fit each seed."""
    parser = make_parser(__doc__)
    parser.add_argument("--prune-by", default="t0,xi", help="the screeners that prune the pool")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    pruning = {
        "pool_size": None if options.prune_by.startswith("bart") else 200,
        "prune_by": options.prune_by,
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        grammar = Path(folder) / "deep.toml"
        grammar.write_text(GRAMMAR)
        for seed in range(options.seeds):
            x, y = sample(seed)
            start = time.perf_counter()
            result = symscreen.screen(x, y, operators=grammar, **pruning)
            middle = time.perf_counter()
            fitted = symscreen.fit(x, y, operators=grammar, layers="ubub", **pruning)
            ranks = {term: find_rank(result, term) for term in TERMS}
            rows.append(
                {
                    "seed": seed,
                    "features": result.n_scored,
                    "s": middle - start,
                    "kept": ", ".join(
                        f"{cut['chosen']} of {cut['scored']}" for cut in result.record["pool_pruning"]
                    ),
                    **{f"rank of {term}": rank for term, rank in ranks.items()},
                    "fit, s": time.perf_counter() - middle,
                    "formula": fitted.formula.round_numbers(4).equation,
                }
            )
            print(rows[-1], flush=True)
    save_rows("deep_formulas", rows, options.results, f"Pruned by {options.prune_by}.")


def find_rank(result: symscreen.ScreenResult, term: str) -> int | None:
    """Find the first rank whose formula contains a term."""
    return next((rank for rank, text in enumerate(result.table.expression, 1) if term in text), None)
