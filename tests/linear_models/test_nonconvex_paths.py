from __future__ import annotations

from pathlib import Path as File

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.linear_models import nonconvex_paths
from symscreen.linear_models.lasso_path import standardize_features
from symscreen.linear_models.nonconvex_paths import compute_lambda_sequence, fit_nonconvex_path

REFERENCE = File(__file__).parents[1] / "reference"
GAMMAS = {"scad": 3.7, "mcp": 3.0}
both = pytest.mark.parametrize("penalty", ["scad", "mcp"])


# ---- the definitions


def _penalty(t, lam, gamma, name):
    """p(t) for t ≥ 0: the integrals of Fan and Li's eq. 2.7 and of Zhang's eq. 2.1."""
    if name == "mcp":
        return np.where(t <= gamma * lam, lam * t - t**2 / (2 * gamma), gamma * lam**2 / 2)
    middle = (2 * gamma * lam * t - t**2 - lam**2) / (2 * (gamma - 1))
    return np.select([t <= lam, t <= gamma * lam], [lam * t, middle], (gamma + 1) * lam**2 / 2)


def _slope(t, lam, gamma, name):
    if name == "mcp":
        return np.maximum(lam - t / gamma, 0)
    return np.where(t <= lam, lam, np.maximum(gamma * lam - t, 0) / (gamma - 1))


def _objective(z, y, b, lam, gamma, name):
    return ((y - b @ z) ** 2).mean() / 2 + _penalty(np.abs(b), lam, gamma, name).sum()


def _breach(z, y, b, lam, gamma, name):
    """How far a point is from the conditions of a local minimum: z·r/n = p'(|b|) sgn b, or ≤ λ at 0."""
    products = z @ (y - b @ z) / y.size
    inside = products - np.sign(b) * _slope(np.abs(b), lam, gamma, name)
    return np.where(b == 0, np.maximum(np.abs(products) - lam, 0), np.abs(inside)).max()


def _best_by_search(u, lam, gamma, name):
    """Minimise ½(u − b)² + p(|b|) over b: a grid about 0 and u, refined about its best point."""
    center, width = 0.0, 1.5 * abs(u) + lam + 1e-9
    for _ in range(6):
        grid = np.append(center + width * np.linspace(-1, 1, 401), 0.0)
        value = (u - grid) ** 2 / 2 + _penalty(np.abs(grid), lam, gamma, name)
        center, width = grid[value.argmin()], width / 50
    return center


@pytest.fixture(scope="module")
def regression():
    values, target = (np.loadtxt(REFERENCE / f"regression_{name}.csv", delimiter=",") for name in "Xy")
    return standardize_features(np.ascontiguousarray(values.T), target)


