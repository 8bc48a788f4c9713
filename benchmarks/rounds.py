"""A weak additive term, with one round and with two.

The truth is y = 10 x1² + 0.3 sin(x2) + N(0, variance 0.01), x ~ U[−3, 3], n = 200, in the space ``ub`` of
id, square, cube, sin; +, ×. Prints for each seed the place of sin(x2) among all features in one round, and in
the second round.

Usage: ``python benchmarks/rounds.py [--seeds 20]``
"""

from __future__ import annotations

import argparse

import numpy as np

import symscreen


def main() -> None:
    """Run the seeds asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    first, found = [], 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-3, 3, size=(200, 3))
        y = 10 * x[:, 0] ** 2 + 0.3 * np.sin(x[:, 1]) + rng.normal(0, 0.1, 200)
        space = {"layers": "ub", "unary": "id,square,cube,sin", "binary": "add,mul"}
        table = symscreen.screen(x, y, rounds=2, **space).table
        second = table[table["round"] == 2].reset_index(drop=True)
        place = list(second.expression).index("sin(x2)") + 1 if "sin(x2)" in set(second.expression) else None
        alone = int(second.place_alone[place - 1]) if place else None
        found += place is not None
        first.append(alone)
        print(f"seed {seed}: place in one round {alone}, in the second {place}")
    print(f"found in the second round in {found} of {seeds} seeds; alone, its median place is", end=" ")
    print(f"{np.median([place for place in first if place]):g} of 159")


if __name__ == "__main__":
    main()
