"""Memory estimates, compared with the peak memory of real processes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers import forked_runs
from helpers.forked import run_forked
from helpers.requirements import needs
from helpers.screening_oracles import request_of

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import estimate_space_size, expand
from symscreen.grammar import load_grammar
from symscreen.screeners import parse_screeners
from symscreen.screening.inference.error_control import ErrorControl
from symscreen.screening.memory_estimate import estimate_memory, estimate_scoring_bytes

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
def test_the_peak_is_predicted(rows, inputs, thin, options, tmp_path):
    told = tmp_path / "memory.json"
    assert run_forked(forked_runs.estimate_and_measure_peak, rows, inputs, options, told, recompute=thin) == 0
    estimates, peak = json.loads(told.read_text())
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
