from __future__ import annotations

import numpy as np
import pytest
from helpers.estimator_checks import parametrize_checks, run_check
from helpers.ranking_settings import grid_of_six, some_rankings

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.median import MEDIAN_METHODS, find_median_ranking
from symscreen.label_ranking.consensus.pairwise_probabilities import estimate_pairwise_probabilities
from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingForest, ConsensusRankingTree


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the checks use data that cause warnings
@parametrize_checks(ConsensusRankingForest(n_estimators=3))
def test_it_keeps_scikit_learns_promises(estimator, check):
    run_check(check, estimator)


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_it_predicts_the_median_of_its_trees(rng, method):
    x, y = rng.normal(size=(80, 3)), some_rankings(rng, 80, 5, missing=True)
    forest = ConsensusRankingForest(
        n_estimators=8, min_samples_leaf=4, random_state=0, median_method=method
    ).fit(x, y)
    new = rng.normal(size=(40, 3))
    leaves, predicted = forest.apply(new), forest.predict(new)
    for row in range(40):
        votes = [tree.rankings[leaf] for tree, leaf in zip(forest.trees_, leaves[row], strict=True)]
        median = find_median_ranking(estimate_pairwise_probabilities(votes), method=method)
        assert np.array_equal(predicted[row], median.ranking)


def test_threads_and_the_order_of_rows_change_nothing(rng):
    x, y = rng.normal(size=(60, 4)), some_rankings(rng, 60, 4)
    mixed = rng.permutation(60)
    options = {"n_estimators": 6, "random_state": 3, "max_samples": 0.8}
    one = ConsensusRankingForest(**options).fit(x, y)
    two = ConsensusRankingForest(**options, n_jobs=2).fit(x[mixed], y[mixed])
    assert np.array_equal(one.apply(x), two.apply(x))
    assert np.array_equal(one.feature_importances_, two.feature_importances_)
    other = ConsensusRankingForest(**(options | {"random_state": 4})).fit(x, y)
    assert not np.array_equal(one.apply(x), other.apply(x))


def test_without_draws_every_tree_is_the_tree(rng):
    x, y = rng.normal(size=(50, 3)), some_rankings(rng, 50, 4)
    forest = ConsensusRankingForest(n_estimators=2, bootstrap=False, max_features=None).fit(x, y)
    tree = ConsensusRankingTree().fit(x, y)
    assert np.array_equal(forest.predict(x), tree.predict(x))
    assert np.array_equal(forest.feature_importances_, tree.feature_importances_)


def test_it_learns_and_tells_which_inputs_matter(rng):
    x, y, centers = grid_of_six(rng, 500, 4, 1.5)
    x = np.column_stack([x, rng.normal(size=(500, 2))])
    forest = ConsensusRankingForest(n_estimators=30, min_samples_leaf=10, max_features=None, random_state=0)
    forest.fit(x[:400], y[:400])
    assert (forest.predict(x[400:]) == centers[400:]).all(axis=1).mean() > 0.85
    assert forest.feature_importances_[:2].min() > 3 * forest.feature_importances_[2:].max()


@pytest.mark.parametrize("trees", [0, 0.5, "many"])
def test_a_number_of_trees_that_is_none_is_refused(rng, trees):
    with pytest.raises(OptionError, match=r"n_estimators is .*: give an integer ≥ 1$"):
        ConsensusRankingForest(n_estimators=trees).fit(rng.normal(size=(9, 2)), some_rankings(rng, 9, 3))
