"""The cost of filtering candidates before any value is computed.

Layers of add, sub, mul and div over inputs, where hardly a candidate repeats another; over a pool that such a
layer has made of inputs, where many do; and of operators whose keys are composed step by step. Each setting
runs in a process of its own; the peak is that of two threads, the statuses included.

``--most`` bounds the candidates.
"""

from __future__ import annotations

import multiprocessing
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from measurement import make_parser, save_rows

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion.candidate_filter import (
    CandidateStatus,
    FilterResult,
    estimate_filter_bytes,
    filter_candidates,
)
from symscreen.expansion.candidates import Candidates, enumerate_candidates
from symscreen.expansion.generation import expand
from symscreen.expansion.operator_tasks import compute_tie_break_rank
from symscreen.grammar import Grammar, load_grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def enumerate_last_layer(inputs: int, layers: str) -> tuple[Grammar, Pool, Candidates]:
    """Return the last layer's candidates, and the pool that it is applied to."""
    grammar = replace(load_grammar("basic"), forbid={}, forbid_within={})
    space = expand(
        [f"x{place}" for place in range(inputs)],
        None,
        grammar,
        grammar.resolve_layers(layers),
        options=SpaceOptions(),
    )
    pool = space.pool
    layer = grammar.resolve_layers(layers)[-1]
    return grammar, pool, enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts)


def filter_with_threads(grammar: Grammar, pool: Pool, candidates: Candidates, jobs: int) -> FilterResult:
    """Decide with some threads."""
    return filter_candidates(
        candidates,
        pool.symbols,
        pool.nodes,
        grammar,
        domain_masks={},
        range_masks={},
        existing_keys=pool.nodes.keys,
        tie_break_ranks=compute_tie_break_rank(pool.nodes.complexity),
        has_next_layer=False,
        excluded={},
        map_function=Threads(jobs).map,
    )


def measure_setting(setting: tuple[str, int, str]) -> dict[str, Any]:
    """Measure one setting."""
    over, inputs, layers = setting
    filter_with_threads(*enumerate_last_layer(3, layers), 2)  # loads the kernels
    arguments = enumerate_last_layer(inputs, layers)
    total = arguments[2].total
    tracemalloc.start()
    copies = float((filter_with_threads(*arguments, 2).statuses == CandidateStatus.DUPLICATE).mean())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    each = []
    for jobs in (1, 2):
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            filter_with_threads(*arguments, jobs)
            times.append(time.perf_counter() - start)
        each.append(min(times) / total * 1e9)
    return {
        "candidates": total,
        "layer": layers.split()[-1],
        "pool": over,
        "duplicates, %": 100 * copies,
        "ns each, 1 thread": each[0],
        "ns each, 2 threads": each[1],
        "peak MB": peak / 1e6,
        "estimated MB": estimate_filter_bytes(total) / 1e6,
    }


def main(arguments: Sequence[str]) -> None:
    """Measure each setting in a process of its own."""
    parser = make_parser(__doc__)
    parser.add_argument("--most", type=float, default=2e7, help="the largest number of candidates")
    options = parser.parse_args(arguments)
    fresh, rows = multiprocessing.get_context("spawn"), []
    for setting in SETTINGS:
        if 3 * setting[1] ** 2 <= options.most:
            with ProcessPoolExecutor(1, mp_context=fresh) as executor:
                rows.append(executor.submit(measure_setting, setting).result())
            print(rows[-1], flush=True)
    save_rows("candidate_filter", rows, options.results)
