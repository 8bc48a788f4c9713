from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from helpers.estimator_checks import parametrize_checks, run_check
from helpers.ranking_settings import grid_of_six, some_rankings
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.distances import kendall_distance, mean_kendall_tau
from symscreen.label_ranking.consensus.median import MEDIAN_METHODS, find_median_ranking
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    dispersion,
    estimate_pairwise_probabilities,
)
from symscreen.label_ranking.learners.consensus_tree import (
    ConsensusRankingTree,
    build_pruning_path,
    prune_tree,
)
from symscreen.label_ranking.learners.neighbors import KemenyNeighbors
from symscreen.label_ranking.learners.tree_plot import format_tree


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the checks use data that cause warnings
@parametrize_checks(ConsensusRankingTree(), ConsensusRankingTree(ccp_lambda="cv"))
def test_it_keeps_scikit_learns_promises(estimator, check):
    run_check(check, estimator)


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_leaves_hold_the_median_of_their_rows(rng, method):
    x, y = rng.normal(size=(120, 3)), some_rankings(rng, 120, 5, ties=True)
    weights = rng.uniform(0.5, 2.0, 120)
    tree = ConsensusRankingTree(max_depth=3, median_method=method).fit(x, y, weights)
    leaves, predicted = tree.apply(x), tree.predict(x)
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        p = estimate_pairwise_probabilities(y[inside], weights[inside])
        assert np.array_equal(predicted[inside][0], find_median_ranking(p, method=method).ranking)
        assert tree.tree_.dispersion[leaf] / weights[inside].sum() == pytest.approx(dispersion(p))
    assert tree.score(x, y, weights) == pytest.approx(mean_kendall_tau(y, predicted, weights))


@pytest.mark.slow
def test_it_recovers_the_cells_of_a_piecewise_constant_set(rng):
    risks, right = [], []
    for _ in range(8):
        x, y, centers = grid_of_six(rng, 1000, 5, 2.0)
        tree = ConsensusRankingTree(max_depth=3, min_samples_leaf=0.1).fit(x[:700], y[:700])
        near = KemenyNeighbors(5).fit(x[:700], y[:700])
        both = [model.predict(x[700:]) for model in (tree, near)]
        risks.append([kendall_distance(one, y[700:]).mean() for one in both])
        right.append((both[0] == centers[700:]).all(axis=1).mean())
    tree_risk, near_risk = np.mean(risks, axis=0)
    assert tree_risk < near_risk - 0.1
    assert np.mean(right) > 0.95


def test_increasing_functions_of_inputs_change_no_prediction(rng):
    x, new = rng.normal(size=(150, 3)), rng.normal(size=(200, 3))
    y = some_rankings(rng, 150, 4)
    plain = ConsensusRankingTree(min_samples_leaf=3).fit(x, y)
    bent = ConsensusRankingTree(min_samples_leaf=3).fit(np.sinh(x), y)
    assert np.array_equal(plain.predict(new), bent.predict(np.sinh(new)))
    assert np.array_equal(plain.feature_importances_, bent.feature_importances_)


def test_the_order_of_the_rows_does_not_matter(rng):
    x, y = rng.integers(0, 6, (90, 3)).astype(float), some_rankings(rng, 90, 4, missing=True)
    weights, mixed = rng.uniform(0.1, 1.0, 90), rng.permutation(90)
    one = ConsensusRankingTree(ccp_lambda="cv", random_state=1).fit(x, y, weights)
    two = ConsensusRankingTree(ccp_lambda="cv", random_state=1).fit(x[mixed], y[mixed], weights[mixed])
    assert one.ccp_lambda_ == two.ccp_lambda_
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one.tree_, two.tree_, strict=True))


def test_weights_are_repetitions_and_zero_is_absence(rng):
    x, y = rng.normal(size=(60, 2)), some_rankings(rng, 60, 4)
    times = rng.integers(0, 4, 60)
    weighted = ConsensusRankingTree().fit(x, y, times.astype(float))
    repeated = ConsensusRankingTree().fit(np.repeat(x, times, axis=0), np.repeat(y, times, axis=0))
    assert np.array_equal(weighted.predict(x), repeated.predict(x))


