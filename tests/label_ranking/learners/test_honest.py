import pickle

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.learners.labelwise import (
    BreimanTree,
    HonestForest,
    LabelwiseRegressor,
    LevelSplitsTree,
)
from symscreen.targets.ranking_ranks import to_mid_ranks


@pytest.fixture
def binary(rng):
    """Draw Ex(m) with sparse m: each of four labels depends on two of eight binary features."""
    rows = rng.integers(0, 2, (200, 8)).astype(float)
    scores = rows @ np.array([[8, 0, 0, 0], [4, 0, 0, 0], [0, 7, 0, 0], [0, 3, 0, 0], *[[0] * 4] * 4])
    return rows, to_mid_ranks(-(scores + np.array([0.1, 0.2, 4.5, 2.0])))


@pytest.mark.parametrize("learner", [BreimanTree(), LevelSplitsTree()], ids=str)
def test_fully_grown_trees_return_noiseless_rankings(binary, learner):
    rows, ranks = binary
    assert (learner.fit(rows, ranks).predict(rows) == ranks).all()


@pytest.mark.parametrize("learner", [BreimanTree(honest=True), LevelSplitsTree(honest=True)], ids=str)
def test_honest_trees_learn_a_sparse_score(binary, learner):
    rows, ranks = binary
    assert learner.fit(rows[:150], ranks[:150]).score(rows[150:], ranks[150:]) > 0.9


@pytest.mark.parametrize("base", ["breiman", "level"])
def test_honest_forests_learn_a_sparse_score(binary, base):
    rows, ranks = binary
    forest = HonestForest(base, n_estimators=15, subsample=120).fit(rows[:150], ranks[:150])
    assert forest.score(rows[150:], ranks[150:]) > 0.9
    assert len(forest.trees_) == 15


def test_a_tree_without_honesty_is_cart_label_by_label(rng):
    rows, ranks = rng.normal(size=(60, 3)), to_mid_ranks(rng.normal(size=(60, 4)))
    ours = BreimanTree(max_depth=3).fit(rows, ranks)
    cart = LabelwiseRegressor(DecisionTreeRegressor(max_depth=3, random_state=1)).fit(rows, ranks)
    assert ours.decision_function(rows) == pytest.approx(cart.decision_function(rows))


@pytest.mark.parametrize("learner", [BreimanTree, LevelSplitsTree])
def test_a_single_tree_uses_all_rows_for_splits_and_values_unless_it_is_honest(rng, learner):
    # Algorithms 3 to 5 call Algorithms 9 and 10 with h = 0
    rows, ranks = rng.normal(size=(40, 3)), to_mid_ranks(rng.normal(size=(40, 4)))
    positions = ranks / 4.0
    assert learner().fit(rows, ranks).decision_function(rows) == pytest.approx(positions)
    honest = learner(honest=True).fit(rows, ranks).decision_function(rows)
    assert np.abs(honest - positions).mean() > 0.1


@pytest.mark.parametrize("base", ["breiman", "level"])
def test_the_trees_of_a_forest_are_honest_by_default(rng, base):
    # Theorems A.5 and A.6 call Algorithms 9 and 10 with h = 1
    rows, ranks = rng.normal(size=(40, 3)), to_mid_ranks(rng.normal(size=(40, 4)))
    default = HonestForest(base, n_estimators=3).fit(rows, ranks).decision_function(rows)
    honest = HonestForest(base, n_estimators=3, honest=True).fit(rows, ranks).decision_function(rows)
    assert (default == honest).all()


def test_a_forest_averages_its_trees(rng):
    rows, ranks = rng.normal(size=(30, 2)), to_mid_ranks(rng.normal(size=(30, 3)))
    forest = HonestForest(n_estimators=4).fit(rows, ranks)
    each = [np.column_stack([tree(rows) for tree in trees]) for trees in forest.trees_]
    assert forest.decision_function(rows) == pytest.approx(np.mean(each, axis=0))


def test_a_plain_forest_on_all_rows_is_its_tree(binary):
    rows, ranks = binary
    forest = HonestForest("level", n_estimators=2, subsample=1.0, honest=False).fit(rows, ranks)
    assert (
        forest.decision_function(rows) == LevelSplitsTree().fit(rows, ranks).decision_function(rows)
    ).all()


@pytest.mark.parametrize(
    "learner",
    [BreimanTree(honest=True), LevelSplitsTree(honest=True), HonestForest("level", n_estimators=3)],
    ids=str,
)
def test_the_seed_decides_and_fitted_learners_can_be_kept(rng, learner):
    rows, ranks = rng.normal(size=(60, 3)), to_mid_ranks(rng.normal(size=(60, 4)))
    found = learner.fit(rows, ranks).decision_function(rows)
    assert (pickle.loads(pickle.dumps(learner)).decision_function(rows) == found).all()  # noqa: S301
    assert (learner.fit(rows, ranks).decision_function(rows) == found).all()
    assert (learner.set_params(random_state=1).fit(rows, ranks).decision_function(rows) != found).any()


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (HonestForest("beriman"), "base is 'beriman'; did you mean 'breiman'"),
        (HonestForest(n_estimators=0), "n_estimators is 0: give an integer"),
        (HonestForest(subsample=1.5), "subsample is 1.5: give a share"),
        (HonestForest(subsample=99), "integer number of rows from 1 to 3"),
        (BreimanTree(max_depth=0), "max_depth is 0"),
        (LevelSplitsTree(min_samples_leaf=True), "min_samples_leaf is True"),
    ],
)
def test_options_without_meaning_are_refused(learner, words):
    with pytest.raises(OptionError, match=words):
        learner.fit([[0.0], [1.0], [2.0]], [[1, 2], [2, 1], [1, 2]])


def test_incomplete_rankings_are_refused():
    with pytest.raises(DataError, match="needs complete rankings"):
        BreimanTree().fit([[0.0], [1.0]], [[1, 2], [1, np.nan]])
