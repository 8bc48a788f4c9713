from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import curve_fit

import symscreen
from symscreen.expressions.traversal import iterate_constants, rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.feature_dictionary import make_empty_dictionary
from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.laws.fitted_laws import add_laws, fit_laws
from symscreen.fitting.laws.law import Law
from symscreen.fitting.model_selection import score_models
from symscreen.fitting.search_stages import refine_models, refit_terms
from symscreen.fitting.subset_search import ModelSearchResult


def make_drag(seed, n=300):
    rng = np.random.default_rng(seed)
    columns = {
        "area": rng.uniform(0.5, 3, n),
        "c": rng.uniform(0.2, 1.2, n),
        "rho": rng.uniform(0.9, 1.3, n),
        "v": rng.uniform(1, 40, n),
        "humidity": rng.uniform(10, 90, n),
        "batch": rng.integers(1, 6, n).astype(float),
    }
    truth = 0.5 * columns["rho"] * columns["v"] ** 2 * columns["c"] * columns["area"]
    return columns, truth * (1 + 0.01 * rng.normal(size=n))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_relative_errors_add_no_factors_to_a_law(seed, change_effort):
    change_effort("quick", pool_formulas=2000, n_law_stages=1, layer_candidates=1000)
    columns, target = make_drag(seed)
    result = symscreen.fit(columns, target, effort="quick", jobs=1)
    (term,) = result.formula.terms
    assert str(term) == "area*c*rho*v**2"
    assert result.record["verdict"]["kind"] == "noise"
    assert result.record["error_scale"]["proportional"] == pytest.approx(0.01, rel=0.15)
    assert any("rows are weighted by 1/variance" in notice for notice in result.notices)
    (row,) = result.terms.to_dict("records")
    assert row["low"] < 0.5 < row["high"]
    assert row["high"] - row["low"] < 0.005


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_a_simpler_formula_shows_the_growing_errors_that_an_overfitted_one_hides(seed):
    rng = np.random.default_rng(seed)
    columns = dict(zip("abc", rng.uniform(0.5, 5, (3, 40)), strict=True))
    target = columns["a"] * columns["b"] / columns["c"] * (1 + 0.1 * rng.normal(size=40))
    found = symscreen.fit({**columns, "y": target}, target="y")
    assert found.record["error_scale"]["proportional"] == pytest.approx(0.1, rel=0.5)
    assert found.formula.equation == "y = a*b/c"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [101, 102, 104])
def test_a_wrong_formula_does_not_hide_relative_errors_of_a_target_of_wide_range(seed):
    rng = np.random.default_rng(seed)
    temperature = rng.uniform(773, 973, 80).round(1)
    target = 2e-5 * np.exp(-17080 / temperature) * (1 + 0.03 * rng.standard_normal(80))
    found = symscreen.fit({"T": temperature, "humidity": rng.integers(20, 70, 80)}, target, quiet=True)
    (term,) = found.formula.terms
    assert str(term).startswith("exp(-17")
    assert found.record["error_scale"]["proportional"] == pytest.approx(0.03, rel=0.3)


def test_the_order_of_rows_has_no_effect_on_the_weights(rng):
    columns, target = make_drag(2, n=120)
    order = rng.permutation(120)
    shuffled = {name: values[order] for name, values in columns.items()}
    first, second = (
        symscreen.fit(*each, layers="u", jobs=1) for each in ((columns, target), (shuffled, target[order]))
    )
    assert first.formula == second.formula
    pd.testing.assert_frame_equal(first.terms, second.terms)


@pytest.mark.slow
def test_weights_of_the_user_are_kept(rng):
    columns, target = make_drag(2)
    known = {"product": columns["rho"] * columns["v"] ** 2 * columns["c"] * columns["area"]}
    free, given = (
        symscreen.fit(known, target, layers="u", weights=weights, jobs=1)
        for weights in (None, rng.uniform(1, 2, 300))
    )
    assert "error_scale" in free.record
    assert "error_scale" not in given.record


@pytest.mark.slow
def test_with_split_rows_the_weights_come_from_the_rows_of_the_choice(change_effort):
    change_effort("quick", pool_formulas=2000, n_law_stages=1, layer_candidates=1000)
    columns, target = make_drag(2)
    inputs = {name: columns[name] for name in ("area", "c", "rho", "v")}
    result = symscreen.fit(inputs, target, effort="quick", operators="basic", split=0.5, jobs=1)
    (term,) = result.formula.terms
    assert str(term) == "area*c*rho*v**2"
    assert result.record["error_scale"]["proportional"] == pytest.approx(0.01, rel=0.2)


def test_constants_inside_terms_are_fitted_again_with_the_weights():
    rng = np.random.default_rng(0)  # the interval of the constant contains no simple number
    s = np.sort(rng.uniform(0.1, 20, 200))
    clean = 3.1 * s / (2.637 + s)
    target = clean * (1.0 + 0.02 * rng.normal(size=200))
    task = replace(prepare_fit({"s": s}, target, {"jobs": 1}), source_weights=clean**-2.0)
    start = rebuild_expression(
        parse_expression("s/(2.9 + s)"), number=lambda number: Constant(number.value, fitted=True)
    )
    law = Law((start,), has_intercept=False, search_size=50.0, n_constants=1, stage="curves")
    nothing = ModelSearchResult(make_empty_dictionary(200), {}, 0, 0)
    found = add_laws(nothing, fit_laws([law], {"s": s}, target))
    (model,) = (each for each in score_models(found, 200, "ebic") if each.term_indices)
    refined = refine_models(task, found, [model])
    assert refined.terms.expressions[0] == start  # the model of the search stays
    (constant,) = iterate_constants(refined.terms.expressions[1])
    (_, expected), _ = curve_fit(lambda s, a, c: a * s / (c + s), s, target, [3.0, 2.9], sigma=clean)
    assert constant.value == pytest.approx(expected, rel=1e-5)
    assert refined.stages[1,] == "curves"
    assert refined.models[1,] < refined.models[0,]


def test_numbers_inside_terms_can_be_fitted_on_other_rows(rng):
    s = np.sort(rng.uniform(0.1, 20, 100))
    target = 3.1 * s / (2.6 + s) + 0.02 * rng.normal(size=100)
    start = rebuild_expression(
        parse_expression("s/(2.9 + s)"), number=lambda number: Constant(number.value, fitted=True)
    )
    law = Law((start,), has_intercept=False, search_size=50.0, n_constants=1)
    nothing = ModelSearchResult(make_empty_dictionary(100), {}, 0, 0)
    found = add_laws(nothing, fit_laws([law], {"s": s}, target))
    (model,) = (each for each in score_models(found, 100, "ebic") if each.term_indices)
    (term,) = refit_terms(prepare_fit({"s": s}, target, {"jobs": 1}), found, model)
    (constant,) = iterate_constants(term)
    (_, expected), _ = curve_fit(lambda s, a, c: a * s / (c + s), s, target, [3.0, 2.9])
    assert constant.fitted
    assert constant.value == pytest.approx(expected, rel=1e-5)