def _reference(penalty):
    solution = np.loadtxt(REFERENCE / f"ncvreg_{penalty}.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(solution[:, 0]), solution[:, 1], solution[:, 2:]


def _correlated(rng, q, n):
    values = rng.normal(size=(q, n)) + 2 * rng.normal(size=n)
    put = standardize_features(values, values[: min(q, 3)].sum(axis=0) + rng.normal(size=n))
    return put.features, put.target


# ---- parity with R's ncvreg


@both
def test_the_sequence_is_that_of_r(penalty, regression):
    lambdas = compute_lambda_sequence(regression.features, regression.target)
    assert np.allclose(lambdas, _reference(penalty)[0], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("penalty", "least"), [("scad", 100), ("mcp", 97)])
def test_coefficients_equal_those_of_r_or_are_a_better_local_minimum(penalty, least, regression):
    lambdas, intercepts, theirs = _reference(penalty)
    gamma = GAMMAS[penalty]
    z, y = regression.features, regression.target
    path = fit_nonconvex_path(z, y, lambdas, penalty, gamma)
    assert path.converged.all()
    ours, our_intercepts = regression.unscale_coefficients(path.coefficients)
    equal = np.abs(ours - theirs).max(axis=1) < 1e-6
    assert equal.sum() >= least
    assert np.abs(our_intercepts - intercepts)[equal].max() < 1e-6
    for step in np.flatnonzero(~equal):
        lam, b = lambdas[step], path.coefficients[step]
        assert _breach(z, y, b, lam, gamma, penalty) < 1e-9
        there = _objective(z, y, theirs[step] * regression.scales, lam, gamma, penalty)
        assert _objective(z, y, b, lam, gamma, penalty) < there


@both
def test_newton_steps_lead_where_descent_alone_leads(penalty, regression, monkeypatch):
    lambdas, _, _ = _reference(penalty)
    paths = []
    for sweeps, rounds in ((1_000_000, 1), (30, 5000)):
        monkeypatch.setattr(nonconvex_paths, "_SWEEPS_PER_NEWTON_STEP", sweeps)
        monkeypatch.setattr(nonconvex_paths, "_MAX_NEWTON_STEPS", rounds)
        paths.append(
            fit_nonconvex_path(regression.features, regression.target, lambdas, penalty, GAMMAS[penalty])
        )
    assert paths[0].converged.all()
    assert paths[1].converged.all()
    assert np.allclose(paths[0].coefficients, paths[1].coefficients, atol=1e-7)


@given(st.integers(0, 10**6), st.sampled_from(["scad", "mcp"]), st.floats(0.05, 3.0))
def test_a_newton_step_stays_in_its_piece_and_does_not_climb(seed, penalty, lam):
    rng = np.random.default_rng(seed)
    z, y = _correlated(rng, 5, 40)
    gamma = GAMMAS[penalty]
    b = rng.normal(size=5) * rng.choice([0.0, 0.3, 2.0], 5)
    gram, products = z @ z.T / 40, z @ (y - b @ z) / 40
    moved, after = nonconvex_paths._take_newton_step(gram, products, b, lam, gamma, penalty == "scad")
    assert np.allclose(after, z @ (y - moved @ z) / 40, atol=1e-10)
    assert (moved * b >= 0).all()
    assert not moved[b == 0].any()
    for border in (lam, gamma * lam) if penalty == "scad" else (gamma * lam,):
        away = (np.abs(b) - border) * (np.abs(moved) - border)
        assert (away >= -1e-12).all()
    objectives = [_objective(z, y, at, lam, gamma, penalty) for at in (b, moved)]
    assert objectives[1] <= objectives[0] + 1e-12
    # it goes as far as it may: to the minimum, or until a coefficient stands on a border
    if (moved != b).any() and not np.isin(np.abs(moved[b != 0]), [0, lam, gamma * lam]).any():
        slope = after - np.sign(moved) * _slope(np.abs(moved), lam, gamma, penalty)
        assert np.abs(slope[moved != 0]).max() < 1e-9


# ---- every point of a path is a minimum

whole = st.integers(-3, 3).map(float)
real = st.floats(-9, 9).filter(lambda v: v == 0 or abs(v) > 1e-3)


@st.composite
def problems(draw):
    """Draw features, often with ties and copies, at times more than rows, and a response that varies."""
    n, q = draw(st.integers(2, 12)), draw(st.integers(1, 14))
    kind = draw(st.sampled_from([whole, real]))
    rows = st.lists(kind, min_size=n, max_size=n)
    values = np.array(draw(st.lists(rows, min_size=q, max_size=q)))
    target = np.array(draw(rows))
    if np.ptp(target) == 0:
        target[0] += 1.0
    put = standardize_features(values, target)
    return put.features, put.target


@pytest.mark.slow
@given(problems(), st.sampled_from([("scad", 3.7), ("scad", 2.1), ("mcp", 3.0), ("mcp", 1.2)]))
@settings(max_examples=60)
def test_no_coefficient_does_better_elsewhere(problem, setting):
    z, y = problem
    name, gamma = setting
    lambdas = compute_lambda_sequence(z, y, 12)
    path = fit_nonconvex_path(z, y, lambdas, name, gamma)
    size = np.sqrt((y * y).mean())
    for lam, b, converged in zip(lambdas, path.coefficients, path.converged, strict=True):
        assert converged
        products = z @ (y - b @ z) / y.size
        for j in np.flatnonzero(z.any(axis=1)):
            best = _best_by_search(products[j] + b[j], lam, gamma, name)
            assert abs(b[j] - best) < 1e-5 * max(size, 1.0) / (gamma - (2 if name == "scad" else 1))


@both
@pytest.mark.parametrize(("q", "n"), [(40, 30), (10, 50), (1, 20)])
def test_each_point_meets_the_conditions_of_a_local_minimum(penalty, q, n, rng):
    z, y = _correlated(rng, q, n)
    lambdas = compute_lambda_sequence(z, y)
    assert np.isclose(lambdas[-1] / lambdas[0], 0.05 if q >= n else 1e-3)
    path = fit_nonconvex_path(z, y, lambdas, penalty, GAMMAS[penalty])
    assert path.converged.all()
    assert not path.coefficients[0].any()
    assert path.coefficients[-1].any()
    for lam, b in zip(lambdas, path.coefficients, strict=True):
        assert _breach(z, y, b, lam, GAMMAS[penalty], penalty) < 1e-9


# ---- closed forms


def _orthonormal(rng, q, n):
    design = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, q))]))[0][:, 1:]
    return np.ascontiguousarray(design.T) * np.sqrt(n)


