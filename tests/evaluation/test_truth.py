from __future__ import annotations

import numpy as np
import pytest
from helpers.strategies import put_in
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from symscreen.datasets import list_strogatz_names, load_strogatz, make_additive
from symscreen.errors import FormulaError
from symscreen.evaluation.mp_evaluation import MODERATE_ROWS, draw_rows
from symscreen.evaluation.truth import find_correct_features, parse_truth
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import Column, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator

STROGATZ = {
    "bacres1": {"x1": -1, "x1*x2/(x1**2/2 + 1)": -1},
    "bacres2": {"x1*x2/(x1**2/2 + 1)": -1},
    "barmag1": {"sin(x1)": -1, "sin(x1 - x2)": 0.5},
    "barmag2": {"sin(x2)": -1, "sin(x1 - x2)": -0.5},
    "glider1": {"x1**2": -0.05, "sin(x2)": -1},
    "glider2": {"x1": 1, "cos(x2)/x1": -1},
    "lv1": {"x1": 3, "x1*x2": -2, "x1**2": -1},
    "lv2": {"x2": 2, "x1*x2": -1, "x2**2": -1},
    "predprey1": {"x1": 4, "x1**2": -1, "x1*x2/(x1 + 1)": -1},
    "predprey2": {"x2**2": -0.075, "x1*x2/(x1 + 1)": 1},
    "shearflow1": {"cos(x1)/tan(x2)": 1},
    "shearflow2": {"sin(x1)*cos(x2)**2": 1, "sin(x1)*sin(x2)**2": 0.1},
    "vdp1": {"x2": 10, "x1**3": -10 / 3, "x1": 10 / 3},
    "vdp2": {"x1": -0.1},
}
TERMS = {
    make_additive(n=1).truth: {"x1**3": 2, "x3": 5},
    "(x1 + x2)**3": {"x1**3": 1, "x2**3": 1, "x1**2*x2": 3, "x1*x2**2": 3},
    "(sqrt(x1 + x2) + x3)**2": {"x1": 1, "x2": 1, "x3**2": 1, "x3*sqrt(x1 + x2)": 2},
    "(x - 1)*(x + 1)": {"x**2": 1},
    "exp(x)*(y - 2)/3": {"exp(x)": -2 / 3, "y*exp(x)": 1 / 3},
    "(x + y)/(x - y)": {"x/(x - y)": 1, "y/(x - y)": 1},
    "0.1*x + 0.2*x + y": {"x": 0.3, "y": 1},
    "pi*x + 2*x + exp(2)": {"x": 2 + np.pi},
    "-(2*x)**3": {"x**3": -8},
    "sin((x + y)**2) + 7": {"sin((x + y)**2)": 1},
    "max(x, y) - min(x, y)": {"max(x, y)": 1, "min(x, y)": -1},
    "x*(sin(1)**2 + cos(1)**2 - 1) + y + sin(x)": {"y": 1, "sin(x)": 1},
    "x*(1e250*sin(2) - 2e250*sin(1)*cos(1)) + y + sin(x)": {"y": 1, "sin(x)": 1},
    "(x*sqrt(y + z) + 1)*sqrt(y + z)": {"x*y": 1, "x*z": 1, "sqrt(y + z)": 1},
    # an inactive input does not add a term
    "x1 + cos(x2)**2 + sin(x2)**2": {"x1": 1},
    "x1*cos(x2)**2 + x1*sin(x2)**2": {"x1": 1},
    # the sympy form of this cannot be expressed
    "2*abs(exp(sqrt(x)))": {"2*abs(exp(sqrt(x)))": 1},
}


def terms_of(truth):
    return {to_text(term): pytest.approx(c) for term, c in zip(truth.terms, truth.coefficients, strict=True)}


@pytest.mark.parametrize("name", list_strogatz_names())
def test_the_fourteen_equations(name):
    truth = parse_truth(load_strogatz(name).truth, ["x1", "x2"])
    assert terms_of(truth) == STROGATZ[name]
    assert truth.active_inputs == tuple(sorted(collect_columns(truth.expression)))
    assert truth.active_inputs == (("x1",) if name == "vdp2" else ("x1", "x2"))


@pytest.mark.parametrize("text", TERMS)
def test_formulas_fall_into_terms(text):
    assert terms_of(parse_truth(text)) == TERMS[text]


@pytest.mark.parametrize(
    ("text", "active"),
    [
        ("x1 + 0*x2", ["x1"]),
        ("x1 + x2 - x2", ["x1"]),
        ("x1*x2/x2", ["x1"]),
        ("x1 + log(x2) - log(x2)", ["x1"]),
        ("x1 + (x2 + 1e20) - x2", ["x1"]),
        ("x1 + cosh(x2)**2 - sinh(x2)**2", ["x1"]),
        ("x1 + sin(x2)**2 + cos(x2)**2", ["x1"]),
        ("x1 + abs(x2) - sqrt(x2**2)", ["x1"]),
        ("x1 + abs(x2) - x2", ["x1", "x2"]),
        ("x1 + 1e-30*x2", ["x1", "x2"]),
        ("x1 + exp(-60)*sin(x2)", ["x1", "x2"]),
        ("max(x1, x2 - 20000)", ["x1", "x2"]),
        ("tanh(x1*1000) + x2", ["x1", "x2"]),
        ("exp(-1000/x1)", ["x1"]),
        ("sqrt(x1 - 500)*x2", ["x1", "x2"]),
        ("floor(x1)*x2", ["x1", "x2"]),
    ],
)
def test_active_are_the_inputs_that_matter(text, active):
    assert list(parse_truth(text).active_inputs) == active


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3", "contains no column"),
        ("pi**2", "contains no column"),
        ("x - x", "constant"),
        ("x/x", "constant"),
        ("sin(x)**2 + cos(x)**2", "constant"),
        ("sign(exp(x))", "constant"),
        ("log(-1)*x", "0 of 96 random points"),
        ("sqrt(-x**2)", "0 of 96 random points"),
        ("9**9**9*x", "0 of 96 random points"),
        ("nope(x)", "no operator 'nope'"),
        ("x +", "expected"),
    ],
)
def test_what_cannot_be_a_truth_is_refused(text, message):
    with pytest.raises(FormulaError, match=message):
        parse_truth(text)


