import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from helpers.exact_values import exact_ranks, exact_values
from helpers.statistic_oracles import gini_by_definition, t0_by_definition
from helpers.strategies import expressions
from hypothesis import example, given, settings
from hypothesis import strategies as st

import symscreen
from symscreen.expansion.feature_values import compute_decimal_error, compute_exact_value_ids
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Constant, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator
from symscreen.results.rounding_flag import is_rounding_flagged
from symscreen.screeners import SCREENERS
from symscreen.screening.inference.numerical_error import estimate_numerical_error
from symscreen.targets import NumericTarget

T0, PEARSON, LASSO = SCREENERS["t0"], SCREENERS["pearson"], SCREENERS["lasso"]
Y = np.array([0.5, 1.0, 1.75, 4.0, 6.0, 8.25])

wide = st.builds(
    lambda mantissa, exponent: mantissa * 10.0**exponent,
    st.floats(1, 10).flatmap(lambda size: st.sampled_from([size, -size])),
    st.one_of(st.integers(-2, 2), st.integers(-150, 150), st.integers(-323, 307)),
)
columns_of_six = st.lists(st.one_of(wide, st.sampled_from([1.0, 2.0, 0.5])), min_size=6, max_size=6).map(
    np.array
)


def safety(formula, columns, y=Y, screeners=(T0,)):
    expression = parse_expression(formula) if isinstance(formula, str) else formula
    values = evaluate_expression(expression, columns)
    return estimate_numerical_error(
        expression, values, columns, NumericTarget(np.asarray(y, dtype=float)), screeners
    )


def test_for_a_joint_screener_of_ranks_the_order_of_rows_of_one_target_counts():
    y = [0.5, 0.5, 1.75, 4.0, 6.0, 8.25]
    columns = {"a": 1e10 * np.arange(1.0, 7.0), "b": np.array([1.0, 1.0 + 1e-9, 3.0, 4.0, 5.0, 6.0])}
    joint = safety("(a + b) - a", columns, y, (SCREENERS["forest"],))
    assert joint.n_uncertain_rows == 2
    assert safety("(a + b) - a", columns, y).n_uncertain_rows == 0
    # the error of its score is not known, even if no row is uncertain
    assert math.isnan(joint.score_error)
    assert math.isnan(safety("a", columns, y, (SCREENERS["forest"],)).score_error)


@pytest.mark.slow
@settings(max_examples=120)
@given(expressions(st.sampled_from(["a", "b"])), columns_of_six, columns_of_six)
@example(Constant(sys.float_info.max), np.ones(6), np.arange(6.0))
@example(parse_expression("(-a)**(4.9e-255**2)"), np.ones(6), np.arange(6.0))  # the exponent underflows
def test_what_is_not_marked_scores_as_exact_numbers_do(expression, a, b):
    columns = {"a": a, "b": b}
    values = evaluate_expression(expression, columns)
    if np.isnan(values).any():
        return
    found = safety(expression, columns)
    exact = exact_values(expression, columns)
    if found.n_uncertain_rows and math.isnan(found.score_error):
        return
    if any(value is None for value in exact):
        assert found.n_uncertain_rows or np.ptp(values) == 0  # rows with equal inputs tie at any value
        return
    ranks = exact_ranks(exact)
    slack = 1e-12 * float(gini_by_definition(Y))
    assert abs(symscreen.t0(values, Y) - float(t0_by_definition(ranks, Y))) <= found.score_error + slack
    if not found.n_uncertain_rows:
        assert found.score_error == 0
        assert abs(symscreen.xi(values, Y) - symscreen.xi(ranks, Y)) <= 1e-12


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("sin(a*b)", {"a": 1e100 * np.arange(1.1, 7), "b": 1e99 * np.arange(3.3, 9)}),
        ("cos(a/b)", {"a": 1e21 * np.arange(1.1, 7), "b": np.arange(3.3, 9)}),
        ("(a + b) - a", {"a": 1e17 * np.arange(1.1, 7), "b": np.arange(3.3, 9)}),
        ("a*b", {"a": 1e-160 * np.arange(1.1, 7), "b": 1e-163 * np.array([1.3, 1.2, 1.5, 1.1, 1.4, 1.6])}),
        ("tanh(a)", {"a": np.arange(25.5, 31)}),
        ("a + b", {"a": np.array([0.1, 0.3, 1, 2, 3, 4]), "b": np.array([0.2, 0.0, 0, 0, 0, 0])}),
    ],
)
def test_what_rounding_makes_or_splits_is_unsafe(formula, columns):
    assert safety(formula, columns).n_uncertain_rows > 1


def test_huge_arguments_are_no_noise_where_they_are_exact():
    columns = {"a": 1e200 * np.arange(1.1, 7)}
    assert safety("sin(a)", columns).n_uncertain_rows == 0
    assert safety("sin(a*a)", {"a": np.array([3.0, 5, 7, 11, 13, 17]) * 2.0**20}).n_uncertain_rows == 0


