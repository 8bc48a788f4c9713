from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from helpers.ranking_cases import rankings, weights_for
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.median import rank_by_borda
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    PairwiseProbabilities,
    estimate_pairwise_probabilities,
    project_transitive,
)


def _by_least_squares(p, weight):
    """Fit u to p_ij − ½ = u_i − u_j over pairs i < j of positive weight; return ½ + u_i − u_j."""
    k = len(p)
    pairs = [(i, j) for i, j in combinations(range(k), 2) if weight[i, j] > 0]
    rows, away = np.zeros((len(pairs), k)), np.zeros(len(pairs))
    for row, (i, j) in enumerate(pairs):
        root = np.sqrt(weight[i, j])
        rows[row, i], rows[row, j], away[row] = root, -root, root * (p[i, j] - 0.5)
    u = np.linalg.lstsq(rows, away, rcond=None)[0]
    return 0.5 + u[:, None] - u[None, :], float(((rows @ u - away) ** 2).sum())


@given(rankings(missing=False), st.data())
def test_the_order_of_complete_rankings_is_bordas(rows, data):
    weights = weights_for(data.draw, len(rows))
    scores = project_transitive(estimate_pairwise_probabilities(rows, weights)).scores
    assert (
        np.argsort(-np.round(scores, 9), kind="stable").tolist()
        == np.argsort(rank_by_borda(rows, weights)).tolist()
    )


@given(rankings(most_rows=9), st.booleans())
def test_it_is_the_least_squares_fit_and_lies_in_the_set(rows, weighted):
    p = estimate_pairwise_probabilities(rows)
    try:
        found = project_transitive(p, weighted=weighted)
    except DataError:
        assert np.isnan(p.p).any()
        return
    fitted, residual = _by_least_squares(p.p, p.pair_weights if weighted else ~np.isnan(p.p))
    assert np.allclose(found.p, fitted)
    assert found.residual == pytest.approx(residual, abs=1e-9)
    away = found.p - 0.5
    assert np.allclose(away[:, :, None] + away[None, :, :] + np.swapaxes(away, 0, 1)[:, None, :], 0.0)


def test_entries_may_leave_the_unit_interval():
    found = project_transitive(estimate_pairwise_probabilities([[1, 2, 3]]))
    assert found.p[0, 2] == pytest.approx(7 / 6)


def test_one_label_has_nothing_to_project():
    found = project_transitive(estimate_pairwise_probabilities([[1.0]]))
    assert (found.p.tolist(), found.scores.tolist(), found.residual) == ([[0.5]], [0.0], 0.0)


def test_scores_of_labels_that_nothing_joins_are_refused():
    rows = [[1, 2, np.nan, np.nan], [np.nan, np.nan, 1, 2]]
    with pytest.raises(
        DataError, match="do not connect label 0 with label 2: their scores are not comparable"
    ):
        project_transitive(estimate_pairwise_probabilities(rows))


def test_weights_need_to_be_known():
    p = estimate_pairwise_probabilities([[1, 2, 3], [np.nan, 2, 1]])
    assert project_transitive(PairwiseProbabilities(p.p, p.pair_weights), weighted=True).residual > 0
    with pytest.raises(OptionError, match="a plain array has no pair weights"):
        project_transitive(p.p, weighted=True)
