from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.data import read_dataset
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import evaluate_expression, rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.coefficients import get_targets
from symscreen.fitting.fit_verdict import compute_residuals
from symscreen.fitting.undetermined_parts import (
    count_dominant_rows,
    find_local_part,
    find_undetermined_part,
)


def build_formula(*pairs, intercept=0.0):
    """Build a formula of pairs of a coefficient and a term whose numbers with decimals are fitted."""
    terms = tuple(
        rebuild_expression(
            parse_expression(text),
            number=lambda number: Constant(number.value, fitted=not float(number.value).is_integer()),
        )
        for _, text in pairs
    )
    return Formula("y", intercept, tuple(coefficient for coefficient, _ in pairs), terms)


def find_part(columns, formula):
    """Return the part that is not determined by rows without errors, as text."""
    values = np.array([np.broadcast_to(evaluate_expression(term, columns), (200,)) for term in formula.terms])
    y = formula.intercept + np.array(formula.coefficients) @ values
    part = find_undetermined_part(formula, read_dataset({**columns, "y": y}, target="y"))
    return None if part is None else str(part)


@pytest.fixture
def columns(rng):
    k = rng.integers(0, 3, 200).astype(float)
    return {
        "k": k,
        "x": rng.uniform(1.0, 2.0, 200),
        "z": rng.uniform(1.0, 2.0, 200),
        "binary": (k == 0) * 1.0,
    }


def test_a_function_of_two_values_is_not_determined(columns):
    assert find_part(columns, build_formula((1.0, "z*sqrt(binary)"))) == "sqrt(binary)"
    assert find_part(columns, build_formula((1.0, "z*binary"))) is None
    assert find_part(columns, build_formula((1.0, "z*sqrt(binary + x)"))) is None


def test_a_saturated_function_is_not_determined(rng):
    x, z = rng.uniform(-3.0, 3.0, 200), rng.uniform(1.0, 2.0, 200)
    x[np.abs(x) < 0.01] = 1.0
    assert find_part({"x": x, "z": z}, build_formula((1.0, "z*tanh((9/x)**3)"))) == "(9/x)**3"
    assert find_part({"x": 3.1 + x, "z": z}, build_formula((1.0, "z*tanh((0.5/x)**3)"))) is None


def test_an_operator_that_ignores_small_changes_may_be_determined(rng):
    x, z = rng.uniform(-3.0, 3.0, (2, 200))
    assert find_part({"x": x, "z": z}, build_formula((1.0, "z*sign(x)"))) is None


@pytest.mark.parametrize(
    ("pairs", "intercept", "part"),
    [
        ([(2.345, "k"), (0.567, "k**2"), (1.0, "z")], 0.0, "k**2"),
        ([(2.345, "k"), (0.567, "k**2"), (1.0, "z")], 1.234, "k**2"),
        ([(1.354, "k*z"), (-0.354, "k**2*z")], 0.0, "k**2*z"),  # two functions of k times z
        ([(2.345, "k**0.3717"), (1.0, "z")], 0.0, "k**0.3717"),
        ([(1.0, "exp(0.304*k - 0.919*sqrt(k) + z)")], 0.0, "0.919*sqrt(k)"),
        ([(2.345, "k"), (1.0, "z")], 0.0, None),  # one number for two values
        ([(2.0, "k"), (3.0, "k**2"), (1.0, "z")], 0.0, None),  # simple numbers are no chance
        ([(2.345, "k"), (0.567, "z")], 0.0, None),  # each has its own column
        ([(2.345, "k*x"), (0.567, "k**2*z")], 0.0, None),  # no common factor
        ([(2.345, "x"), (0.567, "x**2")], 1.234, None),  # 200 values
    ],
)
def test_as_many_numbers_as_a_column_has_values_determine_no_function_of_it(columns, pairs, intercept, part):
    assert find_part(columns, build_formula(*pairs, intercept=intercept)) == part


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_smooth_step_between_two_rows_is_not_determined(noise, rng):
    x, z = np.linspace(1.0, 5.0, 200), rng.uniform(1.0, 2.0, 200)
    y = z + 2.0 * (x > 3.0) + noise * rng.normal(size=200)
    dataset = read_dataset({"x": x, "z": z, "y": y}, target="y")
    steep = build_formula((1.0, "z"), (1.0, "tanh(900.5*(x - 3.001))"), intercept=1.0)
    part = find_local_part(steep, compute_residuals(steep, dataset), dataset, None)
    assert str(part) == "900.5*(x - 3.001)"


@pytest.mark.parametrize("noise", [1e-13, 0.01])
@pytest.mark.parametrize("text", ["tanh(2.5*(x - 3.1))", "exp(1.37*x)", "0.05*sin(1.7*x)"])
def test_numbers_on_which_many_rows_depend_are_determined(noise, text, rng):
    x, z = np.linspace(1.0, 5.0, 200), rng.uniform(1.0, 2.0, 200)
    formula = build_formula((1.0, "z"), (1.0, text), intercept=1.0)
    dataset = read_dataset({"x": x, "z": z, "y": noise * rng.normal(size=200)}, target="y")
    residuals = get_targets(dataset)["y"]
    assert find_local_part(formula, residuals, dataset, None) is None


def test_dominant_rows_are_counted():
    assert count_dominant_rows(np.ones(10)) == pytest.approx(10.0)
    assert count_dominant_rows(np.array([1.0, 0.0, 0.0])) == pytest.approx(1.0)
    assert count_dominant_rows(np.zeros(4)) == pytest.approx(4.0)


def test_a_step_without_noise_is_an_approximation(rng):
    a, b = rng.uniform(1.0, 5.0, (2, 200))
    result = symscreen.fit({"a": a, "b": b}, b + 2.0 * (a > 3.0), effort="quick")
    assert result.record["verdict"]["kind"] == "approximation"
    if "undetermined" in result.record["verdict"]:
        assert "too few rows determine the numbers of" in result.verdict