@pytest.mark.parametrize(
    "formula", ["a + b", "a*b", "a/b", "cos(a - b)", "(a + b)**2", "exp(a)", "abs(a) + 1"]
)
def test_ties_of_equal_rows_and_of_exact_numbers_are_safe(formula):
    columns = {"a": np.array([1.0, 2, 1, -2, 3, 4]), "b": np.array([2.0, 1, 2, 5, 7, 2])}
    assert safety(formula, columns).n_uncertain_rows == 0
    decimals = {"a": np.array([0.3, 0.7, 0.3, 1.1, 1.9, 2.2]), "b": np.array([0.9, 0.4, 0.9, 1.3, 0.7, 0.1])}
    assert safety(formula, decimals).n_uncertain_rows == 0


def test_decimals_that_tie_as_they_are_written_are_safe_where_they_tie():
    columns = {"a": np.array([5.1, 5.0, 0.5, 6.3, 7.7, 0.1]), "b": np.array([3.5, 3.6, 0.25, 1.9, 2.0, 0.3])}
    assert safety("a + b", columns).n_uncertain_rows == 0  # 8.6 twice
    split = {"a": np.array([0.1, 0.3, 0.5, 6.3, 7.7, 0.1]), "b": np.array([0.2, 0.0, 0.25, 1.9, 2.0, 0.3])}
    found = safety("a + b", split)
    assert found.n_uncertain_rows == 2
    apart = abs(symscreen.t0(split["a"] + split["b"], Y) - symscreen.t0([0.3, 0.3, 0.75, 8.2, 9.7, 0.4], Y))
    assert found.score_error == pytest.approx(apart, rel=1e-12)


def test_numbers_of_many_digits_are_known_by_equality_alone(rng):
    a = np.concatenate([rng.normal(size=5000), [1 / 3, 1 / 3]])
    names = compute_exact_value_ids(parse_expression("cos(-a)"), {"a": a})
    assert names[-1] == names[-2]
    assert len(np.unique(names)) == len(np.unique(a))
    assert not compute_decimal_error(a).any()


def test_decimals_that_a_difference_splits_are_found_however_many_there_are(rng):
    n = 6000
    start = np.round(1.7e9 + rng.integers(0, 10**7, n) / 10, 1)  # seconds with one decimal
    end = np.round(start + rng.integers(1, 200, n) / 10, 1)
    y = np.arange(n) + rng.normal(size=n)
    found = safety("end - start", {"start": start, "end": end}, np.sort(y))
    true = [
        Fraction(repr(late)) - Fraction(repr(early))
        for late, early in zip(end.tolist(), start.tolist(), strict=True)
    ]
    apart = abs(symscreen.t0(end - start, np.sort(y)) - symscreen.t0(np.array(true, dtype=float), np.sort(y)))
    assert apart > 0
    assert found.n_uncertain_rows > 0
    assert found.score_error == pytest.approx(apart, rel=1e-9)


def test_what_ties_by_an_operator_of_a_formula_with_numbers_is_found():
    half = define_operator("half", "(x + 1) / 2", OPERATORS)
    formula = Call(half, (parse_expression("a + b"),))
    columns = {"a": np.array([0.1, 0.3, 0.5, 6.3, 7.7, 0.1]), "b": np.array([0.2, 0.0, 0.25, 1.9, 2.0, 0.3])}
    names = compute_exact_value_ids(formula, columns)
    assert names[0] == names[1]
    assert len(np.unique(names)) == 5
    assert safety(formula, columns).n_uncertain_rows == 0  # 0.3 and 0.1 + 0.2 are one again where 1 is added


def test_logarithms_of_1_are_no_noise(rng):
    columns = {"b": np.array([1.0, 2, 1, 3, 1, 4]), "c": rng.uniform(1, 2, 6)}
    for formula in ("log(b)/c", "log(b)*c", "log(b)/log(c)", "log(b)*log(c)"):
        assert safety(formula, columns).n_uncertain_rows == 0


def test_scores_of_values_are_unsafe_where_rounding_is_felt_in_them(rng):
    a, b = rng.normal(size=6), rng.normal(size=6)
    plain = safety("a + b", {"a": a, "b": b}, screeners=(PEARSON,))
    assert plain.n_uncertain_rows == 0
    assert 0 <= plain.score_error < 1e-14
    lost = safety("(a + b) - a", {"a": 1e10 * (1 + a), "b": b}, screeners=(PEARSON, T0))
    assert lost.n_uncertain_rows == 6
    exact = np.corrcoef(b, Y)[0, 1]
    assert abs(np.corrcoef((1e10 * (1 + a) + b) - 1e10 * (1 + a), Y)[0, 1] - exact) <= lost.score_error < 1e-4
    assert math.isnan(safety("(a + b) - a", {"a": 1e10 * (1 + a), "b": b}, screeners=(LASSO,)).score_error)


def test_values_near_overflow_have_a_spread():
    columns = {"a": np.array([1.7e308, -1.7e308, 1e308, 0.0, 1.6e308, -1e308])}
    assert safety("a", columns, screeners=(PEARSON,)).n_uncertain_rows == 0


def test_marks_are_for_what_people_would_see():
    assert not is_rounding_flagged(0, 0.0, n=100, scale=1.0)
    assert not is_rounding_flagged(50, 9e-4, n=100, scale=1.0)
    assert is_rounding_flagged(2, 1.1, n=100, scale=1000.0)
    assert not is_rounding_flagged(1, math.nan, n=100, scale=1.0)
    assert not is_rounding_flagged(math.nan, math.nan, n=100, scale=1.0)
