from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import sympy
from helpers.strategies import expressions, names
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator

finite = st.floats(allow_nan=False, allow_infinity=False)
coefficients = st.one_of(finite, st.sampled_from([1.0, -1.0, 0.0, -0.0, 2.0, 1e15, -1e16, 0.1]))
readable = st.lists(st.tuples(coefficients, expressions()), max_size=6)
moderate = st.floats(-100, 100).filter(lambda value: value == 0 or abs(value) > 1e-3)
# the operators that signs and coefficients are drawn through, and some that stop them
merging = st.recursive(
    st.one_of(st.sampled_from(["a", "b b", "sin"]).map(Column), st.integers(-4, 4).map(Constant)),
    lambda inner: st.one_of(
        st.builds(
            apply_operator,
            st.sampled_from([OPERATORS[name] for name in ("neg", "inv", "sin", "square")]),
            inner,
        ),
        st.builds(
            apply_operator, st.sampled_from([OPERATORS[name] for name in ("mul", "div", "add")]), inner, inner
        ),
    ),
    max_leaves=6,
)


def formula_of(intercept, pairs, target="y"):
    return Formula(target, intercept, tuple(c for c, _ in pairs), tuple(term for _, term in pairs))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(intercept=coefficients, pairs=readable)
def test_the_text_reads_back_to_the_tree_that_it_shows(intercept, pairs):
    formula = formula_of(intercept, pairs)
    assert parse_expression(formula.text) == formula.expression
    assert str(formula) == formula.text


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(intercept=moderate, pairs=st.lists(st.tuples(moderate, merging), max_size=5), seed=st.integers(0, 100))
def test_the_text_has_the_values_of_the_prediction(intercept, pairs, seed):
    formula = formula_of(intercept, pairs)
    rows = dict(zip(["a", "b b", "sin"], np.random.default_rng(seed).uniform(0.5, 2.0, (3, 8)), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        predicted = formula.predict(rows)
    size = abs(intercept) + sum(np.abs(c * evaluate_expression(term, rows)) for c, term in pairs)
    np.testing.assert_array_less(
        np.abs(evaluate_expression(parse_expression(formula.text), rows) - predicted), 1e-14 * size + 1e-300
    )


@pytest.mark.parametrize(
    ("intercept", "terms", "text"),
    [
        (10.02, {"x1**3": 2.01, "x3": -4.98}, "10.02 + 2.01*x1**3 - 4.98*x3"),
        (0.0, {"x": 1.0, "y": -1.0}, "x - y"),
        (-0.0, {"x": -1.0, "y": 1.0}, "-x + y"),
        (0.0, {"x": -2.5}, "-2.5*x"),
        (0.0, {}, "0"),
        (-3.0, {}, "-3"),
        (-3.5, {"x": 2.0}, "-3.5 + 2*x"),
        (1.0, {"-x": 2.0, "-sin(x)*y": -0.5}, "1 - 2*x + 0.5*sin(x)*y"),
        (0.0, {"x*y": -1.0}, "-x*y"),
        (0.0, {"1/x": -1.0}, "-1/x"),
        (0.0, {"1/(x + y)": 2.5}, "2.5/(x + y)"),
        (0.0, {"x*y/z": 2.5}, "2.5*x*y/z"),
        (0.0, {"x/(y*z)": -2.5}, "-2.5*x/(y*z)"),
        (1.0, {"x + y": -1.0}, "1 - (x + y)"),
        (1.0, {"x - y": 2.0}, "1 + 2*(x - y)"),
        (0.0, {"x**2": -1.0}, "-x**2"),
        (0.0, {"(-1)/x": 3.0, "(-2)*x": 3.0}, "-3/x - 3*2*x"),
        (0.1 + 0.2, {"`a b`": 1e-7}, "0.30000000000000004 + 1e-07*`a b`"),
    ],
)
def test_signs_and_ones_are_merged_as_people_write_them(intercept, terms, text):
    formula = formula_of(intercept, [(c, parse_expression(term)) for term, c in terms.items()])
    assert formula.text == text
    assert parse_expression(text) == formula.expression


def test_the_equation_names_the_target_as_formulas_do():
    assert Formula("y", 1.0, (), ()).equation == "y = 1"
    assert Formula("a `b`", 1.0, (), ()).equation == "`a ``b``` = 1"
    assert Formula("sin", 1.0, (), ()).equation == "`sin` = 1"


def test_numbers_of_numpy_become_plain_ones():
    formula = Formula("y", np.float64(-0.0), np.array([1.5, 2]), [Column("a"), Column("b")])
    assert formula == Formula("y", 0.0, (1.5, 2.0), (Column("a"), Column("b")))
    assert hash(formula) == hash(Formula("y", 0.0, (1.5, 2.0), (Column("a"), Column("b"))))
    assert formula.text == "1.5*a + 2*b"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_cannot_be_written_are_refused(bad):
    with pytest.raises(FormulaError, match="is not finite"):
        Formula("y", bad, (), ())
    with pytest.raises(FormulaError, match="is not finite"):
        Formula("y", 0.0, (1.0, bad), (Column("a"), Column("b")))
    with pytest.raises(FormulaError, match="holds the number"):
        Formula("y", 0.0, (1.0,), (parse_expression("sin(x)*y").arguments[0], Constant(bad))[1:])


def test_coefficients_and_terms_go_together():
    with pytest.raises(FormulaError, match="2 terms with 1 coefficients"):
        Formula("y", 0.0, (1.0,), (Column("a"), Column("b")))
    with pytest.raises(FormulaError, match="401 terms is too long"):
        Formula("y", 0.0, (1.0,) * 401, (Column("a"),) * 401)
    longest = Formula("y", 0.5, (1.5,) * 400, (Column("a"),) * 400)
    assert longest.text.count("1.5*a") == longest.to_latex().count(r"1.5\,a") == 400
    assert float(longest.to_sympy().subs(sympy.Symbol("a"), 2)) == 1200.5


def test_complexity_counts_one_for_each_coefficient():
    assert Formula("y", 3.0, (), ()).complexity == 0
    assert Formula("y", 3.0, (2.0, 1.0), (parse_expression("x1**3"), parse_expression("x3"))).complexity == 5


@settings(max_examples=100, deadline=None)
@given(intercept=finite, pairs=readable, digits=st.integers(1, 17))
def test_rounding_keeps_so_many_digits_and_is_done_once(intercept, pairs, digits):
    formula = formula_of(intercept, pairs)
    rounded = formula.round_numbers(digits)
    assert rounded.round_numbers(digits) == rounded
    for exact, short in zip(formula.coefficients, rounded.coefficients, strict=True):
        assert abs(short - exact) <= 0.5000001 * abs(exact) * 10.0 ** (1 - digits) or abs(exact) < 1e-307
    if digits == 17:
        assert rounded.coefficients == formula.coefficients


def test_rounding_reaches_the_numbers_inside_the_terms():
    own = apply_operator(OPERATORS["mul"], Constant(0.123456, fitted=True), parse_expression("x + 273.15"))
    terms = (apply_operator(OPERATORS["add"], own, Constant(12345, fitted=True)), parse_expression("z"))
    formula = Formula("y", 10.01993, (-2.00004, 0.99999), terms)
    assert formula.round_numbers(3).equation == "y = 10 - 2*(0.123*(x + 273.15) + 12345) + z"
    assert (
        Formula("y", 1.79769e308, (), ()).round_numbers(2).intercept == 1.79769e308
    )  # 1.8e308 would overflow
    for digits in (0, -1, 18):
        with pytest.raises(OptionError, match=f"to {digits} digits; give 1 to 17"):
            formula.round_numbers(digits)


@settings(max_examples=100, deadline=None)
@given(pairs=st.lists(st.tuples(moderate, names), max_size=5, unique_by=lambda pair: pair[1]), one=moderate)
def test_sympy_gives_the_names_back_as_they_were(pairs, one):
    formula = formula_of(one, [(c, Column(name)) for c, name in pairs])
    built = formula.to_sympy()
    assert {symbol.name for symbol in built.free_symbols} == {name for c, name in pairs if c}
    at = {sympy.Symbol(name): place + 0.5 for place, (_, name) in enumerate(pairs)}
    expected = one + sum(c * (place + 0.5) for place, (c, _) in enumerate(pairs))
    assert float(built.subs(at)) == pytest.approx(expected, abs=1e-9)


def test_prediction_takes_files_frames_dicts_and_arrays(tmp_path):
    formula = Formula("y", 1.0, (2.0, -1.0), (parse_expression("x1**2"), parse_expression("x2")))
    rows = pd.DataFrame({"x1": [1.0, 2.0, 3.0], "x2": [0, 1, 2], "other": list("abc")}, index=[7, 8, 9])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for source in (rows, rows[["x1", "x2"]].to_numpy(), dict(rows), tmp_path / "rows.csv"):
        assert formula.predict(source).tolist() == [3.0, 8.0, 17.0]
    with pytest.raises(DataError, match="no column 'x2'"):
        formula.predict(rows[["x1"]])
    with pytest.raises(DataError, match="holds text"):
        Formula("y", 1.0, (2.0,), (Column("other"),)).predict(rows)


def test_a_formula_without_inputs_predicts_for_every_row():
    rows = {"whatever": [1.0, 2.0, 3.0]}
    assert Formula("y", 2.5, (), ()).predict(rows).tolist() == [2.5] * 3
    assert Formula("y", 2.5, (2.0,), (Constant(3),)).predict(rows).tolist() == [8.5] * 3


def test_undefined_rows_are_nan_and_counted_once():
    formula = Formula("y", 1.0, (2.0, 1.0), (parse_expression("log(x)"), parse_expression("1/z")))
    rows = {"x": [1.0, -1.0, 0.0, 2.0], "z": [1.0, 1.0, 0.0, None]}
    with pytest.warns(UserWarning, match=r"undefined in 3 of the 4 rows .* 'log\(x\)' in 2") as caught:
        assert np.isnan(formula.predict(rows)).tolist() == [False, True, True, True]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"undefined in 1 of the 1 rows and NaN there$"):
        assert np.isnan(Formula("y", 0.0, (1e308,), (Column("x"),)).predict({"x": [100.0]})).all()


@settings(max_examples=50, deadline=None)
@given(expression=expressions())
def test_prediction_is_the_sum_to_the_last_bit(expression):
    needed = collect_columns(expression)
    rows = {name: np.linspace(0.5, 2.0, 5) + place for place, name in enumerate(sorted(needed) or ["a"])}
    values = evaluate_expression(expression, rows)
    assume(np.isfinite(values).all() and np.abs(values).max() < 1e300)
    predicted = Formula("y", 0.1, (0.3, 1.5), (expression, expression)).predict(rows)
    assert predicted.tolist() == (0.1 + 0.3 * values + 1.5 * values).tolist()


def test_operators_of_users_own_stay_as_they_are():
    gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    operators = OPERATORS | {"gauss": gauss}
    formula = Formula("y", 0.0, (-2.0,), (parse_expression("gauss(x)*x", operators),))
    assert formula.text == "-2*gauss(x)*x"
    assert parse_expression(formula.text, operators) == formula.expression
    assert formula.to_sympy() == -2 * sympy.Symbol("x") * sympy.exp(-(sympy.Symbol("x") ** 2))
    assert to_text(formula.terms[0]) == "gauss(x)*x"
