from __future__ import annotations

import numpy as np
import pytest

from symscreen.screeners.joint.bart import (
    compute_chain_agreement,
    compute_credible_interval,
    compute_split_shares,
    compute_thresholds,
)

ALPHAS = [0.01, 0.05, 0.1, 0.3]


@pytest.fixture
def permuted(rng):
    return rng.dirichlet(np.linspace(1, 5, 7), size=40)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_local_is_exceeded_by_at_most_a_share_alpha_of_the_permutations_and_no_less_will_do(permuted, alpha):
    least = compute_thresholds(permuted, "local", alpha)
    for column, threshold in zip(permuted.T, least, strict=True):
        assert (column > threshold).mean() <= alpha
        assert threshold in column
        assert (column >= threshold).mean() > alpha


@pytest.mark.parametrize("alpha", ALPHAS)
def test_global_max_is_the_local_threshold_of_the_largest(permuted, alpha):
    most = compute_thresholds(permuted.max(axis=1, keepdims=True), "local", alpha)[0]
    assert compute_thresholds(permuted, "gmax", alpha).tolist() == [most] * permuted.shape[1]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_global_se_takes_the_smallest_constant_that_covers_all_together(permuted, alpha):
    mean, spread = permuted.mean(axis=0), permuted.std(axis=0, ddof=1)
    # the smallest C that covers is one at which some permutation just touches the band
    candidates = sorted(((permuted - mean) / spread).ravel())
    covered = (
        c for c in candidates if (permuted <= mean + c * spread + 1e-12).all(axis=1).mean() >= 1 - alpha
    )
    assert compute_thresholds(permuted, "gse", alpha) == pytest.approx(
        mean + next(covered) * spread, abs=1e-12
    )


@pytest.mark.parametrize("rule", ["local", "gmax", "gse"])
def test_a_stricter_level_asks_for_more(permuted, rule):
    levels = np.array([compute_thresholds(permuted, rule, alpha) for alpha in sorted(ALPHAS, reverse=True)])
    assert (np.diff(levels, axis=0) >= 0).all()
    assert (levels[-1] > levels[0]).any()


def test_global_se_of_a_feature_that_no_permutation_splits_on_is_zero(permuted):
    with_none = np.hstack([permuted, np.zeros((len(permuted), 1))])
    found = compute_thresholds(with_none, "gse", 0.05)
    assert found[-1] == 0
    assert found[:-1] == pytest.approx(compute_thresholds(permuted, "gse", 0.05))


def test_shares_sum_to_one_where_there_is_a_split(rng):
    counts = rng.integers(0, 9, (20, 4))
    counts[3] = 0
    found = compute_split_shares(counts)
    assert found[3].tolist() == [0.0] * 4
    assert np.delete(found, 3, axis=0).sum(axis=1) == pytest.approx(1.0)
    assert found[0] * counts[0].sum() == pytest.approx(counts[0])


def test_the_interval_leaves_out_the_same_share_at_both_ends(rng):
    drawn = rng.random((1000, 3))
    low, high = compute_credible_interval(drawn, 0.9)
    assert (drawn < low).mean(axis=0) == pytest.approx(0.05, abs=0.002)
    assert (drawn > high).mean(axis=0) == pytest.approx(0.05, abs=0.002)


def test_agreement_is_the_mean_correlation_of_two_chains(rng):
    means = rng.random((4, 6))
    pairs = [np.corrcoef(means[i], means[j])[0, 1] for i in range(4) for j in range(i)]
    assert compute_chain_agreement(means) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("means", [np.ones((3, 4)), np.ones((3, 1)), np.arange(4.0)[None]])
def test_there_may_be_nothing_to_agree_on(means):
    assert compute_chain_agreement(means) is None