def test_a_column_that_there_is_not_is_refused():
    with pytest.raises(FormulaError, match="no column 'x3'; known: x1, x2"):
        parse_truth("x1 + x3", ["x1", "x2"])
    assert parse_truth("pi*x", ["pi", "x"]).active_inputs == ("pi", "x")


NAMES = ["N", "E", "I", "S", "lambda", "a b", "x1 + x2", "", "`", "pi", "sin", "x00001", "Q", "\ud800"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["x*(4 - x - y/(1 + x))", "2*x**3 + 5*y + 10", "cos(x)/tan(y) + x"])
def test_names_change_nothing_but_names(name, text):
    plain = parse_truth(text)
    renamed = {"x": Column(name), "y": Column("other"), name: Column(name), "other": Column("other")}
    truth = parse_truth(to_text(put_in(plain.expression, renamed)))
    assert truth.active_inputs == tuple(sorted([name, "other"]))
    # the order of terms and factors depends on the names, the values do not
    rows = {name: draw_rows("x"), "other": draw_rows("y")}

    def seen(terms, coefficients):
        with_values = (
            (c, *evaluate_expression(put_in(term, renamed), rows).round(9)[:4])
            for term, c in zip(terms, coefficients, strict=True)
        )
        return sorted(with_values)

    assert seen(truth.terms, truth.coefficients) == seen(plain.terms, plain.coefficients)


def test_a_users_operators_are_taken_apart_as_what_they_stand_for():
    mix = define_operator("mix", "2*x + 0.1*y**2/3", OPERATORS)
    (wave,) = define_family("wave", "1 + sin(a*x)", {"a": [0.7]}, OPERATORS)
    operators = {**OPERATORS, "mix": mix, "wave": wave}
    truth = parse_truth("mix(x1, x2) + x1*wave(x2) + mix(x3, 0)*0", operators=operators)
    assert truth.active_inputs == ("x1", "x2")
    assert terms_of(truth) == {"x1": 3, "x2**2": 1 / 30, "x1*sin(7*x2/10)": 1}


def split_sum(parts, signs):
    """Return the factors of each product of a sum of products."""
    products = [[parts[0]]]
    for sign, part in zip(signs, parts[1:], strict=False):
        if sign == "*":
            products[-1].append(part)
        else:
            products.append([part])
    return products


@settings(max_examples=40, deadline=None)
@example(parts=["x", "exp(z)", "exp(z)"], signs=["+", "-", "*", "*"])
@given(
    parts=st.lists(
        st.sampled_from(
            ["x", "sin(y)", "(x - y)", "(x + 2*z)**2", "1/(1 + x**2)", "exp(z)", "(3 - y/x)", "0.3"]
        ),
        min_size=1,
        max_size=4,
    ),
    signs=st.lists(st.sampled_from(["*", "+", "-"]), min_size=4, max_size=4),
)
def test_terms_and_coefficients_add_up_to_the_formula(parts, signs):
    text = parts[0] + "".join(sign + part for sign, part in zip(signs, parts[1:], strict=False))
    expression = parse_expression(text)
    assume(collect_columns(expression))
    try:
        truth = parse_truth(text)
    except FormulaError as error:
        assert "constant" in str(error)  # noqa: PT017  # the other result is tested below
        return
    assert len(set(truth.terms)) == len(truth.terms)
    assert all(truth.coefficients)
    rows = {name: draw_rows(name)[: MODERATE_ROWS[2].stop] for name in "xyz"}
    rest = evaluate_expression(expression, rows)
    for term, coefficient in zip(truth.terms, truth.coefficients, strict=True):
        rest = rest - coefficient * evaluate_expression(term, rows)
    # the difference is the constant that was dropped, up to rounding of parts that may cancel each other
    size = 1.0 + sum(
        np.prod([np.abs(evaluate_expression(parse_expression(part), rows)) for part in product], axis=0)
        for product in split_sum(parts, signs)
    )
    constant = rest[np.nanargmin(np.where(np.isnan(rest), np.nan, size))]
    assert not (np.abs(rest - constant) > 1e-9 * size).any()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["(x + y)**300", "(x + y + z)**10"])
def test_a_truth_of_too_many_terms_has_inputs_and_a_form_all_the_same(text):
    truth = parse_truth(text)
    assert set(truth.active_inputs) == set("xyz") & set(text)
    assert truth.terms == truth.coefficients == ()
    feature = parse_expression("2 - (x + y + z)**10")
    if "z" in text:
        assert find_correct_features([feature], truth, "exact").all()
        assert find_correct_features([feature], truth, "active").all()
    with pytest.raises(FormulaError, match=r"too many terms.*use 'active' or 'exact'"):
        find_correct_features([feature], truth, "terms")
