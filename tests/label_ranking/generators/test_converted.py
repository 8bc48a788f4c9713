from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from symscreen.errors import OptionError
from symscreen.label_ranking.generators import convert_classification, convert_regression


def by_hand(x, y):
    """Sort classes by log prior plus the log densities of independent normal features."""
    scores = []
    for label in np.unique(y):
        own = x[y == label]
        variance = own.var(axis=0) + 1e-9 * x.var(axis=0).max()
        density = -0.5 * np.log(2 * np.pi * variance) - (x - own.mean(axis=0)) ** 2 / (2 * variance)
        scores.append(np.log(np.mean(y == label)) + density.sum(axis=1))
    return (-np.array(scores).T).argsort(axis=1).argsort(axis=1) + 1.0


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_classes_are_ordered_by_naive_bayes(load):
    x, y = load(return_X_y=True)
    made = convert_classification(x, y)
    np.testing.assert_array_equal(made.ranks, by_hand(x, y))
    np.testing.assert_array_equal(made.ranks.argmin(axis=1), GaussianNB().fit(x, y).predict(x))
    assert made.labels == ("0", "1", "2")


def test_rounded_probabilities_tie_in_favour_of_the_first_class():
    x, y = load_iris(return_X_y=True)
    made = convert_classification(x, y, digits=3)
    np.testing.assert_array_equal(made.ranks.argmin(axis=1), GaussianNB().fit(x, y).predict(x))
    doubtless = GaussianNB().fit(x, y).predict_proba(x).max(axis=1) > 0.9999
    others = np.sort(np.argsort(made.ranks[doubtless], axis=1)[:, 1:], axis=1)
    np.testing.assert_array_equal(np.argsort(made.ranks[doubtless], axis=1)[:, 1:], others)


def test_any_classifier_with_probabilities_will_do():
    x, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    made = convert_classification(x, y, model)
    np.testing.assert_array_equal(made.ranks.argmin(axis=1), model.fit(x, y).predict(x))
    with pytest.raises(OptionError, match="Perceptron does not predict probabilities"):
        convert_classification(x, y, Perceptron())


def test_columns_are_ordered_by_their_standardised_size():
    x, target = load_diabetes(return_X_y=True)
    table = np.column_stack([x, target])
    made = convert_regression(table, columns=[10, 2, 5], names=[f"c{at}" for at in range(11)])
    assert made.labels == ("c10", "c2", "c5")
    np.testing.assert_array_equal(made.x, x[:, [0, 1, 3, 4, 6, 7, 8, 9]])
    z = (table - table.mean(axis=0)) / table.std(axis=0)
    for row, ranks in zip(z[:60, [10, 2, 5]], made.ranks[:60], strict=True):
        np.testing.assert_array_equal(np.argsort(ranks), np.argsort(-row))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([0, 0], "distinct"),
        ([0, 4], "0 to 3"),
        ([1], "at least two"),
        ([0, 1, 2, 3], "leave one as an input"),
        ([0, 3], "constant"),
    ],
)
def test_columns_that_cannot_be_ranked_are_refused(columns, message, rng):
    table = np.column_stack([rng.random((20, 3)), np.ones(20)])
    with pytest.raises(OptionError, match=message):
        convert_regression(table, columns)
