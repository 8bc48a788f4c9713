"""Simple numbers of a formula, their estimates as if they were free, and their p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import kstest

import symscreen
from symscreen.data import read_dataset
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import evaluate_expression, rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.number_evidence import compute_number_evidence, widen_intervals


def make_table(rng, n=200, noise=0.05):
    x, z = rng.uniform(1.0, 3.0, (2, n))
    return {"x": x, "z": z, "y": 3.0 * np.sin(2.0 * x) / z + 1.0 + noise * rng.normal(size=n)}


def compute_evidence(table, text, coefficient=None, intercept=1.0, term=None):
    term = parse_expression(text) if term is None else term
    dataset = read_dataset(table, target="y")
    values = evaluate_expression(term, dataset.columns_by_name)[None]
    estimates = estimate_coefficients(values, dataset.regression_target.values)
    coefficient = float(estimates.coefficients[1]) if coefficient is None else coefficient
    formula = Formula("y", intercept, (coefficient,), (term,))
    return compute_number_evidence(formula, estimates, dataset)


def test_estimates_and_intervals_are_those_of_nonlinear_least_squares(rng):
    table = make_table(rng)
    evidence = {each.place: each for each in compute_evidence(table, "sin(2*x)/z", intercept=0.0)[1:]}
    found, covariance = curve_fit(
        lambda rows, a, b, v: a + b * np.sin(v * rows[0]) / rows[1],
        np.array([table["x"], table["z"]]),
        table["y"],
        p0=[1.0, 3.0, 2.0],
    )
    inside = evidence["inside"]
    assert inside.number == 2.0
    assert inside.estimate == pytest.approx(found[2], abs=0.02 * covariance[2, 2] ** 0.5)
    half_width = 1.972 * covariance[2, 2] ** 0.5  # Student's t with 197 degrees of freedom, 0.975
    assert (inside.high - inside.low) / 2 == pytest.approx(half_width, rel=0.02)


@pytest.mark.slow
def test_p_values_of_right_numbers_are_uniform():
    p_values = [
        [
            each.p_value
            for each in compute_evidence(make_table(np.random.default_rng(seed)), "sin(2*x)/z", 3.0)
        ]
        for seed in range(200)
    ]
    for column in zip(*p_values, strict=True):  # the intercept, the coefficient, and the number inside
        assert kstest(column, "uniform").pvalue > 0.001


def test_a_wrong_number_has_a_small_p_value(rng):
    (wrong,) = [each for each in compute_evidence(make_table(rng), "sin(2.05*x)/z") if each.place == "inside"]
    assert wrong.p_value < 1e-6
    assert not wrong.low <= wrong.number <= wrong.high


def test_the_interval_has_the_number_where_the_p_value_is_large_enough(rng):
    for each in compute_evidence(make_table(rng), "sin(2*x)/z", 3.0):
        assert (each.low <= each.number <= each.high) == (each.p_value >= 0.05)


@pytest.mark.parametrize("text", ["x/(2*z)", "exp(x + 2)/z"])
def test_a_number_that_is_a_part_of_the_coefficient_is_left_out(text, rng):
    assert [each.place for each in compute_evidence(make_table(rng), text)] == ["coefficient"]


def fit_curve(rng, *, is_first_fitted=True):
    """Fit a·z·exp(b·x − c·x²) by scipy, and build the formula of it with b and c inside."""
    x, z = rng.uniform(0.5, 3.0, (2, 150))
    y = 2.0 * z * np.exp(0.69 * x - 0.25 * x**2) * (1.0 + 0.02 * rng.normal(size=150))
    found, covariance = curve_fit(
        lambda rows, a, b, c: a * rows[1] * np.exp(b * rows[0] - c * rows[0] ** 2),
        np.array([x, z]),
        y,
        p0=[2.0, 0.7, 0.25],
        xtol=1e-13,
    )
    marks = iter([is_first_fitted, True])
    term = rebuild_expression(
        parse_expression(f"z*exp({float(found[1])!r}*x - {float(found[2])!r}*x**2)"),
        number=lambda number: Constant(number.value, fitted=next(marks)),
    )
    dataset = read_dataset({"x": x, "z": z, "y": y}, target="y")
    estimates = estimate_coefficients(
        evaluate_expression(term, dataset.columns_by_name)[None],
        dataset.regression_target.values,
        has_intercept=False,
    )
    formula = Formula("y", 0.0, (float(estimates.coefficients[1]),), (term,))
    return formula, estimates, dataset, found, np.sqrt(np.diag(covariance))


def test_intervals_contain_what_the_fitted_numbers_leave_uncertain(rng):
    formula, estimates, dataset, found, errors = fit_curve(rng)
    evidence = compute_number_evidence(formula, estimates, dataset)
    assert [(each.place, each.p_value) for each in evidence] == [("inside", None), ("inside", None)]
    widened = widen_intervals(formula, estimates, dataset)
    quantile = 1.976  # Student's t with 147 degrees of freedom, 0.975
    ends = [(widened.low[1], widened.high[1]), *((each.low, each.high) for each in evidence)]
    for (low, high), value, error in zip(ends, found, errors, strict=True):
        assert (low + high) / 2 == pytest.approx(value, abs=0.02 * error)
        assert (high - low) / 2 == pytest.approx(quantile * error, rel=0.02)
    assert widened.high[1] - widened.low[1] > 1.5 * (estimates.high[1] - estimates.low[1])
    assert (widened.coefficients == estimates.coefficients).all()


def test_a_simple_number_is_compared_with_the_fitted_ones_free(rng):
    formula, estimates, dataset, _, errors = fit_curve(rng, is_first_fitted=False)
    simple, fitted = compute_number_evidence(formula, estimates, dataset)
    assert simple.p_value is not None
    assert fitted.p_value is None
    assert simple.high - simple.low == pytest.approx(2 * 1.976 * errors[1], rel=0.02)
    assert fitted.high - fitted.low < 2 * 1.976 * errors[2]  # the simple number is taken as known


def test_intervals_without_fitted_numbers_stay_as_they_are(rng):
    dataset = read_dataset(make_table(rng), target="y")
    term = parse_expression("sin(2*x)/z")
    values = evaluate_expression(term, dataset.columns_by_name)[None]
    estimates = estimate_coefficients(values, dataset.regression_target.values)
    intercept, coefficient = map(float, estimates.coefficients)
    formula = Formula("y", intercept, (coefficient,), (term,))
    assert widen_intervals(formula, estimates, dataset) is estimates


@pytest.mark.slow
def test_a_fit_shows_the_numbers_of_its_law(rng):
    x, z = rng.uniform(1.0, 3.0, (2, 300))
    target = 3.0 * np.sqrt(x + 2.0 * z)
    noisy = target + 0.02 * target.std() * rng.normal(size=300)
    result = symscreen.fit({"x": x, "z": z}, noisy, effort="quick", operators="basic", jobs=1)
    assert str(result.formula.terms[0]) == "sqrt(x + 2*z)"
    assert result.numbers["place"].tolist() == ["coefficient", "inside"]
    assert result.numbers["number"].tolist() == [3.0, 2.0]
    assert ((result.numbers["low"] < result.numbers["number"]) & (result.numbers["p_value"] > 0.01)).all()


@pytest.mark.slow
def test_an_exact_formula_has_no_numbers_to_test(rng):
    x, z = rng.uniform(1.0, 3.0, (2, 100))
    result = symscreen.fit({"x": x, "z": z}, 3.0 * x * z, effort="quick")
    assert result.numbers.empty
    assert "numbers" not in result.record
