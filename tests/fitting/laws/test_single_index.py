from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.single_index import (
    compute_bin_remainders,
    find_single_index_laws,
    invert_quotients,
    select_indices,
)
from symscreen.grammar import load_grammar

STANDARD = load_grammar("standard")


def make_data(formula, rng, n=1000, noise=0.0, grammar=STANDARD):
    columns = dict(zip("abcde", rng.uniform(1, 3, (5, n)), strict=True))
    truth = evaluate_expression(parse_expression(formula), columns)
    noise = noise * np.sqrt(np.mean(truth**2)) * rng.normal(size=n)
    return build_law_data(columns, truth + noise, grammar)


@pytest.mark.parametrize(
    ("formula", "index"),
    [
        ("a*tanh(b*c/(d*e))", (0, 1, 1, -1, -1)),
        ("a**2*b/(exp(c*d/b) - 1)", (0, -1, 1, 1, 0)),
        ("c*sin(a*b**2)/d", (1, 2, 0, 0, 0)),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_right_index_leaves_least(formula, index, noise, rng):
    data = make_data(formula, rng, n=3000, noise=noise)
    scale = compute_log_scale(data.columns, data.target)
    exponents = rng.integers(-2, 3, (200, 5))
    exponents = exponents[(exponents != 0).sum(axis=1) > 1]
    exponents = exponents[
        np.linalg.matrix_rank(np.stack([exponents, np.tile(index, (len(exponents), 1))], 1)) > 1
    ]
    exponents = np.vstack([exponents, index])
    assert select_indices(exponents, data, scale)[0].tolist() == list(index)


def test_the_remainder_is_that_of_a_regression_on_indicators_of_the_bins(rng):
    data = make_data("a*tanh(b*c/d)", rng, n=400, noise=0.05)
    scale = compute_log_scale(data.columns, data.target)
    powers = np.array([[0, 1, 1, -1, 0]])
    order = np.argsort(scale.design[:, 1:] @ powers[0], kind="stable")
    bins = np.empty(400, dtype=int)
    bins[order] = np.repeat(np.arange(10), 40)
    design = np.column_stack([np.eye(10)[bins], scale.design[:, 1:]]) * scale.weights[:, None]
    target = scale.target * scale.weights
    residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    assert compute_bin_remainders(powers, scale, 10)[0] == pytest.approx((residuals**2).sum(), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "n"),
    [
        ("a*tanh(b*c/(d*e))", 300),
        ("a/(exp(b*c/(d*e)) - 1)", 300),
        ("a*b*sqrt(1 - tanh(c/d)**2)/e", 300),
    ],
)
def test_the_planted_law_is_found(formula, n, rng):
    data = make_data(formula, rng, n=n)
    law = find_single_index_laws(data)[0]
    values = evaluate_expression(law.terms[0], data.columns)
    assert np.ptp(values / data.target) < 1e-9 * np.abs(values / data.target).max()
    assert not law.has_intercept


def test_there_are_no_such_laws_with_few_rows_or_without_products(rng):
    assert find_single_index_laws(make_data("a*tanh(b*c)", rng, n=40)) == []
    sums = load_grammar("basic").override(binary=["add", "sub"])
    assert find_single_index_laws(make_data("a*tanh(b*c)", rng, grammar=sums)) == []


@pytest.mark.parametrize("text", ["1/(a/b)", "x/(a/b)", "exp(1/(a*b/c))/(x/(1/(y/z)))", "sin(a/b) - 1/a"])
def test_inverted_quotients_keep_their_value(text):
    formula = parse_expression(text)
    changed = invert_quotients(formula)
    assert compute_key(changed) == compute_key(formula)
    assert "/(a/" not in str(changed)
