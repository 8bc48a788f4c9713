from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.label_ranking.generators import (
    RankingOracle,
    draw_lfn_oracle,
    draw_sfn_oracle,
    draw_sparse_scores,
    inconsistency,
    kendall_gap,
    make_binary_input_sampler,
    make_survivor_mechanism,
    make_truncated_gaussian_noise,
    make_uniform_noise,
    rank_by_score,
)


@pytest.mark.parametrize(("family", "d"), [(draw_lfn_oracle, 1000), (draw_sfn_oracle, 100)])
def test_the_families_have_the_papers_sizes(family, d, rng):
    oracle = family(rng)
    examples = oracle.draw(10_000, rng)
    assert examples.x.shape == (10_000, d)
    assert set(np.unique(examples.x)) == {0.0, 1.0}
    assert examples.ranks.shape == (10_000, 5)
    assert oracle.score_function.features.shape == (5, 10)
    np.testing.assert_array_equal(np.sort(examples.ranks, axis=1), np.tile(np.arange(1.0, 6.0), (10_000, 1)))
    np.testing.assert_array_equal(examples.ranks, examples.true_ranks)


@pytest.mark.parametrize(("family", "d"), [(draw_lfn_oracle, 1000), (draw_sfn_oracle, 100)])
def test_the_published_families_share_five_features(family, d, rng):
    oracle = family(rng, as_published=True)
    assert (oracle.score_function.features == oracle.score_function.features[0]).all()
    assert oracle.score_function.features.shape == (5, 5)
    assert (oracle.score_function.weights < 0).any()
    examples = oracle.draw(2000, rng)
    assert examples.x.shape == (2000, d)
    scores = oracle.score_function(examples.x)
    assert [np.unique(column).size for column in scores.T.round(12)] == [32] * 5
    np.testing.assert_allclose([scores.min(axis=0), scores.max(axis=0)], [[0.25] * 5, [0.75] * 5])


@given(
    seed=st.integers(0, 999), d=st.integers(1, 30), k=st.integers(1, 6), shared=st.booleans(), data=st.data()
)
def test_each_label_depends_on_r_features(seed, d, k, shared, data):
    r = data.draw(st.integers(1, d))
    rng = np.random.default_rng(seed)
    scores = draw_sparse_scores(d, k, r, rng, shared=shared)
    x = make_binary_input_sampler(d)(8, rng)
    values = scores(x)
    assert ((values >= 0.25 - 1e-12) & (values <= 0.75 + 1e-12)).all()
    for label in range(k):
        own = scores.features[label]
        assert np.unique(own).size == r
        turned = x.copy()
        turned[:, np.setdiff1d(np.arange(d), own)] = 0.5
        np.testing.assert_array_equal(scores(turned)[:, label], values[:, label])
        for feature, weight in zip(own, scores.weights[label], strict=True):  # each feature changes the score
            without, with_it = x.copy(), x.copy()
            without[:, feature], with_it[:, feature] = 0.0, 1.0
            moved = scores(with_it)[:, label] - scores(without)[:, label]
            assert (np.sign(moved) == np.sign(weight)).all()


def test_the_highest_score_comes_first_and_ties_go_to_the_first_label():
    np.testing.assert_array_equal(rank_by_score([[0.1, 0.7, 0.7, 0.2]]), [[4.0, 1.0, 2.0, 3.0]])


def test_more_noise_is_seen_by_both_levels(rng):
    oracle = draw_sfn_oracle(rng)
    x = oracle.input_sampler(2000, rng)
    alphas, betas = [], []
    for sd in (0.0, 0.01, 0.05, 0.3):
        noisy = replace(oracle, noise_sampler=make_truncated_gaussian_noise(sd)).observe(
            x, np.random.default_rng(1)
        )
        alphas.append(inconsistency(noisy, oracle.compute_true_ranks(x)))
        betas.append(kendall_gap(noisy, oracle.compute_true_ranks(x)))
    assert (alphas[0], betas[0]) == (0.0, 1.0)
    assert (np.diff(alphas) > 0).all()
    assert (np.diff(betas) < 0).all()


@pytest.mark.parametrize(
    "noise", [make_truncated_gaussian_noise(0.02), make_truncated_gaussian_noise(5.0), make_uniform_noise()]
)
def test_noise_is_bounded_and_its_mean_zero(noise, rng):
    drawn = noise((20_000, 5), rng)
    assert np.abs(drawn).max() <= 0.25
    assert abs(drawn.mean()) < 4.5 * drawn.std() / np.sqrt(drawn.size)


def test_truncated_noise_has_the_truncated_deviation(rng):
    from scipy.stats import truncnorm

    for sd in (0.02, 0.1, 0.4):
        drawn = make_truncated_gaussian_noise(sd)((40_000, 5), rng)
        assert drawn.std() == pytest.approx(truncnorm(-0.25 / sd, 0.25 / sd, scale=sd).std(), rel=0.02)


def test_the_same_generator_gives_the_same_inputs_under_other_noise(rng):
    oracle = RankingOracle(draw_sparse_scores(20, 3, 4, rng), make_binary_input_sampler(20))
    plain = oracle.draw(50, np.random.default_rng(3))
    noisy = replace(oracle, noise_sampler=make_uniform_noise(), mechanism=make_survivor_mechanism(0.5)).draw(
        50, np.random.default_rng(3)
    )
    np.testing.assert_array_equal(plain.x, noisy.x)
    np.testing.assert_array_equal(plain.true_ranks, noisy.true_ranks)
    assert np.isnan(noisy.ranks).any()


def test_what_makes_no_sense_is_refused(rng):
    with pytest.raises(OptionError, match="informative"):
        draw_sparse_scores(3, 2, 4, rng)
    with pytest.raises(OptionError, match="at least 0"):
        make_truncated_gaussian_noise(-0.1)
    with pytest.raises(OptionError, match="positive"):
        make_uniform_noise(0.0)
