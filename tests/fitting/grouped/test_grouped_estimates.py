"""Least squares by group, against ordinary least squares on a design with one column for each group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.expressions.traversal import rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.grouped.constant_fit import estimate_constants, fit_model
from symscreen.fitting.grouped.group_estimates import (
    GroupPrior,
    compute_group_estimates,
    compute_posterior,
    estimate_prior,
)
from symscreen.fitting.grouped.grouped_model import GroupedModel, build_design, project_design
from symscreen.fitting.grouped.grouped_rows import GroupedRows, orthonormalize


def make_rows(rng, counts, noise=0.1):
    """Make rows of y = a_g·exp(−0.7·x) + 2·z; return them with the a_g."""
    n, starts = sum(counts), np.cumsum([0, *counts[:-1]])
    x, z = rng.uniform(0.5, 3.0, (2, n))
    slopes = rng.normal(3.0, 1.0, len(counts))
    y = np.repeat(slopes, counts) * np.exp(-0.7 * x) + 2.0 * z + noise * rng.normal(size=n)
    return GroupedRows({"x": x, "z": z}, y, starts), slopes


def build_blocks(rows, varying, shared):
    """Return the design with a column for each group and each column that varies, shape (n, v·G + s)."""
    codes = rows.spread(np.arange(rows.n_groups))
    blocks = [column * (codes == group) for column in varying for group in range(rows.n_groups)]
    return np.array([*blocks, *shared]).T


def fit_free(text):
    """Return an expression whose numbers are constants to fit."""
    return rebuild_expression(
        parse_expression(text), number=lambda number: Constant(float(number.value), fitted=True)
    )


def make_model(terms, varies, inner_varies=()):
    """Make a model without an intercept."""
    return GroupedModel(
        tuple(terms), (1.0,) * len(terms), has_intercept=False, varies=varies, inner_varies=inner_varies
    )


EXPONENTIAL, INPUT = parse_expression("exp(-0.7*x)"), parse_expression("z")


def estimate(model, rows):
    fitted = fit_model(model, rows)
    estimates = estimate_constants(fitted, rows)
    constants = np.vstack([estimates.coefficients, estimates.inner])
    varies = np.array([*model.varies, *model.inner_varies])
    return compute_group_estimates(constants[varies], constants[~varies][:, 0], estimates, rows)


@settings(max_examples=10)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 2), st.integers(0, 2**16))
def test_the_projection_leaves_the_residuals_of_least_squares(counts, n_shared, seed):
    rng = np.random.default_rng(seed)
    rows, _ = make_rows(rng, counts)
    varying, shared = rng.normal(size=(2, rows.n)), rng.normal(size=(n_shared, rows.n))
    design = build_blocks(rows, varying, shared)
    expected = rows.target - design @ np.linalg.lstsq(design, rows.target, rcond=None)[0]
    found = project_design(rows, varying, shared).remove(rows.target)
    assert found == pytest.approx(expected, abs=1e-7)


def test_a_column_that_depends_on_others_in_a_group_is_zero_there(rng):
    rows, _ = make_rows(rng, [1, 6])
    q, r = orthonormalize(rows, rng.normal(size=(2, rows.n)))
    assert (q[1, :1] == 0.0).all()
    assert r[0, 1, 1] == 0.0
    assert r[1, 1, 1] > 0.0


@pytest.mark.parametrize("varies", [(True, False), (True, True), (False, False)])
def test_estimates_and_errors_are_those_of_least_squares_on_blocks(rng, varies):
    rows, _ = make_rows(rng, [7, 12, 9])  # three groups are not shrunk
    model = make_model((EXPONENTIAL, INPUT), varies)
    found = estimate(model, rows)
    design = build_blocks(
        rows, *build_design(model, np.array([rows.evaluate(term) for term in model.terms]), rows)
    )
    solution = np.linalg.lstsq(design, rows.target, rcond=None)[0]
    residuals = rows.target - design @ solution
    variance = residuals @ residuals / (rows.n - design.shape[1])
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    assert np.concatenate([found.varying.ravel(), found.shared]) == pytest.approx(solution)
    assert np.concatenate([found.varying_errors.ravel(), found.shared_errors]) == pytest.approx(errors)
    assert found.residual_std == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("inner_varies", [False, True])
def test_inner_constants_are_those_of_a_general_least_squares_fit(rng, inner_varies):
    from scipy.optimize import least_squares

    rows, slopes = make_rows(rng, [15, 10, 12])
    model = make_model((fit_free("exp(-1*x)"), INPUT), (True, False), (inner_varies,))
    found = estimate(model, rows)
    codes = rows.spread(np.arange(3))

    def compute_residuals(parameters):
        rates = parameters[3:6][codes] if inner_varies else parameters[3]
        shared = parameters[6] if inner_varies else parameters[4]
        predicted = parameters[:3][codes] * np.exp(rates * rows.columns["x"]) + shared * rows.columns["z"]
        return predicted - rows.target

    start = [*slopes, *[-0.7] * (3 if inner_varies else 1), 2.0]
    oracle = least_squares(compute_residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    covariance = np.linalg.inv(oracle.jac.T @ oracle.jac) * found.residual_std**2
    expected, errors = oracle.x, np.sqrt(np.diag(covariance))
    own, own_errors = found.varying.ravel(), found.varying_errors.ravel()
    order = [*range(6), 6] if inner_varies else [0, 1, 2, 4, 3]  # shared: the coefficient, then the constant
    assert np.concatenate([own, found.shared]) == pytest.approx(expected[order], rel=1e-5)
    assert np.concatenate([own_errors, found.shared_errors]) == pytest.approx(errors[order], rel=1e-3)


def test_a_group_with_few_rows_moves_toward_the_mean_and_one_with_many_does_not(rng):
    rows, _ = make_rows(rng, [2, *[60] * 8], noise=1.0)
    model = make_model((EXPONENTIAL, INPUT), (True, False))
    fitted = estimate_constants(fit_model(model, rows), rows)
    shrunk = estimate(model, rows)
    mean = shrunk.prior.means[0]
    share = np.abs(shrunk.varying[0] - mean) / np.abs(fitted.coefficients[0] - mean)
    assert (share <= 1.0).all()
    assert share[0] < 0.8 < share[1:].min()
    assert shrunk.varying_errors[0, 0] > 2.0 * shrunk.varying_errors[0, 1:].max()


@pytest.mark.parametrize("size", [1.0, 1e3, 1e9, 1e15])
def test_a_group_that_outweighs_all_others_leaves_their_prior_finite(rng, size):
    lengths = np.array([1.0, 1.2, 0.9, 1.1, size])
    varying = rng.normal(3.0, 1.0, (1, 5))
    prior = estimate_prior(varying, lengths[:, None, None], np.ones(5, dtype=bool), 0.01)
    weights = np.square(lengths) / 0.01
    pairs = [weights[i] * weights[j] for i in range(5) for j in range(5) if i != j]
    mean = (weights * varying[0]).sum() / weights.sum()
    excess = (weights * (varying[0] - mean) ** 2).sum() - 4
    assert np.isfinite(prior.means).all()
    if size < 1e6:  # the sum over pairs and the mean are exact enough
        assert prior.variances[0] == pytest.approx(excess / (sum(pairs) / weights.sum()), rel=1e-6)


@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_the_prior_is_in_the_units_of_the_constants(rng, unit):
    varying, factors = rng.normal(3.0, 1.0, (1, 5)), rng.uniform(1.0, 2.0, (5, 1, 1))
    own = estimate_prior(varying, factors, np.ones(5, dtype=bool), 0.01)
    scaled = estimate_prior(unit * varying, factors / unit, np.ones(5, dtype=bool), 0.01)
    assert scaled.means == pytest.approx(unit * own.means)
    assert np.sqrt(scaled.variances) == pytest.approx(unit * np.sqrt(own.variances))
    assert np.sqrt(scaled.mean_variances) == pytest.approx(unit * np.sqrt(own.mean_variances))
    assert estimate_prior(1e200 * varying, 1e-200 * factors, np.ones(5, dtype=bool), 0.01) is None


def test_a_shared_constant_that_the_rows_do_not_tell_from_others_has_no_error(rng):
    rows, _ = make_rows(rng, [20, 20, 20])
    term = fit_free("1.5*z")  # the number inside does what the coefficient does
    model = make_model((EXPONENTIAL, term), (True, False), (False,))
    estimates = estimate_constants(model, rows)
    varying, shared = estimates.coefficients[:1], np.array([estimates.coefficients[1, 0], 1.5])
    found = compute_group_estimates(varying, shared, estimates, rows)
    plain = estimate(make_model((EXPONENTIAL, INPUT), (True, False)), rows)
    assert np.isnan(found.shared_errors).tolist() == [False, True]
    assert 1.5 * found.shared_errors[0] == pytest.approx(plain.shared_errors[0])
    assert found.n_freedom == plain.n_freedom
    assert found.varying_errors == pytest.approx(plain.varying_errors)


def test_a_group_without_enough_rows_gets_what_the_others_say(rng):
    rows, _ = make_rows(rng, [1, 20, 20, 20, 20])
    model = make_model((EXPONENTIAL, INPUT), (True, True))
    found = estimate(model, rows)
    assert found.varying[1, 0] == pytest.approx(2.0, abs=0.3)
    assert np.isfinite(found.varying_errors).all()


@pytest.mark.parametrize(("size", "total"), [(1.0, 4.0), (1e4, 5.0), (1e8, 5.0), (1e12, 5.0)])
def test_the_posterior_of_terms_that_a_group_cannot_tell_apart_divides_their_sum(size, total):
    prior = GroupPrior(np.array([1.0, 2.0]), np.array([0.5, 0.5]), np.zeros(2), 1.0)
    constants, covariance = compute_posterior(np.array([[size, size]]), np.array([5.0 * size]), prior, 1.0)
    assert constants.sum() == pytest.approx(total, rel=1e-7)  # which the row and the prior say
    assert np.diff(constants) == pytest.approx([1.0], rel=1e-3)  # which the prior alone says
    assert np.diag(covariance) == pytest.approx([0.375 if size == 1.0 else 0.25] * 2, rel=1e-3)


def test_a_term_whose_squares_overflow_in_one_group_cannot_be_fitted(rng):
    rows, _ = make_rows(rng, [20, 20])
    rows.columns["z"][-1] = 1e160
    assert fit_model(make_model((INPUT,), (True,)), rows) is None
    assert fit_model(make_model((INPUT,), (False,)), rows) is None


def test_the_posterior_without_a_prior_is_least_squares_and_with_a_sharp_one_the_prior(rng):
    design, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    constants, _ = compute_posterior(design, y, None, 1.0)
    assert constants == pytest.approx(expected)
    for variance, limit in ((1e12, expected), (1e-12, np.array([5.0, 6.0]))):
        prior = GroupPrior(np.array([5.0, 6.0]), np.full(2, variance), np.zeros(2), 1.0)
        constants, _ = compute_posterior(design, y, prior, 1.0)
        assert constants == pytest.approx(limit, rel=1e-6)


def test_intervals_of_shrunk_constants_hold_the_true_ones_at_the_nominal_rate():
    rng, hits = np.random.default_rng(1), []
    model = make_model((EXPONENTIAL, INPUT), (True, True))
    for _ in range(40):
        rows, slopes = make_rows(rng, [6] * 12, noise=0.8)
        found = estimate(model, rows)
        hits += [*(np.abs(found.varying[0] - slopes) <= 2.0 * found.varying_errors[0])]
    assert 0.92 <= np.mean(hits) <= 0.98  # 480 intervals; the nominal rate is 0.95
