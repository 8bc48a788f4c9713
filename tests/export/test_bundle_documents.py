from __future__ import annotations

import copy
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.bundle_cases import FEATURES
from helpers.strategies import expressions, names
from hypothesis import given, settings
from hypothesis import strategies as st

import symscreen
from symscreen.errors import FormulaError, OutputError
from symscreen.export import format_bundle
from symscreen.export.bundle_documents import parse_bundle
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import collect_columns, compute_complexity, evaluate_expression
from symscreen.expressions.tree import Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator

finite = st.floats(allow_nan=False, allow_infinity=False)
models = st.builds(
    lambda target, intercept, pairs: Formula(target, intercept, *zip(*pairs, strict=True)),
    names,
    finite,
    st.lists(st.tuples(finite, expressions()), min_size=1, max_size=5),
)


def sinpi_and_its_user():
    sinpi = define_operator("sinpi", "sin(pi*x)", OPERATORS, cost=1)
    operators = OPERATORS | {"sinpi": sinpi}
    return operators | {"wave": define_operator("wave", "sinpi(x)*y", operators)}


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(model=models)
def test_a_model_comes_back_as_it_was(model):
    text = format_bundle(model)
    back = parse_bundle(text, "m").formulas
    assert back == model
    assert format_bundle(back) == text
    needed = sorted(frozenset().union(*map(collect_columns, model.terms)))
    rows = {name: np.linspace(0.5, 2.0, 5) + place for place, name in enumerate(needed or ["a"])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert back.predict(rows).tobytes() == model.predict(rows).tobytes()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(features=st.lists(expressions(), min_size=1, max_size=5))
def test_features_come_back_as_they_were(features):
    assert parse_bundle(format_bundle(features), "m").formulas == tuple(features)


def test_each_formula_stands_on_a_line_of_its_own():
    lines = format_bundle(FEATURES, record={"a": [1]}).splitlines()
    assert [json.loads(line.rstrip(","))["expression"] for line in lines if '"tree"' in line] == [
        "x1**3",
        "log(`a b`)",
    ]


def test_definitions_travel_with_the_formulas():
    operators = sinpi_and_its_user()
    model = Formula(
        "y",
        0.0,
        (2.0, 3.0),
        (parse_expression("wave(x, z)", operators), parse_expression("sinpi(z)", operators)),
    )
    text = format_bundle(model)
    assert json.loads(text)["define"] == {
        "sinpi": {"formula": "sin(pi*x)", "cost": 1},
        "wave": {"formula": "sinpi(x)*y", "cost": 2},
    }
    back = parse_bundle(text, "m").formulas
    rows = {"x": np.linspace(-3, 3, 50), "z": np.linspace(0, 9, 50)}
    assert back.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert back.text == model.text
    assert back.complexity == model.complexity


def test_a_definition_that_only_another_one_calls_comes_from_the_grammar():
    operators = sinpi_and_its_user()
    feature = parse_expression("wave(x, z)", operators)
    with pytest.raises(OutputError, match="'wave' calls 'sinpi', which is unknown"):
        format_bundle([feature])
    text = format_bundle([feature], operators=operators)
    assert list(json.loads(text)["define"]) == ["sinpi", "wave"]
    (back,) = parse_bundle(text, "m").formulas
    rows = {"x": np.linspace(-3, 3, 9), "z": np.ones(9)}
    assert evaluate_expression(back, rows).tobytes() == evaluate_expression(feature, rows).tobytes()
    # a grammar's unused definitions stay at home
    assert json.loads(format_bundle(FEATURES, operators=operators))["define"] == {}


def test_costs_of_shipped_operators_travel_too():
    dear = replace(OPERATORS["sin"], cost=7)
    feature = apply_operator(dear, apply_operator(OPERATORS["log"], Column("x")))
    text = format_bundle([feature])
    assert json.loads(text)["costs"] == {"sin": 7}
    assert parse_bundle(text, "m").formulas == (feature,)
    assert compute_complexity(parse_bundle(text, "m").formulas[0]) == compute_complexity(feature) == 9


def test_the_grammar_files_operators_can_be_saved(tmp_path):
    (tmp_path / "g.toml").write_text(
        'unary = ["bell"]\nbinary = ["mul"]\n'
        '[define.bell]\nformula = "exp(-x**2/2)"\n[costs]\nmul = 3\nbell = 1\n'
    )
    grammar = symscreen.load_grammar(tmp_path / "g.toml")
    feature = parse_expression("bell(x)*y", grammar.operators)
    (back,) = parse_bundle(format_bundle([feature], operators=grammar.operators), "m").formulas
    assert compute_complexity(back) == compute_complexity(feature) == 6


def test_operators_with_parameters_are_saved_with_their_values(tmp_path):
    (tmp_path / "g.toml").write_text(
        'unary = ["fade"]\n[define.twice]\nformula = "2*x"\n'
        '[define.fade]\nformula = "exp(-a*twice(x))"\nparameters = { a = [0.1, 2.5] }\n'
    )
    features = [
        apply_operator(operator, Column("x"))
        for operator in symscreen.load_grammar(tmp_path / "g.toml").unary
    ]
    text = format_bundle(features)
    assert json.loads(text)["define"]["fade_2"]["formula"] == "exp(-2.5*twice(x))"
    rows = {"x": np.linspace(0, 3, 9)}
    for back, feature in zip(parse_bundle(text, "m").formulas, features, strict=True):
        assert evaluate_expression(back, rows).tobytes() == evaluate_expression(feature, rows).tobytes()


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (replace(OPERATORS["sin"], numeric=np.cos), "'sin' differs from the built-in one"),
        (replace(OPERATORS["sin"], name="sine"), "'sine' is not defined by a formula"),
        (
            replace(OPERATORS["sin"], name="sine", summary="cos(x)"),
            "'sine' differs from its formula 'cos.x.'",
        ),
        (replace(OPERATORS["sin"], name="sine", summary="sine(x)"), "'sine' calls 'sine'"),
        (replace(OPERATORS["sin"], name="a b", summary="sin(x)"), "not an operator name"),
    ],
)
def test_operators_that_no_file_can_hold_are_refused(operator, message):
    with pytest.raises(OutputError, match=message):
        format_bundle([apply_operator(operator, Column("x"))])