def _thresholded(u, lam, gamma, name):
    size, sign = np.abs(u), np.sign(u)
    if name == "mcp":
        return np.select(
            [size <= lam, size <= gamma * lam], [0, sign * (size - lam) * gamma / (gamma - 1)], u
        )
    middle = ((gamma - 1) * u - sign * gamma * lam) / (gamma - 2)
    near = sign * np.maximum(size - lam, 0)
    return np.select([size <= 2 * lam, size <= gamma * lam], [near, middle], u)


@both
def test_on_an_orthonormal_design_each_coefficient_is_thresholded_on_its_own(penalty, rng):
    z = _orthonormal(rng, 12, 40)
    u = np.linspace(-3.0, 3.0, 12)  # at λ = 1 and 0.5 within every piece of both rules
    lambdas = np.array([4.0, 1.0, 0.5])
    path = fit_nonconvex_path(z, u @ z, lambdas, penalty, GAMMAS[penalty])
    expected = np.array([_thresholded(u, lam, GAMMAS[penalty], penalty) for lam in lambdas])
    assert np.allclose(path.coefficients, expected, atol=1e-10)


@both
def test_where_the_penalty_never_becomes_flat_the_path_is_the_lassos(penalty, rng):
    from sklearn.linear_model import Lasso

    z, y = _correlated(rng, 15, 60)
    lambdas = compute_lambda_sequence(z, y, 10)
    path = fit_nonconvex_path(z, y, lambdas, penalty, 1e10)
    for lam, b in zip(lambdas, path.coefficients, strict=True):
        lasso = Lasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(z.T, y)
        assert np.allclose(b, lasso.coef_, atol=1e-7)


@both
def test_without_a_penalty_the_fit_is_least_squares(penalty, rng):
    z, y = _correlated(rng, 6, 40)
    path = fit_nonconvex_path(z, y, np.array([1.0, 0.0]), penalty, GAMMAS[penalty])
    assert np.allclose(path.coefficients[1], np.linalg.lstsq(z.T, y, rcond=None)[0], atol=1e-9)


# ---- copies, constants, units, bytes


@both
def test_copies_of_features_leave_a_local_minimum(penalty, rng):
    z, y = _correlated(rng, 6, 50)
    z = np.vstack([z, z, -z])
    lambdas = compute_lambda_sequence(z, y, 40)
    path = fit_nonconvex_path(z, y, lambdas, penalty, GAMMAS[penalty])
    assert path.converged.all()
    for lam, b in zip(lambdas, path.coefficients, strict=True):
        assert _breach(z, y, b, lam, GAMMAS[penalty], penalty) < 1e-9
        # copies share a coefficient, but none works against another
        assert (np.sign(b[:6]) * np.sign(b[6:12]) >= 0).all()
        assert (np.sign(b[:6]) * np.sign(b[12:]) <= 0).all()


