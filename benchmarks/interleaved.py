"""Deep formulas through cuts: layers ``ubub`` on ten inputs, cut by ranks or by BART.

The truth is y = 15(exp(x1) − exp(x2))² + 20 sin(π x3 x4) + N(0, 0.5²), x ~ U[−1, 1], n = 250: the size of
iBART's own example. Prints where both terms stand in the final table, and the formula that ``fit`` finds.

Usage: ``python benchmarks/interleaved.py [--cut bart] [--seeds 3]``
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import symscreen

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


def main() -> None:
    """Run the seeds asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cut", default="t0,xi")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    keep = None if options.cut.startswith("bart") else 200
    with tempfile.TemporaryDirectory() as folder:
        grammar = Path(folder) / "interleaved.toml"
        grammar.write_text(GRAMMAR)
        for seed in range(options.seeds):
            x, y = sample(seed)
            start = time.perf_counter()
            result = symscreen.screen(x, y, operators=grammar, keep=keep, cut=options.cut)
            seconds = time.perf_counter() - start
            found = {
                term: [place for place, text in enumerate(result.table.expression, 1) if term in text]
                for term in TERMS
            }
            print(f"seed {seed}: {result.n_scored:,} features in {seconds:.1f} s")
            for cut in result.record["cuts"]:
                print(f"  layer {cut['layer']}: {cut['chosen']} of {cut['scored']:,} stay")
            for term, places in found.items():
                print(f"  {term}: first in rank {places[0] if places else '-'}, in {len(places)} of 20 rows")
            start = time.perf_counter()
            fitted = symscreen.fit(x, y, operators=grammar, layers="ubub", keep=keep, cut=options.cut)
            print(f"  fit in {time.perf_counter() - start:.1f} s: {fitted.formula.round_numbers(4).equation}")


if __name__ == "__main__":
    main()
