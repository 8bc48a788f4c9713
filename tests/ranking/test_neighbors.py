from __future__ import annotations

import numpy as np
import pytest
from ranking.settings import some_rankings
from sklearn.utils.estimator_checks import estimator_checks_generator

from symscreen.errors import OptionError
from symscreen.ranking import neighbors
from symscreen.ranking.consensus import median_ranking
from symscreen.ranking.neighbors import KemenyNeighbors
from symscreen.ranking.pairwise import pairwise_probabilities


@pytest.mark.filterwarnings("ignore")  # the checks try what warns
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(KemenyNeighbors())),
    ids=lambda case: getattr(getattr(case, "func", None), "__name__", ""),
)
def test_it_keeps_scikit_learns_promises(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("ties", [False, True])
def test_it_predicts_the_median_of_the_nearest_rows(rng, monkeypatch, metric, ties):
    monkeypatch.setattr(neighbors, "_AT_ONCE", 300)  # a few rows at a time
    x, y = rng.normal(size=(60, 2)), some_rankings(rng, 60, 5, ties=ties)
    new = rng.normal(size=(30, 2))
    predicted = KemenyNeighbors(7, metric=metric).fit(x, y).predict(new)
    for point, ranking in zip(new, predicted, strict=True):
        distance = {
            "euclidean": np.sqrt(((x - point) ** 2).sum(axis=1)),
            "manhattan": np.abs(x - point).sum(axis=1),
            "cosine": 1 - x @ point / np.linalg.norm(x, axis=1) / np.linalg.norm(point),
        }[metric]
        near = y[np.argsort(distance)[:7]]
        assert np.array_equal(ranking, median_ranking(pairwise_probabilities(near)).ranking)


def test_pairs_that_no_neighbour_shows_are_judged_by_all_rows():
    x = [[0.0], [1.0], [9.0], [9.5]]
    y = [[2, 3, np.nan], [2, 3, np.nan], [3, 2, 1], [3, 2, 1]]
    assert KemenyNeighbors(2).fit(x, y).predict([[0.0]]).tolist() == [[2.0, 3.0, 1.0]]


def test_the_number_of_neighbours_grows_as_theorem_13_asks(rng):
    for n, d in [(1000, 2), (1000, 8), (20, 1), (1, 3)]:
        x, y = rng.normal(size=(n, d)), some_rankings(rng, n, 3)
        found = KemenyNeighbors("auto").fit(x, y).n_neighbors_
        assert found == max(round(n ** (2 / (d + 2))), 1)
    assert KemenyNeighbors(50).fit(x, y).n_neighbors_ == 1


def test_ties_of_distance_do_not_depend_on_the_order_of_rows(rng):
    x, y = rng.integers(0, 3, (60, 2)).astype(float), some_rankings(rng, 60, 4)
    mixed = rng.permutation(60)
    one, two = KemenyNeighbors(4).fit(x, y), KemenyNeighbors(4).fit(x[mixed], y[mixed])
    assert np.array_equal(one.predict(x), two.predict(x))


def test_rows_with_equal_inputs_all_count(rng):
    x, y = np.zeros((50, 1)), some_rankings(rng, 50, 4)
    everyone = median_ranking(pairwise_probabilities(y)).ranking
    assert np.array_equal(KemenyNeighbors(3).fit(x, y).predict([[1.0]])[0], everyone)


def test_equal_rows_share_the_room_that_nearer_ones_leave():
    x = [[0.0], [0.0], [1.0], [1.0], [1.0], [5.0]]
    far = [3, 2, 1]
    y = [[1, 2, 3], [1, 3, 2], [3, 1, 2], [3, 1, 2], [2, 1, 3], far]
    weights = [1, 1, 2 / 3, 2 / 3, 2 / 3, 0]  # of four neighbours two are at 1, where there are three
    expected = median_ranking(pairwise_probabilities(y, weights=weights)).ranking
    assert np.array_equal(KemenyNeighbors(4).fit(x, y).predict([[-1.0]])[0], expected)
    assert np.array_equal(KemenyNeighbors(1).fit(x, y).predict([[9.0]])[0], far)


@pytest.mark.parametrize("asked", [0, 2.5, "all", True])
def test_a_number_of_neighbours_that_is_none_is_refused(rng, asked):
    with pytest.raises(OptionError, match="n_neighbors is"):
        KemenyNeighbors(asked).fit(rng.normal(size=(9, 2)), some_rankings(rng, 9, 3))
