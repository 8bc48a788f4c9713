from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.screening_oracles import normal_null, request_of, space_of, table_of, wide_space_of
from threadpoolctl import threadpool_info

import symscreen
from symscreen.backends import Threads
from symscreen.screeners import SCREENERS, T0
from symscreen.screening.inference import error_control
from symscreen.screening.inference.error_control import (
    EMPTY_INFERENCE_STATE,
    ErrorControl,
    build_inference,
    merge_inference_states,
    merge_inference_states_if_due,
)
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.streaming import limit_blas_threads, score_stream
from symscreen.statistics.inference.p_value_counts import encode_p_values
from symscreen.statistics.ranks.sorted_block import sort_block

WITH_NULL = replace(T0, null_distribution=normal_null)


def _scorer(table, space, sign="free", screener=WITH_NULL, permutations=25):
    watch = build_inference(ErrorControl(permutations=permutations), table.target, screener, sign, 4)
    keep = TopKSpec(0, "ranks", screener.merges_mirrored(sign), limit=3)
    return Scorer(space, table.target, (screener,), sign, (keep,), inference=watch)


@pytest.fixture
def scorer(rng):
    table = table_of(rng)
    return _scorer(table, wide_space_of(table))


@pytest.mark.parametrize(("jobs", "chunk_size"), [(1, 1), (2, 7), (2, 40), (1, 10**6)])
def test_what_is_seen_does_not_depend_on_chunks_and_threads(scorer, jobs, chunk_size):
    whole = scorer((0, scorer.space.total)).inference_state
    found = score_stream(scorer, Threads(jobs), chunk_size)
    assert found.inference_state.p_value_counts.keys.tobytes() == whole.p_value_counts.keys.tobytes()
    assert found.inference_state.p_value_counts.counts.tobytes() == whole.p_value_counts.counts.tobytes()
    assert found.inference_state.max_statistics.tobytes() == whole.max_statistics.tobytes()
    assert found.inference_state.p_value_counts.total == found.n_scored > 100


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_every_feature_is_counted_by_its_p_value(rng, sign):
    table = table_of(rng, rows=12)
    space = space_of(table)
    scorer = _scorer(table, space, sign)
    values = np.concatenate([block.values for block in space.evaluate_range(0, space.total)])
    ordered = sort_block(values)
    p = normal_null(table.target, 0)(ordered, T0.statistic(ordered, table.target), sign)
    tally = scorer((0, space.total)).inference_state.p_value_counts
    keys, counts = np.unique(encode_p_values(p), return_counts=True)
    assert (tally.keys.tolist(), tally.counts.tolist()) == (keys.tolist(), counts.tolist())


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_the_best_of_the_space_is_found_under_each_permutation(rng, sign):
    table = table_of(rng, rows=14)
    space = space_of(table)
    scorer = _scorer(table, space, sign)
    y, shuffles = table.target.values, scorer.inference.permuted_target
    values = np.concatenate([block.values for block in space.evaluate_range(0, space.total)])
    ranks = sort_block(values).doubled_ranks - 15.0
    spread = np.sqrt((ranks**2).sum(axis=1))
    value_of = dict(zip(shuffles.weights.tolist(), y.tolist(), strict=True))
    best = scorer((0, space.total)).inference_state.max_statistics
    unit = []
    for b, column in enumerate(shuffles.permuted_weights.T):
        permuted = np.array([value_of[weight] for weight in column.tolist()])
        assert sorted(permuted.tolist()) == y.tolist()
        delta = symscreen.t0(-permuted, permuted) / 2
        gamma = (1 - symscreen.t0(values.T, permuted) / delta) / spread
        unit.append((np.abs(gamma) if sign == "free" else gamma).max() / best[b])
    assert np.allclose(unit, unit[0], rtol=1e-8)


def test_parts_are_added_up_when_due(scorer, monkeypatch):
    parts = [scorer(chunk).inference_state for chunk in scorer.space.split_chunks(9)]
    whole = merge_inference_states(parts)
    for due, most in ((10, 256), (1 << 20, 3), (1, 1)):
        monkeypatch.setattr(error_control, "_MAX_WAITING_COUNTS", due)
        monkeypatch.setattr(error_control, "_MAX_PARTS", most)
        waiting, longest = [], 0
        for part in parts:
            waiting = merge_inference_states_if_due([*waiting, part])
            longest = max(longest, len(waiting))
        assert longest < len(parts)
        found = merge_inference_states(waiting)
        assert found.p_value_counts.counts.tolist() == whole.p_value_counts.counts.tolist()
        assert found.max_statistics.tolist() == whole.max_statistics.tolist()


def test_without_a_watch_nothing_is_seen(rng):
    table = table_of(rng)
    scorer = replace(_scorer(table, space_of(table)), inference=None)
    assert scorer((0, 20)).inference_state is EMPTY_INFERENCE_STATE
    found = score_stream(scorer, Threads(1), 5).inference_state
    assert (found.p_value_counts.total, found.max_statistics) == (0, None)
    assert build_inference(None, table.target, T0, "free", 0) is None
    assert build_inference(ErrorControl(), table.target, SCREENERS["lasso"], "free", 0) is None


def test_blas_is_kept_to_one_thread_where_it_is_used_only(scorer):
    def threads():
        return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}

    before = threads()
    with limit_blas_threads(scorer):
        assert threads() == {1}
    without_permutations = replace(scorer.inference, permuted_target=None)
    with limit_blas_threads(replace(scorer, inference=without_permutations)):
        assert threads() == before
    assert request_of("t0").error_control is None
