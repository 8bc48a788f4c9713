from __future__ import annotations

import numpy as np

from symscreen.fitting.laws.gauss_newton import (
    estimate_with_errors,
    improve_fit,
    solve_least_squares,
)


def test_the_solution_is_that_of_the_normal_equations(rng):
    rows, target = rng.normal(size=(3, 40)) * [[1e-6], [1.0], [1e6]], rng.normal(size=40)
    solution = solve_least_squares(rows, target)
    np.testing.assert_allclose(rows / 1e6 @ (target - solution @ rows), 0.0, atol=1e-12)


def test_dependent_rows_have_no_solution(rng):
    row, target = rng.normal(size=20), rng.normal(size=20)
    assert solve_least_squares(np.vstack([row, 2 * row]), target) is None
    assert solve_least_squares(np.vstack([row, 0 * row]), target) is None
    assert solve_least_squares(np.vstack([row, row * np.nan]), target) is None


def test_standard_errors_are_the_spread_of_estimates_over_tables_with_unequal_variances(rng):
    x = rng.uniform(0, 1, 400)
    design = np.column_stack([np.ones(400), 1e6 * x])
    tables = [design @ [2.0, 3e-6] + 3 * x**2 * rng.normal(size=400) for _ in range(1_000)]
    fitted = [estimate_with_errors(design, table) for table in tables]
    coefficients, errors = (np.array(each) for each in zip(*fitted, strict=True))
    np.testing.assert_allclose(coefficients.mean(axis=0), [2.0, 3e-6], rtol=0.02)
    np.testing.assert_allclose(errors.mean(axis=0), coefficients.std(axis=0), rtol=0.1)


def test_coefficients_of_dependent_columns_are_not_estimated(rng):
    column, target = rng.normal(size=20), rng.normal(size=20)
    assert estimate_with_errors(np.column_stack([column, 2 * column]), target) is None
    assert estimate_with_errors(np.column_stack([column, 0 * column]), target) is None


def test_the_fit_never_becomes_worse_and_ends_at_a_stationary_point(rng):
    x = rng.uniform(0, 2, 200)
    target = 3 * np.exp(-1.3 * x) + 0.05 * rng.normal(size=200)

    def predict(b):
        return b[0] * np.exp(b[1] * x)

    def differentiate(b):
        return np.vstack([np.exp(b[1] * x), b[0] * x * np.exp(b[1] * x)])

    start = np.array([1.0, 0.0])
    solution, square = improve_fit(predict, differentiate, start, target)
    residuals = target - predict(solution)
    assert square == float(residuals @ residuals) < ((target - predict(start)) ** 2).sum()
    np.testing.assert_allclose(differentiate(solution) @ residuals, 0.0, atol=1e-3)
