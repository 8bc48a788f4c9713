from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.exponential_products import merge_exponentials, merge_exponentials_of_term
from symscreen.fitting.laws.law import Law, LawData
from symscreen.grammar import load_grammar


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("exp(x)*exp(z)", "exp(x + z)"),
        ("w*exp(2*(x - z/4))/sqrt(exp(z + 1))", "w*exp(2.0*x - 1.0*z)"),
        ("exp(0.9*(x - 7*z/9 + 3))", "exp(0.9*x - 0.7000000000000001*z)"),
        ("exp(x*z)*exp(-(x*z))", "exp(x*z)*exp(-(x*z))"),
        ("exp(-(x - z)**2)", "exp(-(x - z)**2)"),
        ("exp(x - 1) + exp(z)", "exp(x - 1) + exp(z)"),
        ("x/exp(z)", "x/exp(z)"),
    ],
)
def test_exponentials_of_a_product_become_one(text, merged):
    assert str(merge_exponentials_of_term(parse_expression(text, column_names="wxz"))) == merged


def test_the_values_only_change_by_a_factor(rng):
    term = parse_expression("w**2*exp(0.3*(x - 2*z) + 4)/exp(w - x/5)**2")
    columns = dict(zip("wxz", rng.uniform(1, 3, (3, 50)), strict=True))
    ratio = evaluate_expression(term, columns) / evaluate_expression(
        merge_exponentials_of_term(term), columns
    )
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)


def test_each_number_of_the_sum_counts_as_a_constant(rng):
    x, z, y = rng.uniform(1, 3, (3, 50))
    data = LawData({"x": x, "z": z}, y, load_grammar("standard"))
    laws = [
        Law((parse_expression(text),), has_intercept=False, search_size=9.0)
        for text in ("exp(x)*exp(z/3)", "exp(x)*z")
    ]
    (law,) = merge_exponentials(laws, data)
    assert (law.n_constants, law.search_size) == (1, 9.0)


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_a_loglinear_law_has_one_exponential_with_the_numbers_of_the_truth(rng, noise):
    x, z = rng.uniform(-2, 2, (2, 400))
    target = 1.5 * np.exp(0.9 * x - 0.7 * z)
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=400)
    fitted = symscreen.fit({"x": x, "z": z, "y": target}, target="y")
    assert str(fitted.formula.terms[0]) == "exp(0.9*x - 0.7*z)"
