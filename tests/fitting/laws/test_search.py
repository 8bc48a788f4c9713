from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.expressions.tree import Column, parse_expression
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.feature_dictionary import make_empty_dictionary
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.search import _merge_equal_laws, build_law_dictionary, find_laws, fit_laws
from symscreen.fitting.model_selection import score_models, select_model
from symscreen.fitting.search_stages import add_laws
from symscreen.fitting.subset_search import ModelSearchResult
from symscreen.grammar import load_grammar


def make_frame(rng, n=400, noise=0.0):
    m, r, v, angle = rng.uniform(1, 5, (4, n))
    law = 0.5 * m * r * v * np.sin(angle)
    return {"m": m, "r": r, "v": v, "angle": angle, "force": law + noise * law.std() * rng.normal(size=n)}


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_fit_finds_a_law_without_an_intercept(noise, rng):
    result = symscreen.fit(make_frame(rng, noise=noise), target="force")
    assert [str(term) for term in result.formula.terms] == ["m*r*v*sin(angle)"]
    assert result.formula.intercept == 0.0
    assert result.formula.coefficients[0] == pytest.approx(0.5, rel=0.02 if noise else 1e-12)
    assert result.terms["term"].tolist() == ["m*r*v*sin(angle)"]


@pytest.mark.slow
def test_the_order_of_rows_and_columns_and_the_number_of_jobs_have_no_effect(rng):
    frame = make_frame(rng, noise=0.05)
    order = rng.permutation(400)
    shuffled = {name: frame[name][order] for name in sorted(frame, reverse=True)}
    first = symscreen.fit(frame, target="force", jobs=1)
    second = symscreen.fit(shuffled, target="force", jobs=2)
    assert first.formula.round_numbers(9).text == second.formula.round_numbers(9).text


def test_given_layers_are_searched_alone(rng):
    result = symscreen.fit(make_frame(rng), target="force", layers="u")
    assert len(result.terms) != 1 or result.formula.intercept != 0.0


def test_equal_laws_become_one_with_the_smallest_search_size():
    x, y = Column("x"), Column("y")
    laws = [
        Law((x, y), has_intercept=False, search_size=1e6),
        Law((x,), has_intercept=False, search_size=10.0),
        Law((y, x), has_intercept=False, search_size=1e3),
        Law((x,), has_intercept=True, search_size=5.0),
    ]
    merged = _merge_equal_laws(laws)
    assert [(law.terms, law.has_intercept, law.search_size) for law in merged] == [
        ((x, y), False, 1e3),
        ((x,), False, 10.0),
        ((x,), True, 5.0),
    ]


@pytest.mark.slow
def test_a_law_is_hardly_ever_claimed_for_noise(rng):
    frame = make_frame(rng, n=200)
    columns, grammar = {name: frame[name] for name in ("m", "r")}, load_grammar("basic")
    claims = 0
    for _ in range(8):
        data = build_law_data(columns, rng.normal(size=200), grammar, pool_limit=2000)
        laws = fit_laws(find_laws(data), data.columns, data.target)
        found = add_laws(ModelSearchResult(make_empty_dictionary(200), {}, 0, 0), laws)
        claims += bool(select_model(score_models(found, 200, "ebic")).term_indices)
    assert claims <= 1


def test_a_model_without_an_intercept_has_the_estimates_of_a_regression_through_the_origin(rng):
    values, target = rng.normal(size=(2, 30)), rng.normal(size=30) + 1
    estimates = estimate_coefficients(values, target, has_intercept=False)
    solution, (square,), _, _ = np.linalg.lstsq(values.T, target, rcond=None)
    assert estimates.coefficients.tolist() == pytest.approx([0.0, *solution])
    assert estimates.unexplained_share == pytest.approx(square / ((target - target.mean()) ** 2).sum())
    covariance = np.linalg.inv(values @ values.T) * square / 28
    half_width = 2.0484071417952445 * np.sqrt(np.diag(covariance))  # Student's t with 28 degrees, 0.975
    assert estimates.high[1:] - solution == pytest.approx(half_width)
    assert estimates.low[0] == estimates.high[0] == 0.0


def test_the_cost_of_a_law_is_spread_over_its_terms():
    columns = {"x": np.arange(1.0, 9.0)}
    law = Law((parse_expression("x"), parse_expression("x**2")), has_intercept=True, search_size=1e6)
    dictionary = build_law_dictionary(fit_laws([law], columns, np.arange(8.0) ** 3))
    assert dictionary.search_sizes.prod() == pytest.approx(1e6)
    assert dictionary.n_constants.tolist() == [0, 0]


def test_laws_that_are_undefined_in_a_row_are_left_out():
    columns = {"x": np.arange(8.0)}
    law = Law((parse_expression("1/x"),), has_intercept=False, search_size=1.0)
    assert fit_laws([law], columns, np.arange(8.0)) == []
