"""Laws with a sum or a product of curves of two inputs, each with a free constant inside it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Column
from symscreen.fitting.laws.curve_pairs import _compute_product_shares, _compute_sum_shares, find_curve_pairs
from symscreen.fitting.laws.curve_shapes import list_simple_shapes
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.search import fit_found_laws
from symscreen.fitting.laws.target_scales import SCALES, build_response
from symscreen.grammar import load_grammar

# as functions of the inputs x, z and w
LAWS = {
    "two decays": lambda x, z, _w: 2.0 * np.exp(-0.5 * x) + 3.0 * np.exp(-1.2 * z),
    "a wave and a logarithm": lambda x, z, _w: np.sin(1.7 * x) + 0.6 * np.log(z + 0.37),
    "two powers with an offset": lambda x, z, _w: 1.3 + 2.0 * x**0.63 - 0.7 * z**1.8,
    "two curves and a third input": lambda x, z, w: 0.4 * w + 2.0 / (x + 0.83) + np.exp(0.31 * z),
    "a product of an approach and a power": lambda x, z, _w: 0.3 * z**0.77 * (1.0 - np.exp(-0.35 * x)),
    "a product with an offset": lambda x, z, _w: 1.9 + 0.8 * np.exp(-0.45 * x) * np.log(z + 1.31),
    "a product with a factor": lambda x, z, w: w**2 * x / (x + 1.7) * np.exp(-0.41 * z),
}


@pytest.mark.parametrize("name", LAWS)
def test_sums_and_products_of_two_curves_are_found_exactly(name, rng):
    x, z, w = rng.uniform(0.5, 4.0, (3, 200))
    data = build_law_data({"x": x, "z": z, "w": w}, LAWS[name](x, z, w), load_grammar("standard"))
    fitted = fit_found_laws(find_curve_pairs(data), data, 8)
    assert min(each.unexplained_share for each in fitted) == 0.0


def test_constants_of_noisy_curves_are_near_the_true_ones(rng):
    x, z = rng.uniform(0.5, 4.0, (2, 400))
    y = 2.0 * np.exp(-0.5 * x) + 3.0 * np.exp(-1.2 * z) + 0.01 * rng.normal(size=400)
    data = build_law_data({"x": x, "z": z}, y, load_grammar("standard"))
    terms = [sorted(map(str, law.terms)) for law in find_curve_pairs(data)]
    assert any([each[0][:7], each[1][:7]] == ["exp(-0.", "exp(-1."] for each in terms)


@pytest.mark.parametrize("is_product", [False, True])
def test_shares_are_those_of_least_squares(is_product, rng):
    n = 40
    columns = {"x": rng.uniform(1, 3, n), "z": rng.uniform(1, 3, n)}
    target = rng.normal(size=n)
    (scale,) = (each for each in SCALES if each.inverse_name == "id")
    response = build_response(scale, {}, columns, target)
    first, second = rng.normal(size=(3, n)), rng.normal(size=(4, n))
    base = np.ones((1, n)) if is_product else np.vstack([np.ones(n), columns["x"]])
    compute = _compute_product_shares if is_product else _compute_sum_shares
    shares = compute(first, second, base, response)
    around_base = target - base.T @ np.linalg.lstsq(base.T, target, rcond=None)[0]
    for i, j in product(range(3), range(4)):
        curves = [first[i] * second[j]] if is_product else [first[i], second[j]]
        design = np.vstack([base, *curves]).T
        residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
        assert shares[i, j] == pytest.approx((residuals @ residuals) / (around_base @ around_base), abs=1e-12)


def test_the_formula_of_each_simple_shape_has_its_values(rng):
    x = rng.uniform(0.5, 4.0, 30)
    shapes = list_simple_shapes(x, has_factors=True)
    assert {"exponential", "approach", "fraction", "logarithm"} <= {shape.name for shape in shapes}
    for shape in shapes:
        constants = shape.list_constants(x)[3]
        (values,) = shape.evaluate(x, constants[None])
        built, coefficient = shape.build(Column("x"), constants, np.ones(1))
        assert coefficient * evaluate_expression(built, {"x": x}) == pytest.approx(values[0], rel=1e-12)


def test_only_operators_of_the_grammar_are_used(rng):
    x, z = rng.uniform(0.5, 4.0, (2, 100))
    columns, y = {"x": x, "z": z}, np.exp(-0.5 * x) + np.log(z + 0.4)
    assert find_curve_pairs(build_law_data(columns, y, load_grammar("ablation"))) == []


def test_one_input_and_few_rows_have_no_pairs(rng):
    x, z = rng.uniform(0.5, 4.0, (2, 100))
    grammar = load_grammar("standard")
    assert find_curve_pairs(build_law_data({"x": x}, np.exp(-0.5 * x), grammar)) == []
    few = {"x": x[:10], "z": z[:10]}
    assert find_curve_pairs(build_law_data(few, x[:10] + z[:10], grammar)) == []
