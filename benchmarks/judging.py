"""What it costs to decide what becomes of candidates before any value is computed.

Layers of add, sub, mul and div over inputs, where hardly a candidate repeats another; over a pool that such a
layer has made of inputs, where many do; and of operators whose keys are composed step by step. Each setting
runs in a process of its own; the peak is that of two threads, the fates included.

Run with ``python benchmarks/judging.py``; ``--most`` bounds the candidates.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.backends import Threads
from symscreen.expansion.candidates import Candidates, enumerate_candidates
from symscreen.expansion.generation import expand
from symscreen.expansion.operator_tasks import compute_tie_break_rank
from symscreen.expansion.pruning import (
    CandidateStatus,
    FilterResult,
    estimate_filter_bytes,
    filter_candidates,
)
from symscreen.grammar import Grammar, load_grammar

if TYPE_CHECKING:
    from symscreen.expansion.pool import Pool

RATIONAL, COMPOSED = "b[add,sub,mul,div]", "b[absdiff,min,max]"
SETTINGS = (
    ("inputs", 12, RATIONAL),
    ("inputs", 58, RATIONAL),
    ("inputs", 578, RATIONAL),
    ("inputs", 1826, RATIONAL),
    ("inputs", 5774, RATIONAL),
    ("a layer", 14, f"{RATIONAL} {RATIONAL}"),
    ("a layer", 25, f"{RATIONAL} {RATIONAL}"),
    ("inputs", 1000, COMPOSED),
)
REPEATS = 3


def problem(inputs: int, layers: str) -> tuple[Grammar, Pool, Candidates]:
    """Return the last layer's candidates, and the pool that it is applied to."""
    grammar = replace(load_grammar("basic"), forbid={}, forbid_within={})
    space = expand([f"x{place}" for place in range(inputs)], None, grammar, grammar.resolve_layers(layers))
    pool = space.pool
    layer = grammar.resolve_layers(layers)[-1]
    return grammar, pool, enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts)


def judged(grammar: Grammar, pool: Pool, candidates: Candidates, jobs: int) -> FilterResult:
    """Decide with some threads."""
    return filter_candidates(
        candidates,
        pool.symbols,
        pool.nodes,
        grammar,
        domain_masks={},
        existing_keys=pool.nodes.keys,
        tie_break_ranks=compute_tie_break_rank(pool.nodes.complexity),
        has_next_layer=False,
        excluded={},
        map_function=Threads(jobs).map,
    )


def line(setting: tuple[str, int, str]) -> str:
    """Measure one setting."""
    over, inputs, layers = setting
    judged(*problem(3, layers), 2)  # warm-up: compiles, or loads what was compiled before
    arguments = problem(inputs, layers)
    total = arguments[2].total
    tracemalloc.start()
    copies = float((judged(*arguments, 2).statuses == CandidateStatus.DUPLICATE).mean())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    each = []
    for jobs in (1, 2):
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            judged(*arguments, jobs)
            times.append(time.perf_counter() - start)
        each.append(min(times) / total * 1e9)
    return (
        f"{total:>11,} of {layers.split()[-1]} over {over}: {copies:5.1%} duplicates, {each[0]:7.1f} and "
        f"{each[1]:7.1f} ns each with 1 and 2 threads, peak {peak / 1e6:6.1f} MB, "
        f"{estimate_filter_bytes(total) / 1e6:.1f} foretold"
    )


def main() -> None:
    """Print one line a setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=float, default=2e7)
    most = parser.parse_args().most
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    fresh = multiprocessing.get_context("spawn")
    for setting in SETTINGS:
        if 3 * setting[1] ** 2 <= most:
            with ProcessPoolExecutor(1, mp_context=fresh) as executor:
                print(executor.submit(line, setting).result(), flush=True)


if __name__ == "__main__":
    main()
