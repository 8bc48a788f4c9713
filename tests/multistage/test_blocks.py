from __future__ import annotations

import numpy as np
import pytest

from symscreen.multistage import compute_svm_objective, solve_offset_svm
from symscreen.multistage._kernels import LOSS_CODES
from symscreen.multistage.factor_model import BlockSolverOptions, group_terms, solve_block

NONE = np.empty(0, dtype=np.int32)


def _terms(rng, n, cost):
    y = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int8)
    return y, cost * rng.random(n), rng.normal(size=n)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_each_level_is_the_problem_of_its_terms(rng, loss, jobs):
    n, levels, k = 300, 11, 4
    inputs, groups = rng.normal(size=(40, k)), rng.integers(levels, size=n)
    groups[groups == 5] = -1  # terms that the block does not touch, and a level without any
    rows = rng.integers(40, size=n).astype(np.int32)
    y, cost, drift = _terms(rng, n, 0.5)
    block = group_terms(groups, levels, rows, NONE, y, cost)
    coefficients, fitted = np.zeros((levels, k)), drift.copy()
    precision = BlockSolverOptions(LOSS_CODES[loss], 1e-8, 10_000, jobs)
    solve_block(block, inputs, np.empty((0, 0)), coefficients, fitted, precision)
    for level in range(levels):
        mine = groups == level
        problem = inputs[rows[mine]], y[mine], cost[mine], drift[mine]
        if not mine.any():
            assert not coefficients[level].any()
            continue
        one = solve_offset_svm(*problem, loss=loss, tolerance=1e-8)
        here = compute_svm_objective(coefficients[level], *problem, loss=loss)
        assert here == pytest.approx(one.objective, rel=1e-6)
        assert np.allclose(fitted[mine], problem[0] @ coefficients[level] + drift[mine], atol=1e-10)
    assert np.array_equal(fitted[groups < 0], drift[groups < 0])


def test_products_of_rows_are_the_matrix_that_they_stand_for(rng):
    n, k, p = 200, 3, 4
    left, right = rng.normal(size=(20, k)), rng.random((15, p))
    lefts, rights = (rng.integers(size, size=n).astype(np.int32) for size in (20, 15))
    y, cost, drift = _terms(rng, n, 0.3)
    block = group_terms(np.zeros(n, dtype=np.int64), 1, lefts, rights, y, cost)
    coefficients, fitted = np.zeros((1, k * p)), drift.copy()
    solve_block(
        block, left, right, coefficients, fitted, BlockSolverOptions(LOSS_CODES["hinge"], 1e-8, 20_000, 1)
    )
    x = np.einsum("nk,np->nkp", left[lefts], right[rights]).reshape(n, -1)
    whole = solve_offset_svm(x, y, cost, drift, tolerance=1e-8, max_sweeps=20_000)
    assert compute_svm_objective(coefficients[0], x, y, cost, drift) == pytest.approx(
        whole.objective, rel=1e-6
    )
    assert np.allclose(fitted, x @ coefficients[0] + drift, atol=1e-10)


@pytest.mark.parametrize("loss", LOSS_CODES)
def test_a_block_that_is_given_up_early_is_not_worse_than_before(rng, loss):
    x, (y, cost, drift) = rng.normal(size=(150, 6)), _terms(rng, 150, 20.0)
    rows = np.arange(150, dtype=np.int32)
    block = group_terms(np.zeros(150, dtype=np.int64), 1, rows, NONE, y, cost)
    coefficients = rng.random((1, 6))
    fitted = x @ coefficients[0] + drift
    before = compute_svm_objective(coefficients[0], x, y, cost, drift, loss=loss)
    for _ in range(15):
        solve_block(
            block, x, np.empty((0, 0)), coefficients, fitted, BlockSolverOptions(LOSS_CODES[loss], 1e-9, 1, 1)
        )
        after = compute_svm_objective(coefficients[0], x, y, cost, drift, loss=loss)
        assert after <= before * (1 + 1e-12)
        assert np.allclose(fitted, x @ coefficients[0] + drift, atol=1e-9)
        before = after


def test_many_terms_are_visited_in_runs_and_solved_as_well(rng):
    n = 70_000  # more terms than _LARGE_PROBLEM_TERMS: visited in runs
    x = rng.random((n, 3))
    y, cost, drift = _terms(rng, n, 1e-3)
    found = solve_offset_svm(x, y, cost, drift, tolerance=1e-4)
    assert found.gap <= 1e-4 * found.objective
    assert found.objective == pytest.approx(
        compute_svm_objective(found.coefficients, x, y, cost, drift), rel=1e-9
    )
