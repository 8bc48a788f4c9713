from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.strategies import put_in
from hypothesis import given, settings
from hypothesis import strategies as st

import symscreen
from symscreen.datasets import list_strogatz_names, load_strogatz, make_additive
from symscreen.errors import FormulaError, OptionError
from symscreen.evaluation.truth import (
    CRITERIA,
    Truth,
    find_correct_features,
    find_independent_expressions,
    list_term_sums,
    parse_truth,
)
from symscreen.expressions.sympy_conversion import to_sympy
from symscreen.expressions.traversal import collect_columns
from symscreen.expressions.tree import Call, Column, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator

ADDITIVE = parse_truth(make_additive(n=1).truth)
TRUTHS = {name: parse_truth(load_strogatz(name).truth) for name in list_strogatz_names()}


def marks(texts, truth, criterion):
    features = [parse_expression(text) for text in texts]
    return [
        text
        for text, good in zip(texts, find_correct_features(features, truth, criterion), strict=True)
        if good
    ]


@pytest.mark.parametrize(
    ("truth", "right", "wrong"),
    [
        (
            "2*x1**3 + 5*x3 + 10",
            ["x1**3", "x3", "4 - x3", "x1**3 + x3", "2*x1**3 + 5*x3", "0.4*x1**3 + x3",
             "1 - 6*x1**3 - 15*x3"],
            ["x1", "x3**3", "x1**3 - x3", "2*x1**3 + x3", "x1**3 + 5*x3", "x1**3*x3", "sqrt(x3)", "2", "x2"],
        ),
        (
            "x1 - cos(x2)/x1",
            ["x1 - cos(x2)/x1", "cos(x2)/x1 - x1", "cos(x2)/x1", "3*x1", "sin(x2 + pi/2)/(2*x1)"],
            ["x1 + cos(x2)/x1", "cos(x2)", "1/x1", "x1 - 2*cos(x2)/x1", "x1/cos(x2)"],
        ),
        (
            "x1*(4 - x1 - x2/(1 + x1))",
            ["x1**2 - 4*x1", "x1 - x1**2", "x1*x2/(1 + x1)", "x2/(1 + 1/x1)", "x2 - x2/(1 + x1)",
             "x1 - x1**2 - x1*x2/(1 + x1)", "(4 - x1 - x2/(1 + x1))*x1"],
            ["x1 + x1**2", "x1**2 - 2*x1", "x2/(1 + x1)", "4 - x1 - x2/(1 + x1)", "x1*x2"],
        ),
        (
            "(cos(x2)**2 + 0.1*sin(x2)**2)*sin(x1)",
            # the two terms with equal coefficients sum to sin(x1)
            ["sin(x1)*cos(x2)**2", "sin(x2)**2*sin(x1)", "sin(x1)", "sin(x1)*(10*cos(x2)**2 + sin(x2)**2)"],
            ["cos(x2)**2", "sin(x1)*cos(x2)", "sin(x1)*cos(2*x2)"],
        ),
        (
            "10*(x2 - (x1**3 - x1)/3)",
            ["x1 - x1**3", "x1 + x2", "3*x2 + x1", "x2 - x1**3", "x1 - x1**3 + x2", "x1 - x1**3 + 3*x2"],
            ["x1 - x1**3 + 2*x2", "x1 + x1**3", "x2 + x1**3", "x1 - 3*x2"],
        ),
    ],
)  # fmt: skip
def test_terms_and_their_sums_count_and_nothing_else(truth, right, wrong):
    assert marks(right + wrong, parse_truth(truth), "terms") == right


def test_active_takes_what_depends_on_active_inputs_only():
    right = ["x1", "x3", "x1*x3", "exp(exp(x1))", "x1*x2/x2", "x1 + sin(x2)**2 + cos(x2)**2",
             "x1 + 0*log(x2)", "sqrt(x1 - 1e9)", "x3 + cosh(x2)**2 - sinh(x2)**2"]  # fmt: skip
    wrong = ["x2", "x1 + x2", "x1*x2", "x4", "3", "x1 - x1", "x1/x1", "sin(x1)**2 + cos(x1)**2",
             "x1 + 1e-30*x2", "x1 + abs(x2) - x2", "x2/x2", "max(x1, x2 - 5000)"]  # fmt: skip
    assert marks(right + wrong, ADDITIVE, "active") == right


