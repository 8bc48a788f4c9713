"""Curves of a linear combination of the inputs, such as a logistic regression."""

import numpy as np
import pytest

import symscreen
from symscreen.expressions.traversal import collect_inputs
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import LawData
from symscreen.fitting.laws.linear_combinations import find_laws_of_linear_combination
from symscreen.grammar import load_grammar

GRAMMAR = load_grammar("standard")


def find_best(columns, target):
    """Return the best law with its share 1 − R²; None without laws."""
    data = LawData(columns, target, GRAMMAR, pool_limit=1000)
    fitted = fit_laws(find_laws_of_linear_combination(data), data.columns, data.target, None)
    return min(fitted, key=lambda each: each.unexplained_share, default=None)


@pytest.mark.parametrize(
    "curve",
    [
        lambda u: 3.0 / (1.0 + np.exp(-u)),
        lambda u: 1.0 + 2.0 * np.tanh(0.6 * u - 0.4),
        lambda u: 2.0 * np.log(u + 12.0),
        lambda u: 5.0 - np.exp(-0.6 * u),
    ],
)
def test_a_curve_of_a_linear_combination_is_found_exactly(rng, curve):
    columns = dict(zip("vxz", rng.uniform(-2.0, 2.0, (3, 300)), strict=True))
    best = find_best(columns, curve(columns["v"] + 1.3 * columns["x"] - 2.7 * columns["z"]))
    assert best.unexplained_share < 1e-15


def test_an_input_without_effect_is_left_out(rng):
    columns = dict(zip("vxz", rng.uniform(-2.0, 2.0, (3, 300)), strict=True))
    target = 1.0 / (1.0 + np.exp(-columns["x"] - columns["z"])) + 0.01 * rng.normal(size=300)
    assert collect_inputs(find_best(columns, target).law.terms) == ("x", "z")


def test_a_product_of_inputs_is_no_curve_of_a_linear_combination(rng):
    columns = dict(zip("xz", rng.uniform(-2.0, 2.0, (2, 300)), strict=True))
    assert find_best(columns, columns["x"] * columns["z"] + 0.5 * columns["x"]) is None


def test_a_multiple_of_a_combination_has_one_number_for_each_input(rng):
    x, z = rng.uniform(-2.0, 2.0, (2, 500))
    target = np.exp(0.4 + 0.9 * x - 0.7 * z)
    target += 0.01 * np.sqrt(np.mean(target**2)) * rng.normal(size=500)
    assert str(symscreen.fit({"x": x, "z": z, "y": target}, target="y").formula.terms[0]) in {
        "exp(0.9*x - 0.7*z)",
        "exp(0.9*x)/exp(0.7*z)",
    }