def test_what_a_leaf_never_shows_is_judged_by_the_rows_above():
    x = [[0.0], [0.0], [1.0], [1.0]]
    y = [[1, 2, np.nan], [1, 2, np.nan], [2, 1, 3], [3, 2, 1]]
    tree = ConsensusRankingTree(max_depth=1).fit(x, y)
    assert tree.predict([[0.0]]).tolist() == [[1.0, 2.0, 3.0]]
    unknown = ConsensusRankingTree().fit(x, [[1, np.nan, np.nan]] * 4)
    assert unknown.predict(x).tolist() == [[1.0, 2.0, 3.0]] * 4


def test_importances_sum_to_the_dispersion_explained(rng):
    x, y, _ = grid_of_six(rng, 400, 4, 2.0)
    x = np.column_stack([x, rng.normal(size=400)])
    tree = ConsensusRankingTree(max_depth=3).fit(x, y)
    leaf = tree.tree_.feature < 0
    explained = dispersion(estimate_pairwise_probabilities(y)) - tree.tree_.dispersion[leaf].sum() / 400
    assert tree.feature_importances_.sum() == pytest.approx(explained)
    assert tree.feature_importances_[2] < tree.feature_importances_[:2].min()


def test_categories_are_any_numbers_given_by_place_name_or_mask(rng):
    color = rng.choice([-3.0, 0.5, 8.0, 10.0], 80)
    frame = pd.DataFrame({"size": rng.normal(size=80), "colour": color})
    y = np.where(np.isin(color, [-3.0, 8.0])[:, None], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0])
    for asked in (["colour"], [1], [-1], [False, True]):
        tree = ConsensusRankingTree(max_depth=1, categorical_features=asked).fit(frame, y)
        assert np.array_equal(tree.predict(frame), y)
        assert tree.categories_[1].tolist() == [-3.0, 0.5, 8.0, 10.0]
    heavier = np.isin(color, [-3.0, 8.0]).sum() * 2 >= 80
    unseen = tree.predict(pd.DataFrame({"size": [0.0], "colour": [99.0]}))
    assert unseen.tolist() == [[1.0, 2.0, 3.0] if heavier else [3.0, 1.0, 2.0]]


def test_a_penalty_prunes_and_cross_validation_finds_a_good_one(rng):
    x, y, centers = grid_of_six(rng, 600, 4, 1.5)
    full = ConsensusRankingTree().fit(x, y)
    chosen = ConsensusRankingTree(ccp_lambda="cv", random_state=0).fit(x, y)
    assert np.array_equal(
        chosen.tree_.depth, ConsensusRankingTree(ccp_lambda=chosen.ccp_lambda_).fit(x, y).tree_.depth
    )
    assert chosen.risks_.min() == chosen.risks_[chosen.penalties_ == chosen.ccp_lambda_][0]
    assert 6 <= (chosen.tree_.feature < 0).sum() < (full.tree_.feature < 0).sum() / 5
    assert (chosen.predict(x) == centers).all(axis=1).mean() > 0.9
    assert len(ConsensusRankingTree(ccp_lambda=100.0).fit(x, y).tree_.feature) == 1


def test_constant_rankings_make_one_leaf_with_every_penalty():
    x, y = np.arange(10.0)[:, None], np.tile([2.0, 1.0, 3.0], (10, 1))
    for penalty in (0.0, "cv"):
        tree = ConsensusRankingTree(ccp_lambda=penalty).fit(x, y)
        assert len(tree.tree_.feature) == 1
        assert tree.predict(x).tolist() == y.tolist()
    assert build_pruning_path(tree.tree_).merged_nodes.size == 0
    assert len(prune_tree(tree.tree_, np.array([True])).feature) == 1