@pytest.mark.parametrize(("layers", "features", "good"), [("bu", 24, 12), ("ub", 42, 20)])
def test_the_papers_counts_of_correct_features(layers, features, good):
    frame = make_additive(n=30, noise_variance=0).frame
    result = symscreen.screen(frame, operators="ablation", layers=layers, pool="strict", top="all")
    found = find_correct_features(result.expressions, ADDITIVE, "active")
    assert (len(found), found.sum()) == (features, good)
    # nothing cancels in these spaces, so the inputs written are the active ones
    assert found.tolist() == [collect_columns(feature) <= {"x1", "x3"} for feature in result.expressions]


def test_the_truths_are_distinguished():
    features = [truth.expression for truth in TRUTHS.values()]
    table = np.array([find_correct_features(features, truth, "exact") for truth in TRUTHS.values()])
    assert (table == np.eye(14, dtype=bool)).all()


@pytest.mark.slow
def test_a_wrong_truth_marks_none_of_the_right_features():
    for name, truth in TRUTHS.items():
        right = list_term_sums(truth)
        assert find_correct_features(right, truth, "terms").all()
        for other, wrong in TRUTHS.items():
            shared = {str(term) for term in truth.terms} & {str(term) for term in wrong.terms}
            # the two terms of shearflow2 sum to sin(x1), which is a term of barmag1
            if not shared and {name, other} != {"barmag1", "shearflow2"}:
                assert not find_correct_features(right, wrong, "terms").any(), (name, other)


def test_a_wrong_truth_marks_none_of_a_whole_space():
    frame = make_additive(n=30, noise_variance=0).frame
    result = symscreen.screen(frame, operators="ablation", layers="ub", pool="strict", top="all")
    right = find_correct_features(result.expressions, ADDITIVE, "active")
    wrong = find_correct_features(result.expressions, parse_truth("3*x2**2"), "active")
    assert right.any()
    assert wrong.any()
    assert not (right & wrong).any()
    terms = find_correct_features(result.expressions, ADDITIVE, "terms")
    assert terms.sum() == 3  # x3 + x3, x1**3 + x1**3, x1**3 + x3
    assert not find_correct_features(result.expressions, parse_truth("2*x1 + 5*sin(x3) + 10"), "terms")[
        terms
    ].any()


SHAPES = [
    "a*x + b*y",
    "a*x**2 - b*sin(y)",
    "a*x*y + b*exp(x)",
    "a*log(abs(x)) + b*y**3",
    "a*x/(1 + y**2) + b*x",
]


@settings(max_examples=15, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    a=st.sampled_from([-3, 0.5, 2]),
    b=st.sampled_from([-0.7, 1, 4]),
    slope=st.sampled_from([-2, 0.1, 3]),
    shift=st.sampled_from([0, 5]),
)
def test_the_unit_of_the_response_decides_nothing(shape, a, b, slope, shift):
    def number(value):
        return parse_expression(f"({value})")

    parts = {"x": Column("x"), "y": Column("y"), "a": number(a), "b": number(b)}
    formula = put_in(parse_expression(shape), parts)
    truth = parse_truth(str(formula))
    scaled = parse_truth(f"{slope}*({formula}) + {shift}")
    features = [
        *list_term_sums(truth),
        *list_term_sums(scaled),
        parse_expression("x"),
        parse_expression("x + y"),
        parse_expression("x - y"),
        parse_expression("x*y"),
    ]
    for criterion in CRITERIA:
        assert (
            find_correct_features(features, truth, criterion)
            == find_correct_features(features, scaled, criterion)
        ).all()
    assert find_correct_features(features[:-4], truth, "terms").all()


