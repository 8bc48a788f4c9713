from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import symscreen
from symscreen.data import read_dataset
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.polynomial_rival import find_shorter_polynomial


def make_problem(x, intercept, coefficients, texts):
    """Make a formula of x and the data that it equals up to rounding."""
    formula = Formula("y", intercept, coefficients, tuple(map(parse_expression, texts)))
    return formula, read_dataset({"x": x, "y": formula.predict({"x": x})}, target="y")


@pytest.mark.parametrize(("function", "end"), [(special.j0, 0.05), (special.i0, 0.1)])
def test_a_special_function_near_zero_is_never_called_exact(rng, function, end):
    x = rng.uniform(0.0, end, 300)
    verdict = symscreen.fit({"x": x}, function(x)).record["verdict"]
    assert verdict["kind"] == "approximation"


@pytest.mark.parametrize(
    ("coefficients", "texts", "low", "high"),
    [
        ((2.2317,), ["x"], 1.0, 1.001),
        ((2.371,), ["cos(x)"], 0.0, 0.05),
        ((3.1234, 0.7123), ["cos(x)", "sin(2*x)"], 0.0, 0.05),
        ((2.7123,), ["sqrt(x)"], 1.0, 1.01),
        ((2.2123,), ["exp(-0.7*x)"], 0.0, 0.05),
    ],
)
def test_a_law_is_shorter_than_its_polynomial(rng, coefficients, texts, low, high):
    problem = make_problem(rng.uniform(low, high, 200), 1.2345, coefficients, texts)
    assert find_shorter_polynomial(*problem) is None


def test_a_law_of_an_input_that_hardly_varies_is_longer_than_a_line(rng):
    problem = make_problem(1.0 + 1e-9 * rng.uniform(size=200), 1.2345, (2.7123,), ["exp(sqrt(x))"])
    assert find_shorter_polynomial(*problem) == 1


def test_formulas_of_two_inputs_are_not_compared(rng):
    x, z = rng.uniform(1.0, 1.001, (2, 100))
    formula = Formula("y", 1.2345, (2.1,), (parse_expression("sqrt(x*z)"),))
    dataset = read_dataset({"x": x, "z": z, "y": 1.2345 + 2.1 * np.sqrt(x * z)}, target="y")
    assert find_shorter_polynomial(formula, dataset) is None


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_inputs_of_any_size_are_compared(rng, scale):
    problem = make_problem(scale * (1.0 + 1e-9 * rng.uniform(size=200)), 1.2345, (2.7123,), ["log(x)"])
    assert find_shorter_polynomial(*problem) in {1, 2}  # a line of x or of its square


def test_a_category_is_no_input_of_a_polynomial(rng):
    color = np.where(rng.uniform(size=60) < 0.5, "red", "blue")
    y = 1.25 + 2.5 * (color == "red")
    assert symscreen.fit({"colour": color, "y": y}, target="y").record["verdict"]["kind"] == "exact"
