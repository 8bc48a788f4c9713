from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from symscreen.estimators.sparse_logistic import compute_probabilities, fit_sparse_logistic


def _draw_classes(rng, scores):
    """Draw a class for each row from the softmax of scores, shape (n, C)."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    cumulative = (weights / weights.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return (rng.uniform(size=(len(scores), 1)) > cumulative).sum(axis=1).clip(max=scores.shape[1] - 1)


def test_two_true_terms_of_many_candidates_are_found(rng):
    values = rng.normal(size=(600, 12)) * np.geomspace(0.01, 100.0, 12) + 5.0
    scores = 3.0 * (values[:, 2] - 5.0) / values[:, 2].std() - 2.0 * (values[:, 9] - 5.0) / values[:, 9].std()
    codes = _draw_classes(rng, np.column_stack([np.zeros(600), scores]))
    fit = fit_sparse_logistic(values, codes, max_terms=5, n_folds=5, seed=0)
    assert {2, 9} <= set(fit.term_indices)
    first, last = (fit.term_indices.index(index) for index in (2, 9))
    assert fit.coefficients[0, first] > 0.0 > fit.coefficients[0, last]
    assert fit.cv_log_loss < 0.5


def test_the_model_is_that_of_scikit_learn_with_the_chosen_terms(rng):
    values = rng.normal(size=(120, 4)) * 3.0 + 1.0
    codes = _draw_classes(rng, np.column_stack([values[:, 0], -values[:, 1], np.zeros(120)]))
    fit = fit_sparse_logistic(values, codes, max_terms=4, n_folds=3, seed=1)
    chosen = values[:, fit.term_indices]
    standardized = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
    model = LogisticRegression(max_iter=5000).fit(standardized, codes)
    found = compute_probabilities(fit.intercepts + chosen @ fit.coefficients.T)
    np.testing.assert_allclose(found, model.predict_proba(standardized), atol=1e-10)
    assert np.allclose(fit.means, chosen.mean(axis=0))


def test_classes_that_no_candidate_tells_apart_leave_their_shares(rng):
    values = rng.normal(size=(90, 5))
    codes = np.arange(90) % 3
    codes[:15] = 0
    fit = fit_sparse_logistic(values, codes, max_terms=3, n_folds=5, seed=0)
    assert fit.term_indices == ()
    shares = np.bincount(codes) / 90
    np.testing.assert_allclose(compute_probabilities(fit.intercepts[None, :])[0], shares)


@pytest.mark.parametrize("values", [np.zeros((20, 0)), np.ones((20, 3))])
def test_without_a_candidate_that_varies_there_are_no_terms(values):
    fit = fit_sparse_logistic(values, np.arange(20) // 15, max_terms=3, n_folds=5, seed=0)
    assert fit.term_indices == ()
    np.testing.assert_allclose(compute_probabilities(fit.intercepts[None, :]), [[0.75, 0.25]])


def test_there_are_at_most_as_many_terms_as_allowed(rng):
    values = rng.normal(size=(80, 1)) + 0.01 * rng.normal(size=(80, 6))
    codes = (values[:, 0] > 0.0).astype(int)
    for max_terms in (1, 2):
        fit = fit_sparse_logistic(values, codes, max_terms=max_terms, n_folds=4, seed=0)
        assert 1 <= len(fit.term_indices) <= max_terms


def test_a_class_of_one_row_leaves_no_folds(rng):
    values = rng.normal(size=(12, 2))
    codes = np.r_[np.zeros(11, dtype=int), 1]
    assert fit_sparse_logistic(values, codes, max_terms=2, n_folds=5, seed=0).cv_log_loss is None


def test_probabilities_of_large_scores_are_finite():
    probabilities = compute_probabilities(np.array([[1e300, 0.0, -1e300], [5.0, 5.0, 5.0]]))
    np.testing.assert_allclose(probabilities, [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
