"""Memory estimates, compared with the peak memory of real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.requirements import needs
from helpers.screening_oracles import request_of

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import estimate_space_size, expand
from symscreen.grammar import load_grammar
from symscreen.screeners import parse_screeners
from symscreen.screening.inference.error_control import ErrorControl
from symscreen.screening.memory_estimate import estimate_memory, estimate_scoring_bytes

STATUS = Path("/proc/self/status")

# A process estimates its peak from the size of the space and when the space is there, then screens it.
PROCESS = """
import json, re, sys
from pathlib import Path
import numpy as np
import symscreen
from symscreen._limits import read_resident_bytes
from symscreen.expansion import estimate_space_size
from symscreen.screening import residual_rounds, space_generation
from symscreen.screening.memory_estimate import (
    estimate_memory, estimate_presort_bytes, estimate_scoring_bytes
)

rows, inputs, recompute, options = json.loads(sys.argv[1])
estimates = []
build_space, check_memory = residual_rounds.build_space, space_generation.check_scoring_memory
generate = space_generation.expand

def estimate_counted(task):
    size = estimate_space_size(task.dataset.names, task.grammar, task.layers, options=task.options)
    estimates.append(estimate_memory(size, task.target.n, task, recompute_pool=recompute).compute_peak())
    return build_space(task)

def estimate_generated(space, task):
    total = space.candidates.total
    scoring = estimate_scoring_bytes(space.n_rows, task, n_features=space.size, n_candidates=total)
    orders = 0 if recompute else estimate_presort_bytes(space, space.n_rows, task)
    estimates.append(read_resident_bytes() + orders + scoring)
    check_memory(space, task)

def expand_and_recompute(*args, **options):
    return generate(*args, **(options | {"recompute_pool": recompute}))

residual_rounds.build_space, space_generation.check_scoring_memory = estimate_counted, estimate_generated
space_generation.expand = expand_and_recompute
rng = np.random.default_rng(1)
X = rng.uniform(0.5, 2.0, (rows, inputs))
symscreen.screen(X, X[:, 0] * X[:, 1] + rng.normal(0, 0.1, rows), **options)
# not ru_maxrss, which a process inherits from its parent
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(json.dumps([estimates, int(peak) * 1024]))
"""
SLACK = 150_000_000


@pytest.mark.slow
@needs("proc")
@pytest.mark.parametrize(
    ("rows", "inputs", "thin", "options"),
    [
        (100, 120, False, {"layers": "b[add,mul]", "jobs": 2, "top": "all"}),
        (6000, 10, True, {"layers": "u[square,inv] b[add,mul] u[neg]", "jobs": 2}),
        (100_000, 6, False, {"layers": "u[square] b[mul]", "jobs": 2}),
    ],
)
def test_the_peak_is_predicted(rows, inputs, thin, options):
    text = json.dumps([rows, inputs, thin, options])
    done = subprocess.run([sys.executable, "-c", PROCESS, text], capture_output=True, text=True, check=True)
    estimates, peak = json.loads(done.stdout.splitlines()[-1])
    assert len(estimates) == 2
    for estimate in estimates:
        assert peak <= estimate <= 2 * peak + SLACK


def request(screeners="t0", **changes):
    return request_of(*parse_screeners(screeners, {}), **changes)


def test_what_takes_more_is_predicted_to_take_more():
    least = estimate_scoring_bytes(10_000, request())
    assert estimate_scoring_bytes(10_000, request(), n_features=5) < least
    assert estimate_scoring_bytes(100_000, request()) > least
    assert estimate_scoring_bytes(10_000, request(jobs=2)) > least
    assert estimate_scoring_bytes(10_000, request(limit=2000)) > least
    assert estimate_scoring_bytes(10_000, request("t0,xi")) > least
    assert estimate_scoring_bytes(10_000, request("t0,lasso")) > estimate_scoring_bytes(
        10_000, request("t0,xi")
    )
    assert estimate_scoring_bytes(10_000, request("t0,xi", prescreen=10_000)) > estimate_scoring_bytes(
        10_000, request("t0,xi")
    )
    assert estimate_scoring_bytes(10_000, request(limit=None), n_features=10**6) > least + 10**9
    watched = [
        estimate_scoring_bytes(10_000, request(error_control=ErrorControl(permutations=b)))
        for b in (0, 1, 1000)
    ]
    assert least < watched[0] < watched[1] < watched[2] - 8 * 10_000 * 999
    assert estimate_scoring_bytes(10_000, request(search="sieve"), n_candidates=10**8) > least + 10**8


def test_the_values_of_a_pool_are_counted_unless_they_are_recomputed():
    grammar, names = load_grammar("basic"), ["a", "b", "c"]
    layers = grammar.resolve_layers("ub u[sin]")
    counted = expand(names, None, grammar, layers, options=SpaceOptions())
    size = estimate_space_size(names, grammar, layers, options=SpaceOptions())
    stored = estimate_memory(size, 1000, request())
    recomputed = estimate_memory(size, 1000, request(), recompute_pool=True)
    assert stored.pool_bytes - recomputed.pool_bytes == len(counted.pool) * 8000
    assert stored.candidate_bytes == counted.candidates.total
    assert recomputed.compute_peak() < stored.compute_peak()
    for estimate in (stored, recomputed):
        assert (
            estimate.compute_peak()
            == estimate.process_bytes
            + estimate.pool_bytes
            + estimate.candidate_bytes
            + max(estimate.filter_bytes, estimate.scoring_bytes)
        )


def test_lists_are_no_longer_than_the_space():
    few, many = (estimate_scoring_bytes(10**6, request("t0,xi"), n_features=size) for size in (10, 10**6))
    assert few < many / 5
    assert estimate_scoring_bytes(10**6, request("t0,xi"), n_features=10**9) == many
    assert np.isfinite(float(many))


def test_orders_are_counted_where_they_are_allowed_and_worth_their_while():
    grammar, names = load_grammar("basic"), ["a", "b", "c"]
    layers = grammar.resolve_layers("b[add,mul] u[exp,log,sqrt]")
    counted = expand(names, None, grammar, layers, options=SpaceOptions())
    size = estimate_space_size(names, grammar, layers, options=SpaceOptions())
    free = estimate_memory(size, 10**6, request())
    assert free.row_order_bytes == len(counted.pool) * (4 * 10**6 + 1)
    assert (
        free.compute_peak()
        == free.process_bytes
        + free.pool_bytes
        + free.candidate_bytes
        + free.row_order_bytes
        + free.scoring_bytes
    )
    assert free.compute_peak(free.compute_peak() - 1) == free.compute_peak() - free.row_order_bytes
    assert estimate_memory(size, 10**6, request("pearson")).row_order_bytes == 0
    assert estimate_memory(size, 10**6, request(), recompute_pool=True).row_order_bytes == 0