@pytest.mark.slow
def test_each_criterion_is_stricter_than_the_one_before():
    features = [feature for truth in (ADDITIVE, *TRUTHS.values()) for feature in list_term_sums(truth)]
    features += [
        parse_expression(text)
        for text in ("x1*x2/x2", "sqrt(x1)**2", "x1/x1", "x2 + x3", "x1 - x2", "sin(x3)")
    ]
    for truth in (ADDITIVE, *TRUTHS.values()):
        active, terms, exact = (find_correct_features(features, truth, criterion) for criterion in CRITERIA)
        assert exact.any()
        assert (exact <= terms).all()
        assert (terms <= active).all()


def sums_by_definition(truth):
    """Yield the coefficients of each correct sum, scaled to a first coefficient of 1."""
    coefficients = np.array(truth.coefficients)
    for chosen in itertools.product([0, 1], repeat=len(coefficients)):
        for numbers in (coefficients, np.sign(coefficients)):
            vector = numbers * chosen
            if vector.any():
                yield tuple((vector / vector[np.flatnonzero(vector)[0]]).round(9).tolist())


@pytest.mark.parametrize("text", ["2*x + 5*y - z", "x - y", "3*x", "x + 2*y - 2*z + 0.1*w"])
def test_sums_of_terms_are_all_that_the_definition_names(text):
    truth = parse_truth(text)
    found = []
    for total in list_term_sums(truth):
        form = to_sympy(total)
        vector = np.array([float(form.coeff(to_sympy(term))) for term in truth.terms])
        found.append(tuple((vector / vector[np.flatnonzero(vector)[0]]).round(9).tolist()))
    assert sorted(found) == sorted(set(sums_by_definition(truth)))


def test_too_many_terms_are_refused_where_sums_are_asked_for():
    truth = parse_truth(" + ".join(f"{place}*x{place}" for place in range(1, 12)))
    features = [truth.expression, parse_expression("x1"), parse_expression("z")]
    assert find_correct_features(features, truth, "exact").tolist() == [True, False, False]
    assert find_correct_features(features, truth, "active").tolist() == [True, True, False]
    with pytest.raises(FormulaError, match=r"has 11 terms.*at most 10; use 'active' or 'exact'"):
        find_correct_features(features, truth, "terms")


def test_an_unknown_criterion_is_refused():
    with pytest.raises(OptionError, match="did you mean 'exact'"):
        find_correct_features([parse_expression("x1")], ADDITIVE, "exactly")


@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_features_are_no_answers(criterion):
    assert find_correct_features([], ADDITIVE, criterion).tolist() == []


def test_an_operator_of_the_users_is_what_it_stands_for():
    growth = define_operator("growth", "x*(1 - x/2.5)", OPERATORS)
    operators = {**OPERATORS, "growth": growth}
    truth = parse_truth("3*growth(x1) + x2", ["x1", "x2"], operators)
    features = [
        parse_expression(text, operators)
        for text in ("growth(x1)", "x1**2", "x1 - 0.4*x1**2", "x1 - x1**2", "growth(x2)")
    ]
    assert find_correct_features(features, truth, "terms").tolist() == [True, True, True, True, False]
    assert find_correct_features([*features, truth.expression], truth, "exact").tolist() == [False] * 5 + [
        True
    ]
    assert find_correct_features([Call(growth, (Column("x3"),))], truth, "active").tolist() == [False]


def test_a_truth_may_be_put_together_by_hand():
    truth = Truth(
        parse_expression("2*x + y"), ("x", "y"), (parse_expression("x"), parse_expression("y")), (2.0, 1.0)
    )
    assert marks(["x", "y", "x + y", "x + y/2", "x - y"], truth, "terms") == ["x", "y", "x + y", "x + y/2"]


@pytest.mark.parametrize("moved", ["x", "y"])
def test_unmoved_is_what_does_not_hold_an_input(moved):
    formulas = [
        parse_expression(text)
        for text in ("x", "y", "x*y", "x + y", "sin(x)", "y**2", "x*y/x", "2", "log(x*y) - log(y)")
    ]
    expected = {"x": [0, 1, 0, 0, 0, 1, 1, 1, 0], "y": [1, 0, 0, 0, 1, 0, 0, 1, 1]}[moved]
    assert find_independent_expressions(formulas, [moved.__eq__]).tolist() == [list(map(bool, expected))]
