from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from symscreen.experiments import median_regression
from symscreen.experiments.median_regression import fit_cluster_modes, fit_plackett_luce_weights
from symscreen.label_ranking.generators import compute_plackett_luce_probability, draw_plackett_luce


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_weights_have_the_highest_penalised_likelihood(k, rng):
    ranks = draw_plackett_luce(rng.gamma(0.7, size=k) + 0.05, 200, rng)

    def loss(free):
        w = np.exp(np.append(free, 0.0))
        return -np.log(compute_plackett_luce_probability(ranks, w)).sum() - 0.5 * np.log(w / w.sum()).sum()

    expected = np.exp(np.append(minimize(loss, np.zeros(k - 1), method="BFGS", tol=1e-6).x, 0.0))
    np.testing.assert_allclose(fit_plackett_luce_weights(ranks), expected / expected.sum(), rtol=1e-3)


def test_many_rankings_give_the_weights_they_were_drawn_with(rng):
    w = np.array([0.5, 0.25, 0.15, 0.1])
    np.testing.assert_allclose(fit_plackett_luce_weights(draw_plackett_luce(w, 20_000, rng)), w, rtol=0.05)


def test_steps_end_when_one_changes_no_weight_by_the_tolerance(monkeypatch, rng):
    ranks = draw_plackett_luce(np.array([0.5, 0.3, 0.2]), 30, rng)

    def fit(tolerance, steps):
        monkeypatch.setattr(median_regression, "_LOG_WEIGHT_TOLERANCE", tolerance)
        monkeypatch.setattr(median_regression, "_MAX_STEPS", steps)
        return fit_plackett_luce_weights(ranks)

    first, second = fit(0.0, 1), fit(0.0, 2)
    change = np.abs(np.log(first / (1 / 3))).max()
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(fit(np.nextafter(change, 1.0), 99), first)
    np.testing.assert_array_equal(fit(change, 99), second)


def test_one_ranking_repeated_has_its_own_order():
    weights = fit_plackett_luce_weights(np.tile([2.0, 4.0, 1.0, 3.0], (50, 1)))
    assert np.argsort(-weights).tolist() == [2, 0, 3, 1]
    assert np.isfinite(np.log(weights)).all()


@pytest.mark.parametrize("ranking", [[1.0, 2.0], [2.0, 1.0]])
def test_the_nearest_neighbours_are_five(ranking):
    own, other = np.array(ranking), np.array(ranking[::-1])
    nearest = np.stack([other, other, own, own, own, other])  # of 4 or 6, two rankings are equally frequent
    x = np.arange(1.0, 7.0)[:, None]
    partition = SimpleNamespace(sides=(np.empty(0),))  # one numeric feature
    found = median_regression._predict_rankings("knn", partition, (x, nearest, np.zeros((1, 1))), 0)
    assert found.tolist() == [ranking]


def test_clusters_that_lie_apart_get_the_modes_of_their_own(rng):
    centers, modes = (
        np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]),
        np.array([[1, 2, 3], [3, 2, 1], [2, 3, 1]]),
    )
    own = np.repeat([0, 1, 2], 40)
    x = centers[own] + rng.normal(size=(120, 2))
    fitted = fit_cluster_modes(x, modes[own].astype(float), 3, seed=0)
    np.testing.assert_array_equal(fitted.predict(centers), modes)
