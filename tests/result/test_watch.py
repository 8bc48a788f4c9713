from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from result.brute_force import normal_null, request_of, space_of, table_of, wide_space_of
from threadpoolctl import threadpool_info

import symscreen
from symscreen.backends import Threads
from symscreen.result import watch as watching
from symscreen.result.error_control import ErrorControl, watch_of
from symscreen.result.scoring import Keep, Scorer
from symscreen.result.stream import streamed
from symscreen.result.watch import NOTHING_SEEN, one_thread_each, seen_together, seen_when_due
from symscreen.screeners import SCREENERS, T0
from symscreen.statistics.order import order_features
from symscreen.statistics.tally import keys_of

WITH_NULL = replace(T0, null=normal_null)


def _scorer(table, space, sign="free", screener=WITH_NULL, permutations=25):
    watch = watch_of(ErrorControl(permutations=permutations), table.response, screener, sign, 4)
    keep = Keep(0, "ranks", mirrored=sign == "free", limit=3)
    return Scorer(space, table.response, (screener,), sign, (keep,), watch=watch)


@pytest.fixture
def scorer(rng):
    table = table_of(rng)
    return _scorer(table, wide_space_of(table))


@pytest.mark.parametrize(("jobs", "chunk_size"), [(1, 1), (2, 7), (2, 40), (1, 10**6)])
def test_what_is_seen_does_not_depend_on_chunks_and_threads(scorer, jobs, chunk_size):
    whole = scorer((0, scorer.space.total)).seen
    found = streamed(scorer, Threads(jobs), chunk_size)
    assert found.seen.tally.keys.tobytes() == whole.tally.keys.tobytes()
    assert found.seen.tally.counts.tobytes() == whole.tally.counts.tobytes()
    assert found.seen.best.tobytes() == whole.best.tobytes()
    assert found.seen.tally.total == found.scored > 100


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_every_feature_is_counted_by_its_p_value(rng, sign):
    table = table_of(rng, rows=12)
    space = space_of(table)
    scorer = _scorer(table, space, sign)
    values = np.concatenate([block.values for block in space.blocks(0, space.total)])
    ordered = order_features(values)
    p = normal_null(table.response, 0)(ordered, T0.statistic(ordered, table.response), sign)
    tally = scorer((0, space.total)).seen.tally
    keys, counts = np.unique(keys_of(p), return_counts=True)
    assert (tally.keys.tolist(), tally.counts.tolist()) == (keys.tolist(), counts.tolist())


@pytest.mark.parametrize("sign", ["free", "positive"])
def test_the_best_of_the_space_is_found_under_each_permutation(rng, sign):
    table = table_of(rng, rows=14)
    space = space_of(table)
    scorer = _scorer(table, space, sign)
    y, shuffles = table.response.values, scorer.watch.shuffles
    values = np.concatenate([block.values for block in space.blocks(0, space.total)])
    ranks = order_features(values).doubled_ranks - 15.0
    spread = np.sqrt((ranks**2).sum(axis=1))
    value_of = dict(zip(shuffles.weights.tolist(), y.tolist(), strict=True))
    best = scorer((0, space.total)).seen.best
    unit = []
    for b, column in enumerate(shuffles.shuffled.T):
        permuted = np.array([value_of[weight] for weight in column.tolist()])
        assert sorted(permuted.tolist()) == y.tolist()
        delta = symscreen.t0(-permuted, permuted) / 2
        gamma = (1 - symscreen.t0(values.T, permuted) / delta) / spread
        unit.append((np.abs(gamma) if sign == "free" else gamma).max() / best[b])
    assert np.allclose(unit, unit[0], rtol=1e-8)


def test_parts_are_added_up_when_due(scorer, monkeypatch):
    parts = [scorer(chunk).seen for chunk in scorer.space.chunks(9)]
    whole = seen_together(parts)
    for due, most in ((10, 256), (1 << 20, 3), (1, 1)):
        monkeypatch.setattr(watching, "_DUE", due)
        monkeypatch.setattr(watching, "_MOST_PARTS", most)
        waiting, longest = [], 0
        for part in parts:
            waiting = seen_when_due([*waiting, part])
            longest = max(longest, len(waiting))
        assert longest < len(parts)
        found = seen_together(waiting)
        assert found.tally.counts.tolist() == whole.tally.counts.tolist()
        assert found.best.tolist() == whole.best.tolist()


def test_without_a_watch_nothing_is_seen(rng):
    table = table_of(rng)
    scorer = replace(_scorer(table, space_of(table)), watch=None)
    assert scorer((0, 20)).seen is NOTHING_SEEN
    found = streamed(scorer, Threads(1), 5).seen
    assert (found.tally.total, found.best) == (0, None)
    assert watch_of(None, table.response, T0, "free", 0) is None
    assert watch_of(ErrorControl(), table.response, SCREENERS["lasso"], "free", 0) is None


def test_blas_is_kept_to_one_thread_where_it_is_used_only(scorer):
    def threads():
        return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}

    before = threads()
    with one_thread_each(scorer.watch):
        assert threads() == {1}
    with one_thread_each(replace(scorer.watch, shuffles=None)):
        assert threads() == before
    assert request_of("t0").control is None
