from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models.model_criteria import assign_folds, compute_cv_error

sizes = st.integers(2, 80)
counts = st.integers(2, 12)
seeds = st.integers(0, 50)


@given(sizes, counts, seeds)
def test_folds_are_of_one_size_but_for_a_row(n, folds, seed):
    sizes = np.bincount(assign_folds(n, folds, seed))
    assert sizes.size == min(n, folds)
    assert sizes.max() - sizes.min() <= 1


@given(sizes, counts, seeds)
def test_neighbours_in_the_response_go_into_different_folds(n, folds, seed):
    dealt = assign_folds(n, folds, seed)
    for start in range(0, n, folds):
        run = dealt[start : start + folds]
        assert np.unique(run).size == run.size


def test_the_seed_decides():
    assert assign_folds(50, 5, 1).tolist() == assign_folds(50, 5, 1).tolist()
    assert assign_folds(50, 5, 1).tolist() != assign_folds(50, 5, 2).tolist()


@pytest.mark.parametrize("size", [20, 7, 3])
def test_the_standard_error_is_that_of_the_folds(size, rng):
    squares, fold = rng.uniform(size=(3, 60)), rng.permutation(np.arange(60) // size)
    error, standard_error = compute_cv_error(squares, fold)
    weights = np.bincount(fold) / 60
    means = np.array([squares[:, fold == k].mean(axis=1) for k in range(weights.size)])
    variance = np.average((means - squares.mean(axis=1)) ** 2, axis=0, weights=weights) / (weights.size - 1)
    assert np.allclose(error, squares.mean(axis=1))
    assert np.allclose(standard_error, np.sqrt(variance))


@pytest.mark.parametrize("size", [2, 1])
def test_the_standard_error_of_small_folds_is_that_of_the_rows(size, rng):
    squares = rng.uniform(size=(3, 60))
    error, standard_error = compute_cv_error(squares, np.arange(60) // size)
    assert np.allclose(error, squares.mean(axis=1))
    assert np.allclose(standard_error, squares.std(axis=1, ddof=1) / np.sqrt(60))
