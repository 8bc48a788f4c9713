import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.learners.pairwise import (
    BradleyTerryRanker,
    compute_expected_positions,
    fit_scores,
)
from symscreen.targets.ranking_ranks import to_mid_ranks


def loss(flat, basis, ranks, weights, alpha):
    """Compute the loss from its definition, pair by pair."""
    coefficients = flat.reshape(basis.shape[1], -1)
    scores, total, held = basis @ coefficients, 0.0, 0.0
    for row, weight, score in zip(ranks, weights, scores, strict=True):
        for i in range(len(row)):
            for j in range(len(row)):
                if row[i] < row[j]:
                    total += weight * np.log1p(np.exp(score[j] - score[i]))
                    held += weight
    return total / held + alpha / 2 * (coefficients[1:] ** 2).sum() + 5e-7 * (coefficients[0] ** 2).sum()


def test_what_is_found_minimises_the_definition(rng):
    basis = np.column_stack([np.ones(15), rng.normal(size=(15, 2))])
    values = rng.integers(0, 4, (15, 3)).astype(float)
    values[rng.random((15, 3)) < 0.2] = np.nan
    values[np.isnan(values).all(axis=1), 0] = 0.0
    ranks, weights = to_mid_ranks(values), rng.uniform(0, 2, 15)
    found = fit_scores(basis, ranks, weights, alpha=0.1, max_iter=500).ravel()
    least = loss(found, basis, ranks, weights, 0.1)
    zero_gradient = check_grad(
        lambda w: loss(w, basis, ranks, weights, 0.1), lambda w: np.zeros(w.shape), found
    )
    assert zero_gradient < 1e-3
    for _ in range(20):
        assert loss(found + rng.normal(0, 0.05, found.shape), basis, ranks, weights, 0.1) > least


def test_planted_scores_are_found_from_incomplete_rankings(rng):
    rows = rng.normal(size=(300, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, 1.0]
    truth = to_mid_ranks(-(rows / [1.0, 100.0, 0.01]) @ rng.normal(size=(3, 5)))
    shown = rng.random(truth.shape) < 0.5
    shown[~shown.any(axis=1), 0] = True
    fitted = BradleyTerryRanker(alpha=1e-5).fit(rows[:200], np.where(shown, truth, np.nan)[:200])
    assert fitted.score(rows[200:], truth[200:]) > 0.95


def test_scores_and_coefficients_agree_and_are_centred(rng):
    rows, ranks = rng.normal(2.0, 3.0, (40, 2)), to_mid_ranks(rng.normal(size=(40, 3)))
    fitted = BradleyTerryRanker().fit(rows, ranks)
    scores = fitted.decision_function(rows)
    assert scores == pytest.approx(rows @ fitted.coef_.T + fitted.intercept_)
    assert scores.sum(axis=1) == pytest.approx(np.zeros(40), abs=1e-9)
    moved = BradleyTerryRanker().fit(7.0 * rows - 1.0, ranks)
    assert moved.decision_function(7.0 * rows - 1.0) == pytest.approx(scores, abs=1e-3)


def test_expected_positions_are_sums_over_pairs(rng):
    scores = rng.normal(size=(6, 4))
    for row, found in zip(scores, compute_expected_positions(scores), strict=True):
        for i in range(4):
            assert found[i] == pytest.approx(1 + sum(expit(row[j] - row[i]) for j in range(4) if j != i))


def test_what_cannot_be_learnt_is_refused():
    with pytest.raises(DataError, match="no row orders label 2 against any other"):
        BradleyTerryRanker().fit([[0.0], [1.0]], [[1, 2, np.nan], [np.nan, np.nan, 1]])
    with pytest.raises(OptionError, match="alpha is -1"):
        BradleyTerryRanker(alpha=-1).fit([[0.0], [1.0]], [[1, 2], [2, 1]])
