"""Laws with a curve of one input and free constants inside it."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression, iterate_constants
from symscreen.expressions.tree import Column
from symscreen.fitting.laws.curve_shapes import list_shapes
from symscreen.fitting.laws.curves import find_curves
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.search import fit_found_laws
from symscreen.grammar import load_grammar

CURVES = {
    "decay with an offset": lambda t: 1.7 + 3.1 * np.exp(-1.37 * t),
    "wave with a phase": lambda t: 1.1 + 2.1 * np.sin(2.3 * t + 0.7),
    "damped wave": lambda t: 2.2 * np.exp(-0.37 * t) * np.sin(1.7 * t + 0.4),
    "logistic curve": lambda t: 4.4 / (1.0 + np.exp(-1.37 * (t - 2.2))),
    "logistic curve with an offset": lambda t: 0.7 + 4.4 / (1.0 + np.exp(-1.37 * (t - 2.2))),
    "Gompertz curve": lambda t: 4.4 * np.exp(-3.3 * np.exp(-0.87 * t)),
    "Hill curve": lambda t: 3.3 * t**2.4 / (1.7**2.4 + t**2.4),
    "power with an offset": lambda t: 0.6 + 1.9 * t**0.63,
    "Weibull curve": lambda t: 1.0 - np.exp(-((t / 1.9) ** 1.7)),
    "Gaussian peak": lambda t: 0.4 + 2.2 * np.exp(-((t - 2.3) ** 2) / 1.3),
    "Lorentz peak": lambda t: 0.4 + 2.2 / (1.0 + ((t - 2.3) / 0.9) ** 2),
    "two exponentials": lambda t: 3.1 * np.exp(-0.51 * t) - 2.2 * np.exp(-2.9 * t),
    "wave on a slope": lambda t: 0.5 * t + 1.3 * np.sin(1.9 * t),
    "vapour pressure": lambda t: np.exp(12.0 - 40.0 / (t + 3.3)),
}


def find_best(columns, y, grammar="standard", n_refined=8):
    data = build_law_data(columns, y, load_grammar(grammar))
    return min(fit_found_laws(find_curves(data), data, n_refined), key=lambda each: each.unexplained_share)


@pytest.mark.parametrize("name", CURVES)
def test_curves_with_free_constants_are_found_exactly(name, rng):
    t = rng.uniform(0.1, 6.0, 150)
    assert find_best({"t": t}, CURVES[name](t)).unexplained_share == 0.0


def test_a_curve_may_have_other_inputs_as_factor_and_term(rng):
    t, a, b = rng.uniform(1.0, 4.0, (3, 200))
    columns = {"t": t, "a": a, "b": b}
    assert find_best(columns, b + a * np.exp(-0.37 * t)).unexplained_share == 0.0
    assert find_best(columns, a / (1.0 + 20.0 * np.exp(-1.37 * t))).unexplained_share == 0.0
    assert find_best(columns, 2.0 * b + np.sin(1.9 * t + 0.3) / a).unexplained_share == 0.0


def test_a_term_may_be_a_function_of_an_input_or_a_product_of_two(rng):
    t, a, b = rng.uniform(1.0, 4.0, (3, 200))
    columns = {"t": t, "a": a, "b": b}
    decay = 3.0 * np.exp(-0.67 * t)
    for term in (a**2, 0.8 / a, 0.3 * a**3, np.sqrt(b), 0.5 * np.log(b), a * b, a / b, t**2):
        assert find_best(columns, 1.2 * term + decay).unexplained_share == 0.0


def test_constants_of_a_noisy_curve_are_near_the_true_ones(rng):
    t = rng.uniform(0.0, 6.0, 500)
    y = 1.7 + 3.1 * np.exp(-1.37 * t) + 0.03 * rng.normal(size=500)
    data = build_law_data({"t": t}, y, load_grammar("standard"))
    laws = fit_found_laws(find_curves(data), data, 8)
    simple = [each for each in laws if len(each.law.terms) == 1 and each.law.n_constants == 1]
    best = min(simple, key=lambda each: each.unexplained_share)
    (rate,) = (float(number.value) for number in iterate_constants(best.law.terms[0]))
    assert rate == pytest.approx(-1.37, rel=0.03)
    assert best.unexplained_share < 1.1 * 0.03**2 / y.var()


def test_only_operators_of_the_grammar_are_used(rng):
    t = rng.uniform(0.1, 6.0, 150)
    data = build_law_data({"t": t}, CURVES["wave with a phase"](t), load_grammar("basic"))
    laws = find_curves(data)
    assert laws
    assert not any(name in str(law.terms) for law in laws for name in ("sin", "cos", "tanh"))


def test_constant_inputs_few_rows_and_units_have_no_curves(rng):
    t = rng.uniform(0.1, 6.0, 150)
    few = build_law_data({"t": t[:8]}, np.exp(t[:8]) + 1.0, load_grammar("standard"))
    assert find_curves(few) == []
    constant = build_law_data({"c": np.ones(150)}, t, load_grammar("standard"))
    assert find_curves(constant) == []


@pytest.mark.parametrize("shape", list_shapes(np.linspace(1.0, 5.0, 9)), ids=lambda shape: shape.name)
def test_the_formula_of_a_curve_has_its_values_and_constants(shape):
    x = np.linspace(1.0, 5.0, 40)
    constants = shape.list_constants(x)
    values = shape.evaluate(x, constants)
    assert values.shape == (len(values), len(constants), 40)
    place = len(constants) // 3
    coefficients = np.array([0.7, -1.3])[: len(values)]
    expression, coefficient = shape.build(Column("x"), constants[place], coefficients)
    wanted = coefficients @ values[:, place]
    assert coefficient * evaluate_expression(expression, {"x": x}) == pytest.approx(wanted, rel=1e-9)
    assert sum(number.fitted for number in iterate_constants(expression)) == shape.n_constants


def test_a_factor_may_be_an_input_plus_a_constant(rng):
    t, a = rng.uniform(1.0, 4.0, (2, 200))
    y = 2.0 * a + (36.3 - 2.0 * a) * np.exp(-0.43 * t)
    assert find_best({"t": t, "a": a}, y).unexplained_share == 0.0
