from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import RepeatedKFold

from symscreen.experiments.ranking_benchmarks import RankedSet, cross_validate
from symscreen.label_ranking import kendall_tau, order_list_tau
from symscreen.label_ranking.generators import draw_mallows, rank_by_score


class Constant:
    """Predict the ranking by mean ranks."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, _x, y):
        self.ranking_ = rank_by_score(-y.mean(axis=0, keepdims=True))
        return self

    def predict(self, x):
        return np.repeat(self.ranking_, len(x), axis=0)


class Oracle(Constant):
    def predict(self, x):
        return x


@pytest.fixture
def data(rng):
    truth = draw_mallows([2, 4, 1, 3], 1.0, 60, rng)
    return RankedSet(truth, draw_mallows(truth, 1.0, 60, rng), truth)


def test_figures_are_those_of_the_folds_one_by_one(data):
    found = cross_validate(data, {"constant": Constant}, folds=5, repeats=2, seed=7, jobs=2)["constant"]
    taus, lists = [], []
    for train, test in RepeatedKFold(n_splits=5, n_repeats=2, random_state=7).split(data.x):
        predicted = Constant(0).fit(data.x[train], data.observed[train]).predict(data.x[test])
        taus.append(kendall_tau(predicted, data.truth[test]).mean())
        lists.append(order_list_tau(predicted, data.truth[test]).mean())
    assert np.std(taus) != pytest.approx(np.std(lists), rel=0.01)  # ranks that are not their own orders
    assert (found.tau, found.tau_sd) == pytest.approx((np.mean(taus), np.std(taus)))
    assert (found.order_list_tau, found.order_list_tau_sd) == pytest.approx((np.mean(lists), np.std(lists)))


def test_predictions_are_judged_on_the_truth_not_on_what_was_observed(data):
    found = cross_validate(data, {"oracle": Oracle}, folds=3, repeats=1, seed=0, jobs=1)["oracle"]
    assert (found.tau, found.tau_sd, found.order_list_tau) == (1.0, 0.0, 1.0)
