from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest
from helpers.requirements import require
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.linear_models import lasso_path
from symscreen.linear_models.lasso_path import (
    compute_duality_gaps,
    compute_glmnet_lambdas,
    fit_lasso_path,
    standardize_features,
)

whole = st.integers(-3, 3).map(float)
real = st.floats(-9, 9).filter(lambda v: v == 0 or abs(v) > 1e-3)


@st.composite
def problems(draw, most_features=6):
    """Draw features, often with ties and copies, and a response that is not constant."""
    n, q = draw(st.integers(3, 14)), draw(st.integers(1, most_features))
    kind = draw(st.sampled_from([whole, real]))
    rows = st.lists(kind, min_size=n, max_size=n)
    values = np.array(draw(st.lists(rows, min_size=q, max_size=q)))
    target = np.array(draw(rows))
    if np.ptp(target) == 0:
        target[0] += 1.0
    put = standardize_features(values, target)
    return put.features, put.target


def _objective(z, y, lam, b):
    return ((y - b @ z) ** 2).mean() / 2 + lam * np.abs(b).sum()


def _by_brute_force(z, y, lam):
    """Try every set of signs: the minimum has the signs of one of them, and solves its normal equations."""
    n = y.size
    best = np.zeros(len(z))
    for signs in np.array(list(product((-1.0, 0.0, 1.0), repeat=len(z)))):
        used = np.flatnonzero(signs)
        gram = z[used] @ z[used].T / n
        b = np.zeros(len(z))
        b[used] = np.linalg.lstsq(gram, z[used] @ y / n - lam * signs[used], rcond=1e-10)[0]
        best = min(best, b, key=lambda c: _objective(z, y, lam, c))
    return best


@pytest.mark.slow
@given(problems(most_features=4), st.sampled_from([0.9, 0.5, 0.1, 0.003]))
def test_no_set_of_signs_does_better(problem, share):
    z, y = problem
    lam = share * compute_glmnet_lambdas(z, y)[0]
    coefficients, missed = fit_lasso_path(z, y, np.array([lam]))
    least = _objective(z, y, lam, _by_brute_force(z, y, lam))
    assert missed == 0
    assert _objective(z, y, lam, coefficients[0]) <= least + 1e-9 * (y * y).mean()


@pytest.mark.slow
def test_coefficients_are_those_of_brute_force(rng):
    for _ in range(20):
        put = standardize_features(rng.normal(size=(4, 30)) + rng.normal(size=30), rng.normal(size=30))
        lambdas = compute_glmnet_lambdas(put.features, put.target, n_lambdas=5)
        found, _ = fit_lasso_path(put.features, put.target, lambdas)
        exact = [_by_brute_force(put.features, put.target, lam) for lam in lambdas]
        assert np.allclose(found, exact, atol=1e-12)
        assert np.array_equal(found != 0, np.abs(exact) > 1e-12)


@given(problems())
def test_the_path_satisfies_the_optimality_conditions(problem):
    z, y = problem
    lambdas = compute_glmnet_lambdas(z, y)
    b, missed = fit_lasso_path(z, y, lambdas)
    slope = (y - b @ z) @ z.T / y.size
    # at the minimum z_j·r/n = λ·sign(b_j) where b_j ≠ 0, and |z_j·r/n| ≤ λ elsewhere
    off = np.where(
        b != 0,
        np.abs(slope - lambdas[:, None] * np.sign(b)),
        np.maximum(np.abs(slope) - lambdas[:, None], 0),
    )
    assert missed == 0
    # a gap of 1e-10·‖y‖²/n leaves slopes off by √(2·1e-10) of the response at the most
    assert off.max() <= 1.5e-5 * np.sqrt((y * y).mean())
    assert not b[0].any()


def test_without_copies_the_path_is_exact(rng):
    base = rng.uniform(1, 2, (4, 80))
    values = np.concatenate([base**p for p in (1, 2, 3)] + [base[:1] * base[1:], base[:1] / base[1:]])
    put = standardize_features(values, values[4] - values[7] + 0.1 * rng.normal(size=80))
    lambdas = compute_glmnet_lambdas(put.features, put.target)
    coefficients, missed = fit_lasso_path(put.features, put.target, lambdas)
    assert missed == 0
    assert compute_duality_gaps(put.features, put.target, lambdas, coefficients).max() < 1e-14


@pytest.mark.slow
@given(problems(), st.integers(0, 99))
def test_the_duality_gap_bounds_what_is_missing(problem, seed):
    z, y = problem
    lambdas = compute_glmnet_lambdas(z, y, n_lambdas=4)
    b = np.random.default_rng(seed).normal(size=(4, len(z)))
    best, _ = fit_lasso_path(z, y, lambdas)
    gaps = compute_duality_gaps(z, y, lambdas, b) * (y * y).mean()
    for lam, rough, fine, gap in zip(lambdas, b, best, gaps, strict=True):
        excess = _objective(z, y, lam, rough) - _objective(z, y, lam, fine)
        assert excess <= gap * (1 + 1e-9) + 1e-12 * (y * y).mean()


