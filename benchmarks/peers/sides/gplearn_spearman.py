"""gplearn: SymbolicTransformer with the Spearman metric; counted are the programs that it evaluates.

Run as ``python gplearn_spearman.py TABLE.npz``.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from gplearn.genetic import SymbolicTransformer
from side_report import print_report

POPULATION, GENERATIONS, JOBS = 2000, 5, 2


def transformer(population: int, generations: int) -> SymbolicTransformer:
    """Return one with the four operators and its own defaults."""
    return SymbolicTransformer(
        population_size=population,
        generations=generations,
        hall_of_fame=100,
        n_components=10,
        function_set=("add", "sub", "mul", "div"),
        metric="spearman",
        n_jobs=JOBS,
        random_state=0,
    )


def main() -> None:
    """Time it on the table given, after a small one that starts the workers."""
    with np.load(sys.argv[1]) as table:
        x, y = table["x"], table["y"]
    transformer(200, 2).fit(x[:50], y[:50])
    start = time.perf_counter()
    transformer(POPULATION, GENERATIONS).fit(x, y)
    seconds = time.perf_counter() - start
    print_report(seconds, POPULATION * GENERATIONS, "gplearn", "numpy", "scikit-learn", threads=JOBS)


if __name__ == "__main__":
    main()
