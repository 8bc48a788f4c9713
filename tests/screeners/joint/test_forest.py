from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from symscreen.errors import OptionError
from symscreen.screeners.base import JointInput
from symscreen.screeners.checks import check_screener
from symscreen.screeners.joint import forest
from symscreen.screeners.joint.forest import FOREST, confirm_features
from symscreen.targets import NumericTarget

QUICK = {"trees": 30, "rounds": 8}
both_importances = pytest.mark.parametrize("importance", ["permutation", "impurity"])


def _quick(**settings):
    return FOREST.replace_settings(QUICK | settings)


def _shown(rng, features=6, rows=80, **options):
    """Noise with ties, and of two features the product with noise as the response."""
    values = np.round(rng.uniform(0.5, 2, size=(features, rows)), 1)
    y = values[0] * values[1] + rng.normal(0, 0.1, rows)
    order = np.argsort(y)
    return JointInput(np.ascontiguousarray(values[:, order]), NumericTarget(y[order]), **options)


def _bytes(scores):
    return [array.tobytes() for array in (scores.score, scores.loss, *scores.columns.values())]


@pytest.mark.slow
@both_importances
def test_it_keeps_its_promises(importance):
    check_screener(_quick(importance=importance, trees=10, rounds=5))


@pytest.mark.slow
@both_importances
def test_what_the_response_depends_on_is_important_and_confirmed(rng, importance):
    scores = _quick(importance=importance).score_features(_shown(rng))
    assert set(np.argsort(scores.loss)[:2]) == {0, 1}
    assert scores.selected.tolist() == [True, True, False, False, False, False]
    assert scores.columns["forest_hits"][:2].tolist() == [1.0, 1.0]
    assert np.array_equal(scores.loss, np.round(1 - scores.score, 9))


@pytest.mark.slow
def test_the_rule_is_borutas(rng):
    scores = _quick().score_features(_shown(rng))
    hits = np.rint(scores.columns["forest_hits"] * 8).astype(int)
    assert np.array_equal(scores.selected, confirm_features(hits, 8, 0.05))
    plain = _quick(rule="none").score_features(_shown(rng))
    assert not plain.columns
    assert not plain.selected.any()


@pytest.mark.slow
def test_noise_is_rarely_confirmed(rng):
    chosen = 0
    for seed in range(6):
        shown = JointInput(rng.normal(size=(10, 50)), NumericTarget(np.sort(rng.normal(size=50))), seed=seed)
        chosen += int(_quick(trees=15).score_features(shown).selected.sum())
    assert chosen <= 2


@pytest.mark.slow
@both_importances
def test_the_seed_decides_and_the_jobs_do_not(rng, importance):
    shown = _shown(rng)
    screener = _quick(importance=importance, trees=10, rounds=5)
    first = _bytes(screener.score_features(shown))
    assert _bytes(screener.score_features(JointInput(shown.values, shown.target, jobs=2))) == first
    assert _bytes(screener.score_features(JointInput(shown.values, shown.target, seed=1))) != first


@pytest.mark.slow
def test_members_of_a_rank_class_are_one_and_the_same(rng):
    shown = _shown(rng)
    copies = np.exp(shown.values)
    copies[1::2] *= -1
    screener = _quick(trees=10, rounds=5)
    assert _bytes(screener.score_features(JointInput(copies, shown.target))) == _bytes(
        screener.score_features(shown)
    )


@pytest.mark.slow
def test_permutation_importance_is_that_of_the_rows_left_out(rng):
    columns = rng.normal(size=(60, 3))
    target = columns[:, 0] * 2
    grown = RandomForestRegressor(40, max_features=1 / 3, random_state=3).fit(columns, target)
    found = forest._compute_regression_permutation_importance(
        grown, columns, target, np.random.default_rng(0)
    )
    # by scikit-learn's own prediction, over every order of few rows' worth of shuffles
    lost = np.zeros(3)
    shuffles = np.random.default_rng(1)
    for tree, sample in zip(grown.estimators_, grown.estimators_samples_, strict=True):
        out = [row for row in range(60) if row not in set(sample)]
        error = np.mean((tree.predict(columns[out]) - target[out]) ** 2)
        for feature in range(3):
            shuffled = np.tile(columns[out], (20, 1, 1))
            shuffled[:, :, feature] = shuffles.permuted(shuffled[:, :, feature], axis=1)
            worse = (tree.predict(shuffled.reshape(-1, 3)) - np.tile(target[out], 20)) ** 2
            lost[feature] += worse.mean() - error
    assert found == pytest.approx(lost / 40 / target.var(), abs=0.1)
    assert found[0] > 10 * np.abs(found[1:]).max()


def test_a_feature_in_no_tree_has_no_importance(rng):
    columns = np.column_stack([np.arange(50.0), np.ones(50)])
    grown = RandomForestRegressor(10, random_state=0).fit(columns, columns[:, 0])
    found = forest._compute_regression_permutation_importance(grown, columns, columns[:, 0], rng)
    assert found[0] > 1
    assert found[1] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("features", "rows"), [(1, 2), (1, 3), (1, 10), (12, 10)])
def test_few_rows_and_one_feature_are_taken(rng, features, rows):
    values = rng.normal(size=(features, rows))
    shown = JointInput(values, NumericTarget(np.sort(rng.normal(size=rows))))
    scores = _quick(trees=10, rounds=5).score_features(shown)
    assert np.isfinite(scores.score).all()


@pytest.mark.slow
def test_one_feature_is_confirmed_where_it_matters(rng):
    y = np.sort(rng.normal(size=30))
    assert _quick().score_features(JointInput(y[None] ** 3, NumericTarget(y))).selected.tolist() == [True]


def test_it_takes_fewer_features_of_more_rows_and_never_none():
    taken = [FOREST.compute_max_features(rows) for rows in (100, 1000, 100_000)]
    assert taken == sorted(taken, reverse=True)
    assert taken[0] > taken[-1] >= 20
    assert _quick(rule="none").compute_max_features(10_000) > _quick().compute_max_features(10_000)


@pytest.mark.parametrize(
    ("settings", "forests"),
    [
        ({"rule": "none", "importance": "impurity"}, 1),
        ({"rule": "none"}, 2),
        ({"importance": "impurity"}, 41),  # each of 20 rounds has twice as many features
        ({}, 42),
    ],
)
def test_its_features_take_ten_minutes_at_a_fifth_of_a_microsecond_a_row_and_tree(settings, forests):
    screener = FOREST.replace_settings(settings)
    assert screener.compute_max_features(30_000) == max(int(600 / (2e-7 * 30_000 * 200 * forests)), 20)
    assert screener.compute_max_features(1) == 5000
    assert screener.compute_max_features(10**9) == 20


def test_boruta_needs_five_rounds_and_a_forest_ten_trees():
    least = FOREST.replace_settings({"rounds": 5, "trees": 10})
    assert least.compute_max_features(10**6) == 600 // (0.2 * 10 * 12)
    for name, value in (("rounds", 4), ("trees", 9)):
        with pytest.raises(OptionError, match=name):
            FOREST.replace_settings({name: value})


def test_losses_have_nine_decimals(rng):
    y = np.sort(rng.normal(size=40))
    values = np.stack([y**3, rng.normal(size=40), rng.normal(size=40)])
    scores = _quick(rule="none").score_features(JointInput(values, NumericTarget(y)))
    np.testing.assert_array_equal(scores.loss, np.round(1.0 - scores.score, 9))
    assert (scores.loss != 1.0 - scores.score).any()