def test_where_the_path_is_lost_coordinate_descent_finds_it(rng, monkeypatch):
    put = standardize_features(rng.normal(size=(30, 50)), rng.normal(size=50))
    lambdas = compute_glmnet_lambdas(put.features, put.target)
    followed, _ = fit_lasso_path(put.features, put.target, lambdas)
    monkeypatch.setattr(lasso_path, "_follow_knots", lambda z, _, steps: np.zeros((steps.size, len(z))))
    descended, missed = fit_lasso_path(put.features, put.target, lambdas)
    assert missed == 0
    assert np.allclose(followed, descended, atol=1e-4)
    assert not np.array_equal(followed, descended)


def test_what_does_not_converge_is_counted_without_a_warning(rng, monkeypatch):
    put = standardize_features(rng.normal(size=(30, 50)) + 9 * rng.normal(size=50), rng.normal(size=50))
    lambdas = compute_glmnet_lambdas(put.features, put.target)
    monkeypatch.setattr(lasso_path, "_MAX_KNOTS_FACTOR", 0)
    monkeypatch.setattr(lasso_path, "_MAX_SWEEPS", 1)
    coefficients, missed = fit_lasso_path(put.features, put.target, lambdas)
    gaps = compute_duality_gaps(put.features, put.target, lambdas, coefficients)
    assert missed == (gaps > 1.01e-10).sum() > 0


def test_copies_are_left_out_and_the_rest_is_as_without_them(rng):
    values = rng.normal(size=(3, 40))
    copies = np.stack([values[0], -2 * values[0] + 1, values[1], np.ones(40), values[2], values[1] * 1e-9])
    target = values.sum(axis=0) + rng.normal(size=40)
    alone, with_copies = standardize_features(values, target), standardize_features(copies, target)
    lambdas = compute_glmnet_lambdas(alone.features, alone.target)
    expected, _ = fit_lasso_path(alone.features, alone.target, lambdas)
    found, missed = fit_lasso_path(with_copies.features, with_copies.target, lambdas)
    assert missed == 0
    assert np.allclose(found[:, [0, 2, 4]], expected, atol=1e-12)
    assert not found[:, [1, 3, 5]].any()


def test_nothing_enters_above_the_largest_slope(rng):
    put = standardize_features(rng.normal(size=(5, 20)), rng.normal(size=20))
    top = compute_glmnet_lambdas(put.features, put.target)[0]
    assert not fit_lasso_path(put.features, put.target, np.array([9 * top, top]))[0].any()
    assert fit_lasso_path(put.features, put.target, np.array([0.999 * top]))[0].any()


# lambda.min.ratio of glmnet is 1e-2 if nobs < nvars and 1e-4 otherwise; the stored path of R has n > q
@pytest.mark.parametrize(("q", "n", "ratio"), [(5, 6, 1e-4), (6, 6, 1e-4), (7, 6, 1e-2)])
def test_the_lambdas_fall_by_the_ratio_of_glmnet_equidistant_in_their_logarithm(q, n, ratio, rng):
    put = standardize_features(rng.normal(size=(q, n)), rng.normal(size=n))
    lambdas = compute_glmnet_lambdas(put.features, put.target)
    assert np.isclose(lambdas[0], np.abs(put.features @ put.target).max() / n)
    assert np.isclose(lambdas[-1] / lambdas[0], ratio)
    assert np.allclose(np.diff(np.log(lambdas)), np.log(ratio) / 99)


def test_glmnet_solves_the_same_problem(rng):
    require("glmnet")
    put = standardize_features(rng.normal(size=(20, 50)), rng.normal(size=50))
    lambdas = compute_glmnet_lambdas(put.features, put.target)
    ours, _ = fit_lasso_path(put.features, put.target, lambdas)
    theirs, missed = fit_lasso_path(put.features, put.target, lambdas, "glmnet")
    assert missed == 0
    assert np.allclose(ours, theirs, atol=1e-6)


def test_glmnet_stopped_early_repeats_what_it_reached(rng, monkeypatch):
    require("glmnet")
    monkeypatch.setattr(lasso_path, "_GLMNET_MAX_SWEEPS", 60)
    put = standardize_features(rng.normal(size=(20, 50)) + rng.normal(size=50), rng.normal(size=50))
    lambdas = compute_glmnet_lambdas(put.features, put.target)
    coefficients, missed = fit_lasso_path(put.features, put.target, lambdas, "glmnet")
    assert 0 < missed < 100
    assert np.array_equal(coefficients[-missed:], np.tile(coefficients[99 - missed], (missed, 1)))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("sklern", "engine is 'sklern'; did you mean 'sklearn'"),
        ("glmnet", r"pip install 'symscreen\[glmnet\]'"),
    ],
)
def test_an_engine_that_is_not_there_is_told(engine, message, monkeypatch):
    monkeypatch.setitem(sys.modules, "glmnet", None)
    with pytest.raises(OptionError, match=message):
        fit_lasso_path(np.array([[1.0, -1.0]]), np.array([1.0, -1.0]), np.array([0.5]), engine)
