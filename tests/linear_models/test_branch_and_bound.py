from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from symscreen.linear_models.best_subset import search_subsets

PLENTY = 10**7


def _rss(vectors, aim, model):
    rest = aim - vectors[:, model] @ np.linalg.lstsq(vectors[:, model], aim, rcond=None)[0]
    return float(rest @ rest)


def _least_rss(vectors, aim, size):
    """The least sum of squares of all models of a size whose columns are independent."""
    models = np.array(list(combinations(range(vectors.shape[1]), size)))
    columns = vectors.T[models].transpose(0, 2, 1)
    columns = columns[np.linalg.matrix_rank(columns, tol=1e-6) == size]
    bases = np.linalg.qr(columns)[0]
    rest = aim - (bases @ (aim @ bases)[:, :, None])[:, :, 0]
    return (rest**2).sum(axis=1).min()


def _problem(rng, q, r, dependent=0):
    """Columns of unit length, the last of them sums of others, and an aim."""
    vectors = rng.normal(size=(r, q)) + rng.normal(size=(r, 1))
    for j in range(q - dependent, q):
        vectors[:, j] = vectors[:, j - q + dependent] - vectors[:, 1 + j - q + dependent]
    return vectors / np.linalg.norm(vectors, axis=0), rng.normal(size=r)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "r", "dependent"),
    [
        (8, 12, 0),
        (9, 12, 3),
        (9, 6, 0),
        (10, 30, 2),
    ],
)
def test_the_best_is_found_without_any_model_to_start_from(q, r, dependent, rng):
    for _ in range(20):
        vectors, aim = _problem(rng, q, r, dependent)
        for size in range(1, 6):
            model = np.full(size, -1)
            search_subsets(vectors, aim, np.full(q, 1e-7), np.inf, model, PLENTY)
            least = _least_rss(vectors, aim, size)
            assert len(set(model.tolist())) == size
            assert _rss(vectors, aim, model) == pytest.approx(least, rel=1e-9, abs=1e-20)


def test_a_model_that_cannot_be_beaten_stays(rng):
    vectors, aim = _problem(rng, 8, 20)
    best = np.zeros(3, dtype=np.int64)
    search_subsets(vectors, aim, np.full(8, 1e-7), np.inf, best, PLENTY)
    model = np.array([-1, -1, -1])
    search_subsets(vectors, aim, np.full(8, 1e-7), _rss(vectors, aim, best), model, PLENTY)
    assert model.tolist() == [-1, -1, -1]


def test_the_budget_ends_the_search(rng):
    vectors, aim = _problem(rng, 30, 40)
    model = np.zeros(10, dtype=np.int64)
    assert 300 < search_subsets(vectors, aim, np.full(30, 1e-7), np.inf, model, 300) < 400
