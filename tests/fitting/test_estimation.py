from __future__ import annotations

import numpy as np
import pytest
from helpers.fitting_cases import share_left, table_of

import symscreen
from symscreen.expressions.tree import parse_expression
from symscreen.fitting import (
    compute_unexplained_share,
    evaluate_terms,
    fit_formulas,
    get_input_columns,
    is_identifiable,
    predict_on_dataset,
)


@pytest.fixture
def table(rng):
    x = rng.uniform(0.5, 2.0, (2, 40))
    return table_of(x, 3 - 2 * x[0] + x[1] ** 3 + 0.1 * rng.normal(size=40))


TERMS = (parse_expression("x1"), parse_expression("x2**3"))


def test_terms_are_evaluated_on_the_tables_rows(table):
    columns = get_input_columns(table)
    np.testing.assert_allclose(evaluate_terms(TERMS, table), [columns["x1"], columns["x2"] ** 3], rtol=1e-15)
    assert evaluate_terms((), table).shape == (0, 40)


def test_the_formula_predicts_what_least_squares_does(table):
    ((formula, estimates, simple),) = fit_formulas(TERMS, table, 0.9, snap=False)
    values, y = evaluate_terms(TERMS, table), table.target.values
    design = np.vstack([np.ones(40), values]).T
    fitted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(predict_on_dataset(formula, table), fitted, rtol=1e-12)
    np.testing.assert_allclose(formula.predict(get_input_columns(table)), fitted, rtol=1e-12)
    assert (estimates.level, simple) == (0.9, False)
    assert estimates.unexplained_share == pytest.approx(share_left(values, y))
    assert compute_unexplained_share(formula, table) == pytest.approx(estimates.unexplained_share)


def test_simple_numbers_are_told_and_what_they_leave_is_more(table):
    ((formula, estimates, simple),) = fit_formulas(TERMS, table, 0.95, snap=True)
    assert simple
    assert formula.text == "3 - 2*x1 + x2**3"
    assert (
        estimates.unexplained_share
        < compute_unexplained_share(formula, table)
        < 1.3 * estimates.unexplained_share
    )


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_an_intercept_of_rounding_is_none(rng, scale):
    x = rng.uniform(0.5, 2.0, (1, 30))
    ((formula, _, _),) = fit_formulas(
        [parse_expression("x1")], table_of(x, 0.3 * scale * x[0]), 0.95, snap=False
    )
    assert formula.intercept == 0.0
    assert formula.coefficients[0] == pytest.approx(0.3 * scale, rel=1e-13)
    assert compute_unexplained_share(formula, table_of(x, 0.3 * scale * x[0])) < 1e-28
    ((kept, _, _),) = fit_formulas(
        [parse_expression("x1")], table_of(x, scale * (x[0] + 1e-6)), 0.95, snap=False
    )
    assert kept.intercept == pytest.approx(1e-6 * scale, rel=1e-6)


def test_without_terms_the_mean_is_left(table):
    ((formula, estimates, _),) = fit_formulas((), table, 0.95, snap=False)
    assert formula.intercept == pytest.approx(table.target.values.mean())
    assert estimates.unexplained_share == pytest.approx(1.0)
    assert len(estimates.low) == 1


def test_what_rows_do_not_determine(rng):
    x = rng.normal(size=(4, 5))
    assert is_identifiable(x[:3])
    assert not is_identifiable(x)  # an intercept and four coefficients through five points
    assert not is_identifiable([x[0], 2 * x[0] - 7])
    assert not is_identifiable([x[0], np.ones(5)])
    assert not is_identifiable([x[0], np.where(x[1] > x[1].min(), x[1], np.nan)])
    assert not is_identifiable([x[0], [0.0, 1.0, 2.0, 3.0, np.inf]])
    assert is_identifiable(np.empty((0, 5)))


def test_a_term_undefined_in_a_row_predicts_nothing_there(rng):
    inside = table_of([np.linspace(1, 2, 9)], np.linspace(1, 2, 9) ** 2 + rng.normal(0, 0.01, 9))
    ((formula, _, _),) = fit_formulas([parse_expression("log(x1)")], inside, 0.95, snap=False)
    outside = table_of([[-1.0, 1.0, 2.0, 3.0, 4.0]], [1.0, 2.0, 3.0, 4.0, 5.0])
    assert np.isnan(predict_on_dataset(formula, outside)).tolist() == [True, False, False, False, False]


@pytest.mark.slow
def test_a_law_has_simple_coefficients_where_the_data_allow_them(rng, change_effort):
    change_effort("default", pool_formulas=2000, n_law_stages=1, layer_candidates=1000)
    m, v = rng.uniform(1, 5, (2, 1000))
    energy = 0.5 * m * v**2
    noisy = energy + 0.01 * energy.std() * rng.normal(size=1000)
    assert symscreen.fit({"m": m, "v": v, "energy": noisy}, target="energy").formula.text == "0.5*m*v**2"


def test_terms_whose_norm_overflows_have_no_coefficients(rng):
    values = rng.uniform(1, 2, (1, 50))
    assert is_identifiable(values)
    values[0, :3] = 1.7e308
    assert not is_identifiable(values)