@both
def test_a_copy_of_a_feature_that_is_in_does_not_enter(penalty, rng):
    z = _orthonormal(rng, 3, 30)
    y = np.array([2.0, -1.0, 0.5]) @ z
    lambdas = compute_lambda_sequence(z, y, 40)
    path = fit_nonconvex_path(np.vstack([z, -z]), y, lambdas, penalty, GAMMAS[penalty])
    alone = fit_nonconvex_path(z, y, lambdas, penalty, GAMMAS[penalty])
    assert np.allclose(path.coefficients[:, :3], alone.coefficients, atol=1e-10)
    assert not path.coefficients[:, 3:].any()


@both
def test_a_feature_of_zeros_stays_out_and_changes_nothing(penalty, rng):
    z, y = _correlated(rng, 5, 30)
    lambdas = compute_lambda_sequence(z, y, 20)
    alone = fit_nonconvex_path(z, y, lambdas, penalty, GAMMAS[penalty]).coefficients
    with_zeros = fit_nonconvex_path(
        np.insert(z, 2, 0.0, axis=0), y, lambdas, penalty, GAMMAS[penalty]
    ).coefficients
    assert np.array_equal(np.delete(with_zeros, 2, axis=1), alone)
    assert not with_zeros[:, 2].any()


def test_a_response_that_no_feature_sees_leaves_the_path_empty():
    z = np.array([[-1.0, 1.0, -1.0, 1.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    path = fit_nonconvex_path(z, y, compute_lambda_sequence(z, y), "mcp", 3.0)
    assert path.converged.all()
    assert not path.coefficients.any()


@both
@pytest.mark.parametrize("unit", [2.0**-300, 2.0**300])
def test_the_unit_of_the_response_does_not_matter(penalty, unit, rng):
    z, y = _correlated(rng, 12, 30)
    lambdas = compute_lambda_sequence(z, y, 30)
    plain = fit_nonconvex_path(z, y, lambdas, penalty, GAMMAS[penalty]).coefficients
    there = fit_nonconvex_path(z, y * unit, lambdas * unit, penalty, GAMMAS[penalty]).coefficients
    assert np.array_equal(there / unit, plain)


@both
def test_a_mirrored_feature_has_the_mirrored_coefficient(penalty, rng):
    z, y = _correlated(rng, 12, 30)
    lambdas = compute_lambda_sequence(z, y, 30)
    sign = np.where(np.arange(12) % 2, -1.0, 1.0)
    plain = fit_nonconvex_path(z, y, lambdas, penalty, GAMMAS[penalty]).coefficients
    there = fit_nonconvex_path(z * sign[:, None], y, lambdas, penalty, GAMMAS[penalty]).coefficients
    assert np.allclose(there * sign, plain, atol=1e-12)


@both
def test_the_same_input_gives_the_same_bytes(penalty, regression):
    lambdas = compute_lambda_sequence(regression.features, regression.target)
    first, second = (
        fit_nonconvex_path(regression.features, regression.target, lambdas, penalty, GAMMAS[penalty])
        for _ in range(2)
    )
    assert first.coefficients.tobytes() == second.coefficients.tobytes()


def test_what_has_not_converged_is_told(regression, monkeypatch):
    lambdas, _, _ = _reference("scad")
    monkeypatch.setattr(nonconvex_paths, "_SWEEPS_PER_NEWTON_STEP", 3)
    monkeypatch.setattr(nonconvex_paths, "_MAX_NEWTON_STEPS", 1)
    path = fit_nonconvex_path(regression.features, regression.target, lambdas, "scad", 3.7)
    assert path.converged[0]
    assert not path.converged.all()
