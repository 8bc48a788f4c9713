"""MathML is read back by a small reader of its own, and must mean what the tree means."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from helpers.strategies import expressions, names
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.expressions.printing import to_mathml
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS

COLUMNS = {
    "x": np.array([0.5, 1.25, 2.0]),
    "t12": np.array([1.5, -0.75, 3.0]),
    "a b": np.array([2.0, 1.0, -0.5]),
}
SPOKEN = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arsinh": "asinh"}
SAFE = st.one_of(st.integers(-9, 9), st.sampled_from([0.5, 2.25, -1.5, 1e-7, 3e8, math.pi])).map(Constant)


def _tokens(element):
    """Flatten rows, which a reader does not see, into marks (text), functions and values (tuples)."""
    for child in element:
        if child.tag == "mrow":
            yield from _tokens(child)
        elif child.tag == "mo":
            yield child.text
        elif child.get("mathvariant") and child.text != "e":
            yield ("call", child.text, None)
        elif child.tag == "msup" and child[0].get("mathvariant") and child[0].text != "e":
            yield ("call", child[0].text, child[1].text)
        else:
            yield ("value", _value(child))


def _value(element):  # noqa: PLR0911  # one return for each element
    inner = [_row([element_])[0] for element_ in element] if len(element) and element.tag != "msub" else []
    match element.tag:
        case "mn":
            return np.full(3, float(element.text))
        case "mi":
            return (
                np.full(3, {"π": math.pi, "e": math.e}[element.text])
                if element.text in "πe"
                else COLUMNS["x"]
            )
        case "msub":
            return COLUMNS[element[0].text + element[1].text]
        case "mtext":
            return COLUMNS[element.text.replace("\xa0", " ")]
        case "msup" if element[0].text == "e":
            return np.exp(inner[1])
        case "msup":
            return np.power(inner[0], inner[1])
        case "mfrac":
            return inner[0] / inner[1]
        case "msqrt":
            return np.sqrt(inner[0])
        case "mroot":
            return np.cbrt(inner[0])
    raise AssertionError(element.tag)


def _row(elements):
    wrapper = ET.Element("mrow")
    wrapper.extend(elements)
    return _sum(list(_tokens(wrapper)))


def _sum(tokens):
    sign, rest = (-1.0, tokens[1:]) if tokens[0] == "−" else (1.0, tokens)
    total, rest = _product(rest)
    total = sign * total
    while rest and rest[0] in {"+", "−"}:
        term, after = _product(rest[1:])
        total, rest = (total + term if rest[0] == "+" else total - term), after
    return total, rest


def _product(tokens):
    value, rest = _factor(tokens)
    while rest and isinstance(rest[0], str) and rest[0] in "⋅×\u2062":
        factor, rest = _factor(rest[1:])
        value = value * factor
    return value, rest


def _factor(tokens):
    first, rest = tokens[0], tokens[1:]
    if first[0] == "call":
        return _called(first, rest)
    if first[0] == "value":
        return first[1], rest
    value, rest = _sum(rest)
    assert rest[0] == {"(": ")", "|": "|", "⌊": "⌋"}[first], "a bracket is not closed"
    return {"(": value, "|": np.abs(value), "⌊": np.floor(value)}[first], rest[1:]


def _called(call, rest):
    assert rest[:2] == ["\u2061", "("]
    arguments, rest = [], rest[1:]
    while rest[0] in {"(", ","}:
        value, rest = _sum(rest[1:])
        arguments.append(value)
    assert rest[0] == ")"
    value = OPERATORS[SPOKEN.get(call[1], call[1])].numeric(*arguments)
    return (value if call[2] is None else value ** int(call[2])), rest[1:]


def _meaning(markup):
    with np.errstate(all="ignore"):
        value, rest = _row(list(ET.fromstring(markup)))  # noqa: S314  # our own
    assert rest == []
    return value


trees = st.recursive(
    st.one_of(st.sampled_from(sorted(COLUMNS)).map(Column), SAFE),
    lambda inner: st.one_of(
        st.builds(apply_operator, st.sampled_from([o for o in OPERATORS.values() if o.arity == 1]), inner),
        st.builds(
            apply_operator, st.sampled_from([o for o in OPERATORS.values() if o.arity == 2]), inner, inner
        ),
    ),
    max_leaves=7,
)


@settings(max_examples=300)
@given(trees)
def test_what_is_typeset_means_the_tree(tree):
    expected, found = evaluate_expression(tree, COLUMNS), _meaning(to_mathml(tree, digits=17))
    known = np.isfinite(expected)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "text", ["x - (x - 2)", "x/(t12/x)", "2*(3*x)", "-(x + 1)**2", "(-2)**2*x", "x*(-2)"]
)
def test_parentheses_stand_where_they_must(text):
    tree = parse_expression(text)
    np.testing.assert_allclose(_meaning(to_mathml(tree)), evaluate_expression(tree, COLUMNS))


@settings(max_examples=150)
@given(expressions(names))
def test_any_name_makes_well_formed_text(tree):
    root = ET.fromstring(to_mathml(tree))  # noqa: S314  # our own
    assert {element.tag for element in root.iter()} <= {
        "math", "mrow", "mo", "mi", "mn", "mtext", "msub", "msup", "mfrac", "msqrt", "mroot",
    }  # fmt: skip
    assert all(mark.isprintable() or mark in "\xa0\u2061\u2062" for mark in "".join(root.itertext()))


def test_numbers_are_rounded_and_written_as_people_write_them():
    assert to_mathml(Constant(273.15)) == "<math><mn>273.15</mn></math>"
    assert to_mathml(Constant(1.23456e-9, fitted=True)) == (
        "<math><mrow><mn>1.235</mn><mo>×</mo><msup><mn>10</mn><mrow><mo>−</mo><mn>9</mn></mrow></msup></mrow></math>"
    )
    assert to_mathml(Call(OPERATORS["mul"], (Constant(2), Constant(3)))).count("⋅") == 1
    assert to_mathml(Column("")) == "<math><mtext>⟨⟩</mtext></math>"
