from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.statistics.ranks.binary_targets import build_binary_targets
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import (
    compute_binary_ranking_metric,
    compute_mean_gini_difference,
    find_common_direction,
)
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.ranking_notation import Rankings
from symscreen.targets.ranking_ranks import compute_pair_signs

LABELS = "abcdefgh"


def _ranks(rng, n, k, *, missing=0.0, tied=False):
    ranks = rng.normal(size=(n, k))
    if tied:
        ranks = np.round(ranks)
    lacks = rng.random((n, k)) < missing
    lacks[np.arange(n), rng.integers(k, size=n)] = False
    ranks = np.where(lacks, np.nan, ranks)
    ranks[:2] = np.arange(k), np.arange(k)[::-1]  # every pair of labels is ordered both ways
    return ranks


def _make_target(ranks):
    return RankingTarget(Rankings(ranks, tuple(LABELS[: ranks.shape[1]])))


def _scores(values, target):
    return compute_mean_gini_difference(target.binary_targets) - compute_binary_ranking_metric(
        sort_block(values), target.binary_targets
    )


def _by_definition(values, ranks):
    """The mean of min(T0_p, 2Δ_p − T0_p) of each feature, by the share of rows that count, pair by pair."""
    total = delta = weights = 0.0
    for signs in compute_pair_signs(ranks).T.astype(float):
        counts = signs != 0
        own = signs[counts]
        if len(set(own)) < 2:
            continue
        t0, gini = symscreen.t0(values[:, counts].T, own), symscreen.t0(-own, own) / 2
        total = total + counts.mean() * np.minimum(t0, 2 * gini - t0)
        delta += counts.mean() * gini
        weights += counts.mean()
    return total / weights, delta / weights


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("n", "k"), [(6, 2), (25, 3), (60, 5), (300, 8)])
def test_the_score_is_the_definition_pair_by_pair(rng, n, k, missing, tied):
    ranks = _ranks(rng, n, k, missing=missing, tied=tied)
    values = rng.normal(size=(12, n))
    values[::3] = np.round(values[::3])
    target = _make_target(ranks)
    t0, gini = _by_definition(values, target.ranks)
    assert _scores(values, target) == pytest.approx(t0, abs=1e-12)
    assert compute_mean_gini_difference(target.binary_targets) == pytest.approx(gini, abs=1e-12)
    assert target.gini_mean_difference == compute_mean_gini_difference(target.binary_targets)


def test_a_feature_that_decides_every_pair_scores_exactly_nothing(rng):
    z = rng.normal(size=70)
    ranks = np.array([0.0, 1.0, 2.0, 5.0]) * (z[:, None] - [0.1, -0.2, 0.3, 0.0])
    ranks[rng.random(ranks.shape) < 0.2] = np.nan
    ranks[:, 0] = 0.0
    assert _scores(np.array([z, -z, np.exp(z)]), _make_target(ranks)).tolist() == [0.0, 0.0, 0.0]


def test_two_labels_are_a_binary_response(rng):
    z, side = rng.normal(size=40), np.where(rng.random(40) < 0.4, 1.0, -1.0)
    ranks = np.column_stack([side, np.zeros(40)])
    gini = symscreen.t0(-side, side) / 2
    t0 = symscreen.t0(z, side)
    assert _scores(z[None], _make_target(ranks))[0] == pytest.approx(min(t0, 2 * gini - t0), abs=1e-14)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_rows_labels_and_scores_for_ranks_do_not_change_a_bit(rng, missing):
    ranks = _ranks(rng, 80, 5, missing=missing, tied=True)
    values = np.round(rng.normal(size=(30, 80)), 1)
    expected = _scores(values, _make_target(ranks)).tobytes()
    rows, labels = rng.permutation(80), rng.permutation(5)
    assert _scores(np.ascontiguousarray(values[:, rows]), _make_target(ranks[rows])).tobytes() == expected
    assert _scores(values, _make_target(np.ascontiguousarray(ranks[:, labels]))).tobytes() == expected
    assert _scores(values, _make_target(-ranks)).tobytes() == expected
    assert _scores(-values, _make_target(ranks)).tobytes() == expected
    assert b"".join(_scores(row[None], _make_target(ranks)).tobytes() for row in values) == expected


def test_a_pair_that_all_rows_order_one_way_changes_nothing(rng):
    ranks = _ranks(rng, 50, 3)
    extended = np.column_stack([ranks, np.full(50, 100.0), np.full(50, 101.0)])
    values = rng.normal(size=(5, 50))
    alone, more = _make_target(ranks), _make_target(extended)
    assert len(more.binary_targets.n_observed) == len(alone.binary_targets.n_observed) == 3
    assert _scores(values, more).tobytes() == _scores(values, alone).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_whole_numbers_do_not_overflow_in_long_tables(rng, missing):
    n = 70_000  # n² is beyond 32 bits
    z = np.sort(rng.normal(size=n))
    ranks = np.column_stack([z, np.zeros(n)])
    ranks[rng.random(n) < missing, 0] = np.nan
    values = np.array([z, rng.normal(size=n), np.floor(z)])
    assert _scores(values, _make_target(ranks)) == pytest.approx(_by_definition(values, ranks)[0], abs=1e-12)


def _signs(rng, responses, n):
    signs = rng.integers(-1, 2, (responses, n)).astype(np.int8)
    signs[0] = np.where(rng.random(n) < 0.4, 1, -1)  # of all rows
    return signs


@pytest.mark.parametrize("n", [7, 90])
def test_weights_count_as_written(rng, n):
    responses = build_binary_targets(_signs(rng, 4, n), np.array([0.2, 3.0, 1.0, 0.7]))
    values = np.round(rng.normal(size=(9, n)), 1)
    total = delta = mass = 0.0
    for signs, weight in zip(responses.signs, responses.weights, strict=True):
        counts = signs != 0
        own = signs[counts].astype(float)
        gini = symscreen.t0(-own, own) / 2
        t0 = np.array([symscreen.t0(z[counts], own) for z in values])
        total = total + weight * counts.sum() * np.minimum(t0, 2 * gini - t0)
        delta, mass = delta + weight * counts.sum() * gini, mass + weight * counts.sum()
    found = compute_mean_gini_difference(responses) - compute_binary_ranking_metric(
        sort_block(values), responses
    )
    assert found == pytest.approx(total / mass, abs=1e-12)
    assert compute_mean_gini_difference(responses) == pytest.approx(delta / mass, abs=1e-12)


def test_the_direction_is_that_of_every_response(rng):
    responses = build_binary_targets(_signs(rng, 3, 12))
    values = np.concatenate([rng.normal(size=(200, 12)), np.floor(rng.normal(size=(50, 12)))])
    values[0] = 1.0
    expected = []
    for z in values:
        sums = [
            sum(np.sign(z[i] - z[j]) for i in np.flatnonzero(own > 0) for j in np.flatnonzero(own < 0))
            for own in responses.signs
        ]
        expected.append(int(max(sums) > 0) - int(min(sums) < 0))
    ordered, turned = sort_block(values), sort_block(-values)
    assert find_common_direction(ordered, responses).tolist() == expected
    assert (find_common_direction(turned, responses) == -find_common_direction(ordered, responses)).all()
    assert set(expected) == {-1, 0, 1}