def test_it_works_in_grids_and_can_be_cloned(rng):
    x, y, _ = grid_of_six(rng, 200, 3, 2.0)
    grid = GridSearchCV(ConsensusRankingTree(), {"max_depth": [1, 3]}, cv=3).fit(x, y)
    assert grid.best_params_ == {"max_depth": 3}
    assert clone(grid.best_estimator_).max_depth == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": 0}, r"max_depth is 0: give an integer"),
        ({"min_samples_leaf": 1.5}, r"min_samples_leaf is 1.5: give an integer"),
        ({"min_impurity_decrease": -1.0}, r"min_impurity_decrease is -1.0"),
        ({"ccp_lambda": "gcv"}, r"ccp_lambda is 'gcv': give a number ≥ 0, or 'cv'"),
        ({"ccp_lambda": "cv", "folds": 1}, r"folds is 1"),
        ({"max_features": "sqr"}, r"max_features is 'sqr'; did you mean 'sqrt'"),
        ({"categorical_features": [2]}, r"categorical_features contains 2: the indices of 2 features"),
        ({"categorical_features": ["x"]}, r"categorical_features names 'x', which is not a column"),
        ({"categorical_features": [True]}, r"mask of shape \(1,\), but X has 2 features"),
    ],
)
def test_options_without_meaning_are_refused(rng, options, message):
    with pytest.raises(OptionError, match=message):
        ConsensusRankingTree(**options).fit(rng.normal(size=(9, 2)), some_rankings(rng, 9, 3))


def test_data_that_cannot_be_used_are_refused(rng):
    x, y = rng.normal(size=(9, 2)), some_rankings(rng, 9, 3)
    with pytest.raises(OptionError, match="all weights are zero"):
        ConsensusRankingTree().fit(x, y, np.zeros(9))
    for weights in (-np.ones(9), np.ones(8), np.full(9, np.nan)):
        with pytest.raises(
            OptionError, match=r"weights must be finite and at least 0|give one finite number"
        ):
            ConsensusRankingTree().fit(x, y, weights)
    with pytest.raises(DataError, match="one column per label"):
        ConsensusRankingTree().fit(x, y[:, 0])
    with pytest.raises(DataError, match="give one ranking for each row"):
        ConsensusRankingTree().fit(x, y[:8])


def _spread(ranks, weights):
    """Compute γ̂ of incomplete rankings times the total weight, Σ S_ij p̂_ij(1 − p̂_ij), pair by pair."""
    total = 0.0
    for i in range(ranks.shape[1]):
        for j in range(i):
            both = ~np.isnan(ranks[:, i] + ranks[:, j])
            first, second, weight = ranks[both, i], ranks[both, j], weights[both]
            if both.any():
                p = float((weight * ((first < second) + 0.5 * (first == second))).sum() / weight.sum())
                total += float(weight.sum()) * p * (1.0 - p)
    return total


def test_importances_and_the_printed_dispersion_weigh_pairs_by_the_rows_that_show_them(rng):
    x, y = rng.normal(size=(80, 2)), some_rankings(rng, 80, 4, ties=True, missing=True)
    weights = rng.uniform(0.5, 2.0, 80)
    tree = ConsensusRankingTree(max_depth=2).fit(x, y, weights)
    leaves, whole = tree.apply(x), weights.sum()
    cells = {leaf: leaves == leaf for leaf in np.unique(leaves)}
    left = sum(_spread(y[inside], weights[inside]) for inside in cells.values())
    assert tree.feature_importances_.sum() == pytest.approx((_spread(y, weights) - left) / whole)
    printed = [float(one) for one in re.findall(r"dispersion ([\d.e-]+)\)", format_tree(tree))]
    expected = [_spread(y[inside], weights[inside]) / weights[inside].sum() for inside in cells.values()]
    assert sorted(printed) == pytest.approx(sorted(expected), rel=6e-3)
    assert dispersion(estimate_pairwise_probabilities(y, weights)) > 1.2 * _spread(y, weights) / whole
