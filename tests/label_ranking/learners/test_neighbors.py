from __future__ import annotations

import numpy as np
import pytest
from helpers.estimator_checks import parametrize_checks, run_check
from helpers.ranking_settings import some_rankings
from sklearn.model_selection import KFold, cross_val_score

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.median import MEDIAN_METHODS, find_median_ranking
from symscreen.label_ranking.consensus.pairwise_probabilities import estimate_pairwise_probabilities
from symscreen.label_ranking.learners import neighbors
from symscreen.label_ranking.learners.neighbors import KemenyNeighbors


@pytest.mark.filterwarnings("ignore")  # the checks use data that cause warnings
@parametrize_checks(KemenyNeighbors())
def test_it_keeps_scikit_learns_promises(estimator, check):
    run_check(check, estimator)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("ties", [False, True])
def test_it_predicts_the_median_of_the_nearest_rows(rng, monkeypatch, metric, ties):
    monkeypatch.setattr(neighbors, "_MAX_BLOCK_ELEMENTS", 300)  # blocks of a few rows
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
        assert np.array_equal(ranking, find_median_ranking(estimate_pairwise_probabilities(near)).ranking)


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_the_median_method_decides_how_neighbours_agree(rng, method):
    x, y = rng.normal(size=(60, 2)), some_rankings(rng, 60, 4, ties=True)
    predicted = KemenyNeighbors(6, median_method=method).fit(x, y).predict(x)
    for point, ranking in zip(x, predicted, strict=True):
        near = y[np.argsort(((x - point) ** 2).sum(axis=1))[:6]]
        expected = find_median_ranking(estimate_pairwise_probabilities(near), method=method).ranking
        assert np.array_equal(ranking, expected)


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
    everyone = find_median_ranking(estimate_pairwise_probabilities(y)).ranking
    assert np.array_equal(KemenyNeighbors(3).fit(x, y).predict([[1.0]])[0], everyone)


def test_equal_rows_share_the_room_that_nearer_ones_leave():
    x = [[0.0], [0.0], [1.0], [1.0], [1.0], [5.0]]
    far = [3, 2, 1]
    y = [[1, 2, 3], [1, 3, 2], [3, 1, 2], [3, 1, 2], [2, 1, 3], far]
    weights = [1, 1, 2 / 3, 2 / 3, 2 / 3, 0]  # three rows tie for the last two of four neighbours
    expected = find_median_ranking(estimate_pairwise_probabilities(y, weights=weights)).ranking
    assert np.array_equal(KemenyNeighbors(4).fit(x, y).predict([[-1.0]])[0], expected)
    assert np.array_equal(KemenyNeighbors(1).fit(x, y).predict([[9.0]])[0], far)


@pytest.mark.parametrize("asked", [0, 2.5, "all", True])
def test_a_number_of_neighbours_that_is_none_is_refused(rng, asked):
    with pytest.raises(OptionError, match="n_neighbors is"):
        KemenyNeighbors(asked).fit(rng.normal(size=(9, 2)), some_rankings(rng, 9, 3))


def _median_within(y, distances, k):
    """Compute the median of the k nearest rows; rows at the distance of the k-th share its weight."""
    last = sorted(distances)[k - 1]
    n_left, n_tied = k - (distances < last).sum(), (distances == last).sum()
    weights = np.where(distances < last, 1.0, np.where(distances == last, n_left / n_tied, 0.0))
    return find_median_ranking(estimate_pairwise_probabilities(y, weights=weights)).ranking


@pytest.mark.parametrize("coarse", [False, True])
def test_distances_are_taken_as_they_are(rng, monkeypatch, coarse):
    monkeypatch.setattr(neighbors, "_MAX_BLOCK_ELEMENTS", 2000)  # blocks of a few rows
    x, new = rng.normal(size=(40, 2)), rng.normal(size=(15, 2))
    if coarse:  # many rows and many distances are equal
        x, new = np.round(x), np.round(new)
    y = some_rankings(rng, 40, 4, ties=True)
    between, across = (np.abs(one[:, None] - x).sum(axis=2) for one in (x, new))
    model = KemenyNeighbors(6, metric="precomputed").fit(between, y)
    predicted = model.predict(across)
    for distances, ranking in zip(across, predicted, strict=True):
        assert np.array_equal(ranking, _median_within(y, distances, 6))
    if not coarse:
        assert np.array_equal(predicted, KemenyNeighbors(6, metric="manhattan").fit(x, y).predict(new))
    mixed = rng.permutation(40)
    other = KemenyNeighbors(6, metric="precomputed").fit(between[np.ix_(mixed, mixed)], y[mixed])
    assert np.array_equal(other.predict(across[:, mixed]), predicted)


def test_cross_validation_cuts_distances_both_ways(rng):
    x, y = rng.normal(size=(30, 2)), some_rankings(rng, 30, 3)
    between = np.abs(x[:, None] - x).sum(axis=2)
    folds = KFold(3)
    of_distances = cross_val_score(KemenyNeighbors(4, metric="precomputed"), between, y, cv=folds)
    assert of_distances == pytest.approx(
        cross_val_score(KemenyNeighbors(4, metric="manhattan"), x, y, cv=folds)
    )


def test_distances_that_are_none_are_refused(rng):
    y = some_rankings(rng, 6, 3)
    between = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    with pytest.raises(DataError, match=r"X has shape \(6, 4\): give a square matrix"):
        KemenyNeighbors(2, metric="precomputed").fit(between[:, :4], y)
    with pytest.raises(DataError, match=r"row 0, column 1 \(from 0\) is -1, but .*distances ≥ 0"):
        KemenyNeighbors(2, metric="precomputed").fit(-between, y)
    with pytest.raises(OptionError, match="which needs the number of inputs"):
        KemenyNeighbors("auto", metric="precomputed").fit(between, y)
    fitted = KemenyNeighbors(2, metric="precomputed").fit(between, y)
    with pytest.raises(DataError, match="distances ≥ 0"):
        fitted.predict(-between)


def test_a_callable_need_be_no_metric(rng):
    x, y, new = rng.normal(size=(90, 3)), some_rankings(rng, 90, 4), rng.normal(size=(20, 3))

    def uneven(of_new, known):  # not symmetric, no triangle inequality
        return float(np.maximum(of_new - known, 0.0).sum() ** 3 + 0.1 * ((of_new - known) ** 2).sum())

    predicted = KemenyNeighbors(5, metric=uneven).fit(x, y).predict(new)
    for point, ranking in zip(new, predicted, strict=True):
        near = y[np.argsort([uneven(point, known) for known in x])[:5]]
        assert np.array_equal(ranking, find_median_ranking(estimate_pairwise_probabilities(near)).ranking)