def test_two_operators_of_one_name_are_refused_unless_they_are_the_same():
    one, same = (define_operator("f", "sin(x)*x", OPERATORS) for _ in range(2))
    other = define_operator("f", "cos(x)*x", OPERATORS)
    features = [apply_operator(one, Column("x")), apply_operator(same, Column("z"))]
    assert len(parse_bundle(format_bundle(features), "m").formulas) == 2
    with pytest.raises(OutputError, match="two operators are named 'f'"):
        format_bundle([*features, apply_operator(other, Column("x"))])


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(bad):
    with pytest.raises(OutputError, match="only finite ones can be written"):
        format_bundle([apply_operator(OPERATORS["add"], Column("x"), Constant(bad))])


scalars = st.one_of(st.none(), st.booleans(), st.integers(), finite, st.text(max_size=5))
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data(), value=anything)
def test_no_value_anywhere_gets_past_unnoticed_or_breaks_the_reader(data, value):
    content = json.loads(
        format_bundle(Formula("y", 1.5, (2.0,), (parse_expression("x1**3"),)), record={"a": [1]})
    )
    changed = copy.deepcopy(content)
    place = changed
    while True:
        step = data.draw(st.sampled_from(range(len(place)) if isinstance(place, list) else sorted(place)))
        if not isinstance(place[step], (dict, list)) or not place[step] or data.draw(st.booleans()):
            place[step] = value
            break
        place = place[step]
    try:
        back = parse_bundle(json.dumps(changed), "m").formulas
    except FormulaError:
        return
    again = json.loads(format_bundle(back))
    for key in ("kind", "target", "intercept", "inputs"):
        assert again[key] == changed[key]
