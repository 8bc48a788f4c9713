from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models._kernels import _fill_orthonormal_basis
from symscreen.linear_models.gram import argsort_models, compute_unexplained_shares, normalize_rows


def _exactly(rows, target) -> float:
    """Solve the normal equations in fractions, and return RSS/‖y‖²."""
    rows = [[Fraction(float(v)) for v in row] for row in rows]
    y = [Fraction(float(v)) for v in target]
    dot = lambda a, b: sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))  # noqa: E731 - one product
    table = [[dot(a, b) for b in [*rows, y]] for a in rows]
    size, explained = len(rows), Fraction(0)
    with_target = [row[-1] for row in table]
    for i in range(size):
        pivot = table[i][i]
        explained += with_target[i] ** 2 / pivot
        for j in range(i + 1, size):
            ratio = table[j][i] / pivot
            with_target[j] -= ratio * with_target[i]
            for k in range(i, size):
                table[j][k] -= ratio * table[i][k]
    return float(1 - explained / dot(y, y))


@given(st.integers(1, 4), st.integers(6, 60), st.integers(0, 2**32))
def test_as_lstsq(size, n, seed):
    rng = np.random.default_rng(seed)
    columns, target = normalize_rows(rng.normal(size=(9, n))), normalize_rows(rng.normal(size=(1, n)))[0]
    members = np.array([rng.choice(9, size, replace=False) for _ in range(5)])
    for chosen, share in zip(members, compute_unexplained_shares(columns, target, members), strict=True):
        z = columns[chosen].T
        residual = target - z @ np.linalg.lstsq(z, target, rcond=None)[0]
        assert abs(np.sqrt(share) - np.linalg.norm(residual)) < 1e-14


def test_near_copies_lose_few_digits(rng):
    z, w = rng.normal(size=(2, 30))
    columns = normalize_rows(np.stack([z, z + 1e-4 * w]))
    target = normalize_rows((w + 0.1 * rng.normal(size=30))[None])[0]
    share = compute_unexplained_shares(columns, target, np.array([[0, 1]]))[0]
    assert abs(share / _exactly(columns, target) - 1) < 1e-10  # the condition is 1e4; squared it would be 1e8


@pytest.mark.slow
def test_orthogonalised_columns_are_orthogonal_to_the_last_digit(rng):
    z, *others = rng.normal(size=(4, 30))
    columns = normalize_rows(np.stack([z, *(z + 1e-2 * other for other in others)]))
    basis = np.empty((4, 30))
    assert _fill_orthonormal_basis(columns, np.arange(4), 1e-10, 1e-13, basis)
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-15)


def test_an_exact_formula_leaves_rounding(rng):
    x = rng.uniform(0.5, 2.0, 50)
    columns = normalize_rows(np.stack([x, x**2, x**3, x**4]))
    target = normalize_rows((x - 2 * x**2 + x**3 - 0.3 * x**4)[None])[0]
    assert compute_unexplained_shares(columns, target, np.array([[0, 1, 2, 3]]))[0] < 1e-26


@pytest.mark.parametrize(("gap", "kept"), [(1e-4, True), (1e-6, False), (0.0, False)])
def test_collinear_columns_are_not_scored(gap, kept, rng):
    a, b, c = rng.normal(size=(3, 40))
    columns = normalize_rows(np.stack([a, b, a + b + gap * c, np.zeros(40)]))
    target = normalize_rows(c[None])[0]
    assert np.isfinite(compute_unexplained_shares(columns, target, np.array([[0, 1, 2]]))[0]) == kept
    assert compute_unexplained_shares(columns, target, np.array([[0, 3]]))[0] == np.inf


def test_a_determinant_without_digits_is_not_scored(rng):
    a, b, c, d = rng.normal(size=(4, 40))
    columns = normalize_rows(np.stack([a, a + 1e-4 * b, c, c + 1e-4 * d]))
    target = normalize_rows(d[None])[0]
    pairs = np.array([[0, 1], [2, 3]])
    assert np.isfinite(compute_unexplained_shares(columns, target, pairs)).all()
    assert compute_unexplained_shares(columns, target, np.array([[0, 1, 2, 3]]))[0] == np.inf


def test_order_is_by_residual_norm_then_keys():
    shares = np.array([0.25, 0.25 + 1e-14, 0.25 - 1e-9, 1e-25, 3e-27, np.inf])
    assert argsort_models(shares, np.array([9, 2, 9, 7, 8, 0])).tolist() == [3, 4, 2, 1, 0, 5]
    assert argsort_models(np.zeros(3), np.array([1, 1, 0]), np.array([2, 1, 3])).tolist() == [2, 1, 0]
