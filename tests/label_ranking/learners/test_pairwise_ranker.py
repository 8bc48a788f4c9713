from itertools import combinations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.learners.pairwise import PairwiseRanker
from symscreen.targets.ranking_ranks import to_mid_ranks

TREE = DecisionTreeClassifier(random_state=0)


class Given(ClassifierMixin, BaseEstimator):
    """Classifier that stores its training data and predicts the first label of them."""

    def fit(self, X, y):  # noqa: N803
        self.rows_, self.signs_, self.classes_ = X, y, np.unique(y)
        return self

    def predict(self, X):  # noqa: N803
        return np.full(len(X), self.signs_[0])


@pytest.fixture
def groups(rng):
    """Build six groups of rows, identified by a number; each has one true ranking of four labels."""
    truth = np.array([rng.permutation(4) + 1.0 for _ in range(6)])
    group = np.repeat(np.arange(6), 60)
    return truth, group[:, None].astype(float), truth[group]


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_noiseless_rankings_come_back(groups, voting):
    _, rows, ranks = groups
    fitted = PairwiseRanker(TREE, voting=voting).fit(rows, ranks)
    assert (fitted.predict(rows) == ranks).all()
    assert (fitted.decision_function(rows) == 5.0 - ranks).all()  # the first label beats all others: ŝ = k
    assert fitted.transitivity_rate_ == 1.0


def test_incomplete_rankings_suffice(groups, rng):
    truth, rows, ranks = groups
    shown = rng.random(ranks.shape) < 0.6
    shown[~shown.any(axis=1), 0] = True
    fitted = PairwiseRanker(TREE).fit(rows, np.where(shown, ranks, np.nan))
    assert (fitted.predict(np.arange(6.0)[:, None]) == truth).all()


def test_partial_rankings_suffice(groups, rng):
    truth, rows, ranks = groups
    partial = np.ceil(
        ranks - (rng.random((len(ranks), 1)) < 0.5) * (ranks % 2 == 0)
    )  # ties 1 with 2 and 3 with 4
    fitted = PairwiseRanker(TREE).fit(rows, partial)
    assert (fitted.predict(np.arange(6.0)[:, None]) == truth).all()
    assert fitted.tie_rate_.max() > 0.0


def test_each_pair_is_taught_by_the_rows_that_order_it(rng):
    values = rng.integers(0, 4, (40, 4)).astype(float)
    values[rng.random((40, 4)) < 0.3] = np.nan
    values[np.isnan(values).all(axis=1), 2] = 0.0
    rows = np.arange(40.0)[:, None]
    fitted = PairwiseRanker(Given()).fit(rows, values)
    for model, (i, j) in zip(fitted.estimators_, combinations(range(4), 2), strict=True):
        expected = {
            row: np.sign(values[row, i] - values[row, j])
            for row in range(40)
            if values[row, i] < values[row, j] or values[row, i] > values[row, j]
        }
        assert dict(zip(model.rows_[:, 0], model.signs_, strict=True)) == expected


def test_what_is_reported_of_pairs(rng):
    values = rng.integers(0, 3, (60, 4)).astype(float)
    values[rng.random((60, 4)) < 0.3] = np.nan
    values[np.isnan(values).all(axis=1), 1] = 0.0
    fitted = PairwiseRanker().fit(rng.normal(size=(60, 2)), values)
    for i, j in combinations(range(4), 2):
        both = [row for row in values if not np.isnan(row[[i, j]]).any()]
        apart = [row for row in both if row[i] != row[j]]
        assert fitted.pair_coverage_[i, j] == fitted.pair_coverage_[j, i] == pytest.approx(len(both) / 60)
        assert (
            fitted.strict_order_rate_[i, j]
            == fitted.strict_order_rate_[j, i]
            == pytest.approx(len(apart) / len(both))
        )
        assert fitted.tie_rate_[i, j] == pytest.approx(1.0 - len(apart) / len(both))


def test_pairs_never_ordered_are_refused():
    ranks = [[1, 2, np.nan], [2, 1, np.nan], [np.nan, 1, 2], [1, np.nan, 1]]
    with pytest.raises(DataError, match=r"labels of 1 of 3 pairs: \(0, 2\), so.*RankingEnsemble"):
        PairwiseRanker().fit(np.arange(4.0)[:, None], ranks)


def test_a_pair_that_all_rows_order_alike_needs_no_classifier():
    fitted = PairwiseRanker(voting="soft").fit([[0.0], [1.0]], [[1, 2, 3], [1, 3, 2]])
    assert fitted.estimators_[:2] == [-1, -1]
    assert fitted.predict([[5.0], [-5.0]])[:, 0].tolist() == [1.0, 1.0]


def test_a_cycle_is_broken_by_the_seed_alone():
    rows, ranks = [[0.0]] * 3, [[1, 2, np.nan], [np.nan, 1, 2], [2, np.nan, 1]]  # 0 ≻ 1 ≻ 2 ≻ 0
    seen = set()
    for seed in range(20):
        fitted = PairwiseRanker(random_state=seed).fit(rows, ranks)
        assert fitted.decision_function([[0.0]]).tolist() == [[2.0, 2.0, 2.0]]
        assert fitted.transitivity_rate_ == 0.0
        together = fitted.predict([[0.0], [7.0], [0.0]])
        assert (together == fitted.predict([[0.0]])).all()
        seen.add(tuple(together[0]))
    assert len(seen) == 6


def test_weights_are_passed_on_and_rows_of_weight_zero_are_not_there(groups, rng):
    _, rows, ranks = groups
    noisy = to_mid_ranks(ranks + rng.normal(0, 2, ranks.shape))
    weights = rng.integers(0, 3, len(rows)).astype(float)
    repeated = np.repeat(np.arange(len(rows)), weights.astype(int))
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    one = PairwiseRanker(model, voting="soft").fit(rows, noisy, weights)
    two = PairwiseRanker(model, voting="soft").fit(rows[repeated], noisy[repeated])
    assert one.decision_function(rows) == pytest.approx(two.decision_function(rows))
    assert PairwiseRanker().fit(rows, ranks, weights).predict(rows).shape == ranks.shape


def test_soft_votes_are_sums_of_probabilities(groups):
    _, rows, ranks = groups
    fitted = PairwiseRanker(LogisticRegression(), voting="soft").fit(rows, ranks)
    scores = np.ones(ranks.shape)
    for model, (i, j) in zip(fitted.estimators_, combinations(range(4), 2), strict=True):
        chance = model.predict_proba(rows)[:, 0] if not isinstance(model, int) else float(model == -1)
        scores[:, i] += chance
        scores[:, j] += 1 - chance
    assert fitted.decision_function(rows) == pytest.approx(scores)


def test_options_without_meaning_are_refused(groups):
    _, rows, ranks = groups
    with pytest.raises(OptionError, match="voting is 'sotf'; did you mean 'soft'"):
        PairwiseRanker(voting="sotf").fit(rows, ranks)
    with pytest.raises(OptionError, match="LinearSVC has no predict_proba"):
        PairwiseRanker(LinearSVC(), voting="soft").fit(rows, ranks)


def test_a_negative_weight_is_refused():
    with pytest.raises(
        OptionError, match=r"the weight of row 1 is -1: weights must be finite and at least 0"
    ):
        PairwiseRanker().fit([[0.0], [1.0]], [[1, 2], [2, 1]], sample_weight=[1.0, -1.0])
