from __future__ import annotations

import numpy as np
import pytest
from helpers.statistic_oracles import q_in_memory

from symscreen.statistics.inference.p_value_counts import compute_harmonic_number
from symscreen.statistics.inference.statistic_counts import (
    N_LEVELS,
    LevelScale,
    StatisticCounter,
    StatisticCounts,
    compute_permutation_p_values,
    compute_permutation_q_values,
    count_exceeding,
    merge_statistic_counts,
)

SCALE = LevelScale(-1.0, 3.0)


def _count(own, permuted):
    counter = StatisticCounter(SCALE)
    counter.update(own, permuted)
    return counter.counts


def test_levels_ascend_and_hold_all_statistics():
    statistics = np.array([-np.inf, -2.0, -1.0, 0.0, 1.0, 3.0, 7.0, np.inf])
    levels = SCALE.find_levels(statistics)
    assert levels[:3].tolist() == [0, 0, 0]
    assert levels[-3:].tolist() == [N_LEVELS - 1] * 3
    assert levels[4] == (N_LEVELS - 1) // 2
    assert (np.diff(levels) >= 0).all()


def test_counts_are_those_of_every_statistic_and_a_permutation_that_equals_the_data_reaches_its_level(rng):
    own, permuted = rng.normal(size=300), rng.normal(size=(300, 7))
    own[0], permuted[0, 0] = np.nan, np.nan  # counts as the worst
    own[1], permuted[1, 0] = 50.0, -50.0
    counts = _count(own, permuted)
    edge = SCALE.low + (counts.levels[-2] + 1.0) / SCALE.factor  # the lower end of a level, up to rounding
    level = SCALE.find_levels(np.array([edge * (1 + 1e-15)]))[0]
    assert _count(np.array([edge]), np.array([[edge * (1 - 1e-15)]])).levels[-1] >= level
    expected = np.zeros(N_LEVELS, dtype=int), np.zeros(N_LEVELS, dtype=int)
    for kind, values in zip(expected, (own, permuted.ravel()), strict=True):
        for value in np.nan_to_num(values, nan=-9.0).tolist():
            kind[SCALE.find_levels(np.array([value]))[0]] += 1
    assert counts.levels.tolist() == np.flatnonzero(expected[0] + expected[1]).tolist()
    assert counts.observed.tolist() == expected[0][counts.levels].tolist()
    assert counts.permuted.tolist() == expected[1][counts.levels].tolist()


def test_counts_of_parts_add_up(rng):
    own, permuted = rng.normal(size=90), rng.normal(size=(90, 5))
    whole = _count(own, permuted)
    parts = [_count(own[part], permuted[part]) for part in (slice(40, 90), slice(0, 1), slice(1, 40))]
    merged = merge_statistic_counts([merge_statistic_counts(parts[:2]), parts[2], merge_statistic_counts([])])
    for name in ("levels", "observed", "permuted"):
        assert getattr(merged, name).tobytes() == getattr(whole, name).tobytes()


@pytest.mark.parametrize("method", ["bh", "by"])
def test_q_values_are_those_of_pooled_p_values(rng, method):
    own, permuted = rng.uniform(-0.5, 2.0, 60), rng.uniform(-1.0, 1.8, (60, 9))
    pool = np.concatenate([own, permuted.ravel()])
    pooled = np.array([(pool >= each).sum() / pool.size for each in own])
    counts = _count(own, permuted)
    q = compute_permutation_q_values(counts, 9, method)
    places = np.searchsorted(counts.levels, SCALE.find_levels(own))
    np.testing.assert_allclose(q[places], q_in_memory(pooled, method), rtol=1e-12)
    assert (np.diff(q) <= 0).all()
    assert q.min() >= 0.1


@pytest.mark.parametrize("n_permutations", [19, 99, 199])
def test_features_above_all_permutations_have_the_smallest_q_value_to_the_last_bit(n_permutations):
    counts = StatisticCounts(np.array([3], dtype=np.int32), np.array([7]), np.array([0]))
    assert compute_permutation_q_values(counts, n_permutations, "bh")[0] == 1 / (n_permutations + 1)
    by = compute_permutation_q_values(counts, n_permutations, "by")[0]
    assert by == pytest.approx(compute_harmonic_number(7) / (n_permutations + 1), rel=1e-14)


def test_features_that_are_copies_of_one_have_its_p_value_as_q_value(rng):
    one, permuted = rng.normal(size=1) + 1.0, rng.normal(size=(1, 19))
    counts = _count(np.repeat(one, 40), np.repeat(permuted, 40, axis=0))
    q = compute_permutation_q_values(counts, 19, "bh")
    place = np.searchsorted(counts.levels, SCALE.find_levels(one))[0]
    p = compute_permutation_p_values(count_exceeding(one, permuted), 19)
    assert q[place] == p[0] < 1.0


def test_no_feature_is_lost_where_none_is_observed_above():
    counts = StatisticCounts(np.array([1, 2], dtype=np.int32), np.array([4, 0]), np.array([0, 3]))
    assert compute_permutation_q_values(counts, 3, "bh").tolist() == [7 / 16, 7 / 16]


def test_equal_statistics_count_as_exceeding_up_to_rounding():
    own = np.array([0.1 + 0.2, -0.3])
    permuted = np.array([[0.3, 0.2999], [-0.1 - 0.2, -0.3001]])
    assert count_exceeding(own, permuted).tolist() == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("common", [0.0, 0.9])
def test_the_share_of_false_discoveries_is_kept_in_any_dependence_by_the_harmonic_factor(rng, common):
    """Features of unlike scales share a common part; three of forty are related to the target."""
    n_tables, n_permutations, shares, pooled = 400, 49, [], 0.0
    for _ in range(n_tables):
        statistics = rng.normal(size=(n_permutations + 1, 40)) * (1 - common)
        statistics += common * rng.normal(size=(n_permutations + 1, 1))
        statistics *= np.linspace(0.2, 1.0, 40)
        own, permuted = statistics[0].copy(), statistics[1:].T.copy()
        own[:3] += 2.5
        counts = _count(own, permuted)
        q = compute_permutation_q_values(counts, n_permutations, "by")
        passes = q[np.searchsorted(counts.levels, SCALE.find_levels(own))] <= 0.3
        shares.append(passes[3:].sum() / max(1, passes.sum()))
        pool = np.sort(np.concatenate([own, permuted.ravel()]))
        share = 1.0 - np.searchsorted(pool, own) / pool.size
        pooled += (share[3:] <= 0.05).sum() / 40 / n_tables
    assert np.mean(shares) <= 0.3
    assert pooled <= 0.05 + 4 * 0.05 / np.sqrt(n_tables)
