"""Row weights of a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.expressions.traversal import rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.constants import fit_constants
from symscreen.fitting.lack_of_fit import compute_lack_of_fit
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.refinement import refine_law
from symscreen.fitting.simple_coefficients import snap_coefficients
from symscreen.grammar import OPERATORS, load_grammar
from symscreen.grammar.custom_operators import define_family
from symscreen.linear_models.row_weights import build_row_weights

SMALL = {"operators": "ablation", "layers": "ub"}


def _draw(rng, n=80, noise=0.1):
    x = rng.uniform(0.5, 2.0, (n, 3))
    return x, 2 * x[:, 0] ** 3 - x[:, 1] + 1 + noise * rng.normal(size=n)


def _same(one, other):
    assert one.formula == other.formula
    for own, theirs in zip(
        (one.terms, one.front, one.alternatives), (other.terms, other.front, other.alternatives), strict=True
    ):
        pd.testing.assert_frame_equal(own, theirs, check_exact=True)
    assert (one.r2, one.record, one.notices) == (other.r2, other.record, other.notices)


# Coefficients of a given formula


@given(st.lists(st.integers(1, 5), min_size=12, max_size=12), st.booleans(), st.integers(0, 1 << 30))
def test_integer_weights_are_repeated_rows_in_the_coefficients(times, has_intercept, seed):
    rng = np.random.default_rng(seed)
    values, target = rng.normal(size=(3, 12)), rng.normal(size=12)
    row_weights = build_row_weights(np.array(times, dtype=float))
    weighted = estimate_coefficients(values, target, has_intercept=has_intercept, row_weights=row_weights)
    repeated = estimate_coefficients(
        np.repeat(values, times, axis=1), np.repeat(target, times), has_intercept=has_intercept
    )
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-8, atol=1e-10)
    assert weighted.unexplained_share == pytest.approx(repeated.unexplained_share)
    assert weighted.n_rows == 12


def test_intervals_are_those_of_weighted_least_squares(rng):
    values, weights = rng.normal(size=(2, 30)), rng.uniform(0.1, 4.0, 30)
    target = 1.0 + values[0] + rng.normal(size=30) / np.sqrt(weights)
    estimates = estimate_coefficients(values, target, row_weights=build_row_weights(weights))
    design = np.column_stack([np.ones(30), values.T])
    information = design.T @ (weights[:, None] * design)
    coefficients = np.linalg.solve(information, design.T @ (weights * target))
    variance = weights @ (target - design @ coefficients) ** 2 / 27
    errors = np.sqrt(np.diag(np.linalg.inv(information)) * variance)
    np.testing.assert_allclose(estimates.coefficients, coefficients)
    np.testing.assert_allclose(estimates.high - estimates.low, 2 * 2.0518305 * errors, rtol=1e-6)


def test_weighted_intervals_have_their_coverage(rng):
    hits = 0
    for _ in range(400):
        x, weights = rng.normal(size=(1, 25)), rng.uniform(0.05, 4.0, 25)
        y = 3.0 * x[0] + rng.normal(size=25) / np.sqrt(weights)
        estimates = estimate_coefficients(x, y, 0.9, row_weights=build_row_weights(weights))
        hits += estimates.low[1] <= 3.0 <= estimates.high[1]
    assert 0.85 <= hits / 400 <= 0.94


def test_snapping_follows_the_weights(rng):
    x, weights = rng.uniform(1.0, 2.0, (1, 40)), np.where(np.arange(40) < 30, 1.0, 1e-9)
    y = 0.25 + 1.5 * x[0] + 1e-3 * rng.normal(size=40)
    y[30:] += 5.0
    row_weights = build_row_weights(weights)
    estimates = estimate_coefficients(x, y, row_weights=row_weights)
    assert snap_coefficients(estimates, x, y, row_weights).tolist() == [0.25, 1.5]


# The whole fit


@pytest.mark.parametrize("layers", ["ub", pytest.param(None, marks=pytest.mark.slow)])
def test_equal_weights_give_the_bytes_of_no_weights(rng, layers, change_effort):
    change_effort("quick", pool_formulas=1000, layer_candidates=1000)
    x, y = _draw(rng, n=40)
    options = {"operators": "ablation", "layers": layers, "effort": "quick"}
    plain = symscreen.fit(x, y, **options)
    for weights in (np.full(40, 0.7), [3] * 40)[: 1 if layers is None else 2]:
        _same(symscreen.fit(x, y, weights=weights, **options), plain)
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"]).assign(y=y, times=2.0)
    named = symscreen.fit(frame, target="y", weights="times", **options)
    _same(named, plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"snap": True}, {"split": 0.4}, {"criterion": "cv"}, {"max_terms": 2}]
)
def test_the_formula_of_the_heavy_rows_is_found(rng, options):
    x, y = _draw(rng, n=120, noise=0.01)
    is_bad = rng.uniform(size=120) < 0.3
    y[is_bad] += rng.normal(0.0, 20.0, is_bad.sum())
    # the noise of the bad rows is 2,000 times that of the others
    result = symscreen.fit(x, y, weights=np.where(is_bad, 2000.0**-2, 1.0), **SMALL, **options)
    terms = sorted(map(str, result.formula.terms))
    assert {"x1**3", "x2"} <= set(terms)
    assert len(terms) == 2 or options == {"criterion": "cv"}  # which often adds a term
    assert result.r2 > 0.999
    by_hand = symscreen.fit(x[~is_bad], y[~is_bad], **SMALL)
    if not options:
        np.testing.assert_allclose(result.formula.coefficients, by_hand.formula.coefficients, rtol=1e-3)
        assert result.record["weights"] == "given"


@pytest.mark.slow
def test_few_heavy_rows_of_noise_give_no_formula():
    n_claims = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, weights = rng.normal(size=(60, 2)), np.exp(1.5 * rng.normal(size=60))
        result = symscreen.fit(x, rng.normal(size=60), weights=weights, jobs=1, **SMALL)
        n_claims += bool(result.formula.terms)
    assert n_claims <= 2


def test_r2_front_and_coefficients_are_weighted(rng):
    x, y = _draw(rng, noise=0.5)
    weights = rng.uniform(0.1, 5.0, 80)
    result = symscreen.fit(x, y, weights=weights, **SMALL)
    residuals = y - result.predict(x)
    centered = y - np.average(y, weights=weights)
    assert result.r2 == pytest.approx(1 - (weights @ residuals**2) / (weights @ centered**2))
    (chosen,) = result.front[result.front.chosen].to_dict("records")
    assert chosen["r2"] == pytest.approx(result.r2)
    formula = parse_expression(chosen["formula"])
    assert str(formula) == result.formula.round_numbers(6).text


def test_a_smooth_rest_of_heavy_rows_is_seen(rng):
    x = rng.uniform(size=600)
    weights = np.where(x < 0.5, 1.0, 1e-4)
    noise = rng.normal(size=600) / np.sqrt(weights)
    rest = np.sin(9 * x) + 0.5 * noise
    assert compute_lack_of_fit([x], rest, build_row_weights(weights)) < 1e-6
    assert compute_lack_of_fit([x], noise, build_row_weights(weights)) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("factor", [4.0, 0.125])
def test_only_ratios_of_weights_matter(rng, factor):
    x, y = _draw(rng)
    weights = rng.uniform(0.1, 5.0, 80)
    _same(
        symscreen.fit(x, y, weights=weights, **SMALL), symscreen.fit(x, y, weights=factor * weights, **SMALL)
    )


@pytest.mark.slow
def test_rows_of_weight_zero_are_left_out_even_with_missing_values(rng):
    x, y = _draw(rng)
    weights = rng.integers(0, 4, 80).astype(float)
    kept = weights > 0
    broken = x.copy()
    broken[~kept] = np.nan
    one = symscreen.fit(broken, np.where(kept, y, 1e6), weights=weights, **SMALL)
    other = symscreen.fit(x[kept], y[kept], weights=weights[kept], **SMALL)
    assert one.formula == other.formula
    assert one.r2 == other.r2
    assert one.record["rows_choosing"] == kept.sum()
    assert f"left out: {80 - kept.sum()} rows of 80 of weight 0" in one.notices
    two = np.column_stack([np.where(kept, y, 1e6), np.where(kept, y**2, 1e6)])
    assert symscreen.fit(broken, two, weights=weights, **SMALL).record["rows_choosing"] == kept.sum()


def test_weights_of_zero_and_one_drop_rows(rng):
    x, y = _draw(rng)
    weights = rng.integers(0, 2, 80)
    one = symscreen.fit(x, y, weights=weights, **SMALL)
    assert one.formula == symscreen.fit(x[weights > 0], y[weights > 0], **SMALL).formula


def test_the_order_of_rows_and_the_jobs_have_no_effect(rng):
    x, y = _draw(rng, n=60)
    x, y = np.round(np.vstack([x, x[:20]]), 2), np.round(np.concatenate([y, y[:20]]), 1)
    weights, order = rng.uniform(0.1, 5.0, 80), rng.permutation(80)
    one = symscreen.fit(x, y, weights=weights, jobs=1, **SMALL)
    _same(one, symscreen.fit(x[order], y[order], weights=weights[order], jobs=2, **SMALL))


def test_a_law_and_its_inner_constants_are_fitted_with_weights(rng):
    x = rng.uniform(1.0, 3.0, (150, 2))
    y = 2.0 * np.sqrt(x[:, 0] + 1.7 * x[:, 1])
    weights = np.where(np.arange(150) < 140, 1.0, 1e-8)
    y[140:] *= 1.5
    data = build_law_data(
        {"x1": x[:, 0], "x2": x[:, 1]}, y, load_grammar("basic"), row_weights=build_row_weights(weights)
    )
    start = rebuild_expression(
        parse_expression("sqrt(x1 + 1.5*x2)"), number=lambda number: Constant(number.value, fitted=True)
    )
    refined = refine_law(Law((start,), has_intercept=False, search_size=1.0, n_constants=1), data)
    assert refined.terms[0].arguments[0].arguments[1].arguments[0].value == pytest.approx(1.7, rel=1e-4)


def test_declared_constants_are_fitted_with_weights(rng):
    (decay,) = define_family("decay", "exp(-a*x)", {"a": [1]}, OPERATORS)
    x, weights = rng.uniform(0.0, 4.0, 100), np.where(np.arange(100) < 80, 1.0, 1e-12)
    y = 3.0 * np.exp(-0.6 * x) + 1.0
    y[80:] = 9.0
    terms, share = fit_constants(
        [parse_expression("decay(x1)", {"decay": decay})], {"x1": x}, y, build_row_weights(weights)
    )
    assert "0.6" in str(terms[0]) or "0.59999" in str(terms[0])
    assert share < 1e-9


def test_several_targets_share_the_weights(rng):
    x, y = _draw(rng, n=100, noise=0.01)
    is_bad = np.arange(100) % 4 == 0
    both = np.column_stack([y, x[:, 1] - x[:, 0] ** 3])
    both[is_bad] += rng.normal(0.0, 9.0, (25, 2))
    result = symscreen.fit(x, both, weights=np.where(is_bad, 1e-9, 2.0), **SMALL)
    assert sorted(map(str, result.formula.terms)) == ["x1**3", "x2"]


@pytest.mark.slow
def test_a_column_of_weights_is_no_input_and_no_target(rng):
    x, y = _draw(rng)
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"]).assign(y=y, w=rng.uniform(1.0, 2.0, 80))
    result = symscreen.fit(frame, weights="w", **SMALL)
    assert result.formula.target == "y"
    assert result.record["weights"] == "w"
    assert result.formula == symscreen.fit(x, y, weights=frame["w"], **SMALL).formula
    kind = np.where(np.arange(80) % 2 == 0, "p", "q")
    with_kind = symscreen.fit(frame.assign(kind=kind), target="y", weights="w", categorical="kind", **SMALL)
    assert "w" not in with_kind.record["input_ranges"]


@pytest.mark.parametrize(
    ("weights", "error", "says"),
    [
        (-1.0, DataError, "negative, infinite or missing in row"),
        (np.nan, DataError, "negative, infinite or missing in row"),
        (np.inf, DataError, "negative, infinite or missing in row"),
    ],
)
def test_weights_that_are_no_weights_are_refused(rng, weights, error, says):
    x, y = _draw(rng)
    given = np.ones(80)
    given[3] = weights
    with pytest.raises(error, match=says):
        symscreen.fit(x, y, weights=given, **SMALL)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=y, w=given)
    with pytest.raises(error, match=says):
        symscreen.fit(frame, target="y", weights="w", **SMALL)


def test_weights_of_another_shape_or_kind_are_refused(rng):
    x, y = _draw(rng)
    with pytest.raises(DataError, match=r"weights= has shape \(79,\): give a number for each of 80 rows"):
        symscreen.fit(x, y, weights=np.ones(79), **SMALL)
    with pytest.raises(DataError, match="zero in all rows"):
        symscreen.fit(x, y, weights=np.zeros(80), **SMALL)
    with pytest.raises(DataError, match="no column 'nope' for weights="):
        symscreen.fit(x, y, weights="nope", **SMALL)
    with pytest.raises(OptionError, match="weights is 3; give the name of a column or an array"):
        symscreen.fit(x, y, weights=3, **SMALL)
