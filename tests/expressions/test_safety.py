"""Whether a formula is defined and bounded on a box, against points of the box."""

import numpy as np
import pytest
from helpers.strategies import expressions
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symscreen.expressions.safety import NOT_PROVED, SafetyAnalysis, analyze_safety
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator
from symscreen.grammar.interval_bounds import LARGEST_MAGNITUDE

BOX = {"a": (-1.3, 2.3), "b": (0.5, 4.0), "c": (1.0, 1.0), "d": (-3.0, -0.2)}
ends = st.one_of(st.floats(-3, 3), st.integers(-3, 3).map(float), st.floats(-1e4, 1e4))
ranges = st.tuples(ends, ends).map(sorted)


def analyze(formula, box=BOX, operators=OPERATORS):
    return analyze_safety(parse_expression(formula, operators), box)


def draw_points(box, rng, n=400):
    """Draw points of a box, half of the values at the ends, at 0 or at integers."""
    points = {}
    for name, (low, high) in box.items():
        values = low + rng.uniform(size=n) * (high / 2 - low / 2) * 2
        special = rng.choice([low, high, 0.0, 1.0, -1.0, np.floor(high)], n)
        points[name] = np.clip(np.where(rng.uniform(size=n) < 0.5, values, special), low, high)
    return points


@settings(max_examples=200)
@given(expressions(st.sampled_from(["a", "b"])), ranges, ranges, st.integers(0, 10**6))
@example(parse_expression("a/(a*a - a + 1)"), [-10.0, 10.0], [0.0, 1.0], 0)
@example(parse_expression("sqrt(1 - a)/(b + 1)"), [0.0, 1.0], [0.0, 1.0], 0)
@example(parse_expression("3e150"), [0.0, 1.0], [0.0, 1.0], 0)
def test_a_formula_called_safe_has_a_value_at_every_point_of_the_box(expression, a, b, seed):
    box = {"a": a, "b": b}
    if not analyze_safety(expression, box).is_safe:
        return
    values = evaluate_expression(expression, draw_points(box, np.random.default_rng(seed)))
    assert (np.abs(values) <= LARGEST_MAGNITUDE).all()


@settings(max_examples=200)
@given(expressions(st.sampled_from(["a", "b"])), ranges, ranges)
def test_a_formula_proved_unsafe_has_a_point_of_the_box_where_it_fails(expression, a, b):
    box = {"a": a, "b": b}
    found = analyze_safety(expression, box)
    if found.is_safe or not found.is_proved:
        return
    assert all(box[name][0] <= value <= box[name][1] for name, value in found.point.items())
    columns = {name: np.array([value]) for name, value in found.point.items()} or {"": np.zeros(1)}
    value = evaluate_expression(found.part, columns)[0]
    if not abs(value) <= LARGEST_MAGNITUDE:
        return
    # a pole between two doubles: the denominator changes its sign beside the point
    assert found.reason == "pole"
    assert abs(value) > 1.0 or found.part.operator.name == "div"


SAFE = [
    "a", "a*b - c", "1/b", "log(b)", "sqrt(b)/d", "a/b", "exp(a)", "1/(a*a + 1)", "1/(2 + sin(a))",
    "a/(a*a - a + 1)", "log(a*a - a + 1)", "b/(a + b + 2)", "sqrt(a*a + b*b)", "b**a", "d**3", "d**-2",
    "1/(b*b - b + 0.5)", "tanh(a)/(1 + a**2)", "sqrt(1 - c)", "asin(sin(a))", "1/(exp(a) - a)",
    "floor(a)", "log(b - log(b))", "1/(a - d*d - 3)",
]  # fmt: skip
UNSAFE = {
    "1/a": "pole", "1/a**2": "pole", "b/(a - b)": "pole", "1/(a*b)": "pole", "a/sin(a)": "pole",
    "log(a)": "undefined", "sqrt(a)": "undefined", "log(d)": "undefined", "log(a + b)": "undefined",
    "a**0.5": "undefined", "sqrt(a*b - 3)": "undefined", "exp(exp(exp(b)))": "overflow",
    "1/(a - b)**2": "pole", "log(abs(a))": "undefined", "1/(a*a - a - 1)": "pole", "asin(b)": "undefined",
    "b + log(a*a - a + 0.2499)": "undefined", "1/(a/b)": "pole", "a**-1": "pole", "exp(1/a)": "pole",
}  # fmt: skip


@pytest.mark.parametrize("formula", SAFE)
def test_formulas_without_hazard_are_proved_safe(formula):
    found = analyze(formula)
    assert found.is_safe, found
    assert found.reason == ""


@pytest.mark.parametrize("formula", UNSAFE)
def test_formulas_with_a_hazard_are_proved_unsafe_with_its_reason(formula):
    found = analyze(formula)
    assert found.reason == UNSAFE[formula], found
    assert found.is_proved


@pytest.mark.parametrize("formula", ["tan(b)", "1/(a*a - 2*a + 1)", "1/floor(a)"])
def test_what_is_not_proved_counts_as_unsafe(formula):
    found = analyze(formula)
    assert not found.is_safe
    if not found.is_proved:
        assert found.reason == NOT_PROVED


def test_the_part_and_the_point_say_where_a_formula_fails():
    found = analyze("exp(b) + log(b)/(a - b)")
    assert str(found.part) == "log(b)/(a - b)"
    assert found.point["a"] == pytest.approx(found.point["b"], abs=1e-9)
    assert set(found.point) == {"a", "b"}


def test_many_formulas_share_what_is_known_of_their_parts():
    analysis = SafetyAnalysis(BOX)
    texts = ["1/(a - b)", "b + 1/(a - b)", "log(b)", "log(b)/(a - b)", "log(b)*a"]
    for text in texts:
        expression = parse_expression(text)
        assert analysis.analyze(expression) == analyze_safety(expression, BOX)


def test_a_wider_box_is_never_safer():
    analysis = SafetyAnalysis({name: (low - 0.5, high + 0.5) for name, (low, high) in BOX.items()})
    for text in UNSAFE:
        assert not analysis.analyze(parse_expression(text)).is_safe


def test_definitions_are_divided_too():
    share = define_operator("share", "x/(x*x - x + 1)", OPERATORS)
    operators = OPERATORS | {"share": share}
    assert analyze("share(a)", operators=operators).is_safe
    assert not analyze("1/share(a)", operators=operators).is_safe


def test_numbers_alone_have_a_value_or_none():
    assert analyze("2 + 3").is_safe
    assert analyze("1/(2 - 2)").reason == "pole"


def test_a_column_of_huge_values_overflows():
    found = analyze("a", {"a": (0.0, 1e200)})
    assert (found.reason, found.point) == ("overflow", {"a": 1e200})
    assert analyze("a**2", {"a": (0.0, 1e100)}).reason == "overflow"


def test_the_answer_does_not_depend_on_the_order_of_the_inputs():
    for text in [*SAFE, *UNSAFE]:
        expression = parse_expression(text)
        other = dict(reversed(BOX.items()))
        assert analyze_safety(expression, BOX) == analyze_safety(expression, other)
        assert set(analyze_safety(expression, BOX).point or {}) <= collect_columns(expression)
