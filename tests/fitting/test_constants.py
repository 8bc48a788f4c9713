from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError, FormulaError
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Constant, parse_expression
from symscreen.fitting.constants import _MAX_STARTS, _combine_starts, count_constants, fit_constants
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator

DEFINITIONS = {
    "decay": ("exp(-a*x)", {"a": [0.1, 1, 10]}),
    "shifted": ("1/(x + b)", {"b": [1]}),
    "either": ("1/(x - b)", {"b": [-10, 10]}),
    "wave": ("cos(w*x + p)", {"w": [0.5, 1, 2, 4], "p": [0, 1.5]}),
    "hill": ("x**n/(k**n + x**n)", {"n": [1, 4], "k": [0.5, 2]}),
    "bell": ("exp(-((x - m)/s)**2)", {"m": [-1, 0, 1], "s": [0.5, 2]}),
    "mixed": ("y/(a + x) + sin(y*b)", {"a": [1], "b": [1, 3]}),
    "late": ("log(x + b)", {"b": [0.6, 5]}),
    "never": ("sqrt(x - b)", {"b": [100, 200]}),
    "ratio": ("1/(c + d*x)", {"c": [1], "d": [1]}),
    "scaled": ("c*exp(-a*x)", {"c": [7], "a": [1]}),
}


@pytest.fixture(scope="module")
def operators():
    everything = dict(OPERATORS)
    for name, (formula, parameters) in DEFINITIONS.items():
        for operator in define_family(name, formula, parameters, OPERATORS):
            everything[operator.name] = operator
    return everything


@pytest.fixture
def columns(rng):
    return {"x1": rng.uniform(0.2, 5, 150), "x2": rng.uniform(-3, 3, 150), "a b": rng.normal(size=150)}


@pytest.fixture
def fit(operators, columns):
    """Fit terms given as text to a target given as a formula or as values."""

    def fit(terms, target):
        target = evaluate_expression(parse_expression(target), columns) if isinstance(target, str) else target
        return fit_constants([parse_expression(term, operators) for term in terms], columns, target)

    return fit


def numbers_in(expression):
    """List the numbers of an expression, left to right."""
    if isinstance(expression, Call):
        return [number for argument in expression.arguments for number in numbers_in(argument)]
    return [expression.value] if isinstance(expression, Constant) else []


def shape_of(expression):
    """Return a tree with its numbers blotted out."""
    if isinstance(expression, Call):
        return (expression.operator.name, *map(shape_of, expression.arguments))
    return "number" if isinstance(expression, Constant) else expression


def unexplained(terms, target):
    """Compute 1 − R² by the textbook: all columns and a one, by singular values."""
    design = np.column_stack([np.ones(len(target)), *terms])
    design /= np.abs(design).max(axis=0)
    left = target - design @ np.linalg.lstsq(design, target)[0]
    return np.sum(left**2) / np.sum((target - target.mean()) ** 2)


@pytest.mark.parametrize(
    ("terms", "truth", "shapes"),
    [
        (["decay_1(x1)"], "3*exp(-0.37*x1) + 2", ["exp(-0.37*x1)"]),
        (["decay_2(x1)"], "3*exp(-0.37*x1) + 2", ["exp(-0.37*x1)"]),
        (["decay_3(x1)"], "3*exp(-0.37*x1) + 2", ["exp(-0.37*x1)"]),
        (["decay_2(x1)"], "1e9 - 1e12*exp(0.21*x1)", ["exp(0.21*x1)"]),
        (["shifted(x1)"], "1/(x1 + 2.5)", ["1/(x1 + 2.5)"]),
        (["shifted(x1)"], "-1e-200/(x1 - 0.1)", ["1/(x1 - 0.1)"]),
        (["either_1(x2)"], "1/(x2 - 3.5) + 1", ["1/(x2 - 3.5)"]),
        (["either_2(x2)"], "1/(x2 + 3.5) - 1", ["1/(x2 + 3.5)"]),
        (["hill_1(x1)"], "2*x1**3.3/(1.7**3.3 + x1**3.3)", ["x1**3.3/(1.7**3.3 + x1**3.3)"]),
        (["bell_4(x2)"], "exp(-((x2 + 0.7)/1.3)**2)", ["exp(-((x2 + 0.7)/1.3)**2)"]),
        (
            ["mixed_1(x1, `a b`*x2)"],
            "`a b`*x2/(2.25 + x1) + sin(`a b`*x2*1.4)",
            ["`a b`*x2/(2.25 + x1) + sin(`a b`*x2*1.4)"],
        ),
        (
            ["decay_1(x1)*x2", "decay_2(x2**2)"],
            "2*x2*exp(-0.4*x1) + exp(-0.7*x2**2)",
            ["exp(-0.4*x1)*x2", "exp(-0.7*x2**2)"],
        ),
        (
            ["wave_1(x2)", "x1", "decay_3(x1)"],
            "3*cos(2.7*x2 + 0.4) - x1 + 2*exp(-1.3*x1)",
            ["cos(2.7*x2 + 0.4)", "x1", "exp(-1.3*x1)"],
        ),
        (["decay_1(shifted(x1))"], "2*exp(-0.4/(x1 + 0.3))", ["exp(-0.4*(1/(x1 + 0.3)))"]),
        (["decay_1(x1) - decay_1(x1)*x2"], "exp(-0.4*x1) - exp(-2*x1)*x2", ["exp(-0.4*x1) - exp(-2*x1)*x2"]),
    ],
)
def test_the_constants_of_an_exact_formula_are_found(fit, columns, terms, truth, shapes):
    fitted, share = fit(terms, truth)
    assert share < 1e-20
    for term, shape in zip(fitted, shapes, strict=True):
        expected = parse_expression(shape)
        np.testing.assert_allclose(numbers_in(term), numbers_in(expected), rtol=1e-6)
        assert shape_of(term) == shape_of(expected)
        assert parse_expression(to_text(term)) == term
        np.testing.assert_array_equal(
            evaluate_expression(parse_expression(to_text(term)), columns), evaluate_expression(term, columns)
        )


@pytest.mark.parametrize("start", ["decay_1", "decay_2", "decay_3"])
def test_noise_is_fitted_as_well_as_a_fine_grid_of_the_constant_fits_it(fit, columns, rng, start):
    target = 3 * np.exp(-0.7 * columns["x1"]) + columns["x2"] + rng.normal(0, 0.2, 150)
    (term, _), share = fit([f"{start}(x1)", "x2"], target)
    (slope,) = numbers_in(term)
    grid = np.linspace(-3, -0.01, 1000)
    shares = [unexplained([np.exp(a * columns["x1"]), columns["x2"]], target) for a in grid]
    assert share <= min(shares)
    assert share == pytest.approx(min(shares), rel=1e-4)
    assert abs(slope - grid[np.argmin(shares)]) < 0.004
    # the vertex of the parabola through three neighbours: the answer is the minimum itself, not near it
    below, here, above = (
        unexplained([np.exp((slope + step) * columns["x1"]), columns["x2"]], target)
        for step in (-1e-4, 0, 1e-4)
    )
    assert abs(0.5e-4 * (below - above) / (below - 2 * here + above)) < 1e-7


def test_terms_without_parameters_come_back_as_they_are(columns, rng):
    target = columns["x1"] + rng.normal(size=150)
    terms = [parse_expression("x1"), parse_expression("x2*sin(x1)")]
    fitted, share = fit_constants(terms, columns, target)
    assert all(one is other for one, other in zip(fitted, terms, strict=True))
    assert share == pytest.approx(
        unexplained([evaluate_expression(term, columns) for term in terms], target), rel=1e-12
    )


@pytest.mark.slow
def test_the_same_is_found_on_every_call_and_whatever_the_start_is_called(fit, columns, rng):
    target = np.exp(-0.7 * columns["x1"]) + rng.normal(0, 0.1, 150)
    answers = [fit([f"decay_{n}(x1)", f"bell_{n}(x2)"], target) for n in (1, 1, 2, 3)]
    assert len({(tuple(map(to_text, terms)), share) for terms, share in answers}) == 1


@pytest.mark.parametrize("noise", [0, 0.01, 1])
def test_constants_that_the_data_do_not_tell_stay(fit, columns, rng, noise):
    target = 5 * np.exp(-0.3 * columns["x1"]) + rng.normal(0, noise, 150)
    (term,), share = fit(["scaled(x1)"], target)
    (alone,), least = fit(["decay_2(x1)"], target)
    assert numbers_in(term) == pytest.approx([7, *numbers_in(alone)], rel=1e-4)
    assert share == pytest.approx(least, rel=1e-9, abs=1e-20)


def test_constants_that_only_stand_for_one_another_do_not_run_away(fit, columns, rng):
    # 1/(c + d*x) is 1/d · 1/(c/d + x): only c/d can be told
    target = 1 / (columns["x1"] + 2.5) + rng.normal(0, 0.01, 150)
    (term,), _ = fit(["ratio(x1)"], target)
    first, second = numbers_in(term)
    (alone,), _ = fit(["shifted(x1)"], target)
    assert first / second == pytest.approx(numbers_in(alone)[0], rel=1e-6)
    assert 0.1 < second < 10


def test_the_search_stays_where_the_terms_are_defined():
    # from b = 0.6 and 5 downhill the minimum would lie beyond the edge −min(x) of the domain
    inputs = {"x": np.linspace(-0.5, 4, 60)}
    target = np.log(inputs["x"] + 0.5 + 1e-3)
    (operator,) = define_family("late", *DEFINITIONS["late"], OPERATORS)[:1]
    (term,), share = fit_constants([Call(operator, (parse_expression("x"),))], inputs, target)
    assert np.isfinite(evaluate_expression(term, inputs)).all()
    assert numbers_in(term) == [pytest.approx(0.501, rel=1e-6)]
    assert share < 1e-15


def test_an_answer_beside_the_edge_of_the_domain_is_reached():
    inputs = {"x": np.linspace(0, 4, 60)}
    operator = define_family("root", "sqrt(x + b)", {"b": [1]}, OPERATORS)[0]
    (term,), share = fit_constants(
        [Call(operator, (parse_expression("x"),))], inputs, np.sqrt(inputs["x"] + 1e-9)
    )
    assert 0 <= numbers_in(term)[0] < 1e-6
    assert share < 1e-9


def test_starts_outside_the_domain_are_passed_over():
    inputs = {"x": np.linspace(2, 4, 60)}
    operator = define_family("root", "sqrt(x - b)", {"b": [3, 9, 1]}, OPERATORS)[1]
    (term,), share = fit_constants(
        [Call(operator, (parse_expression("x"),))], inputs, np.sqrt(inputs["x"] - 1.75)
    )
    assert numbers_in(term) == [pytest.approx(1.75, rel=1e-6)]
    assert share < 1e-15


@pytest.mark.parametrize(
    ("terms", "texts"),
    [
        (["never_2(x1)"], ["sqrt(x1 - 200)"]),
        (["never_1(x1)", "decay_3(x1)"], ["sqrt(x1 - 100)", "exp(-10*x1)"]),
        (["decay_2(x1)", "log(x2)"], ["exp(-1*x1)", "log(x2)"]),
        (["scaled(x1)", "2*scaled(x1 - x1)"], ["7*exp(-1*x1)", "2*(7*exp(-1*(x1 - x1)))"]),
        (["x1", "2*x1", "shifted(x1)"], ["x1", "2*x1", "1/(x1 + 1)"]),
        (["decay_3(x1) - bell_2(sqrt(x2))"], ["exp(-10*x1) - exp(-((sqrt(x2) + 1)/2)**2)"]),
        (["log(x2)"], ["log(x2)"]),
        (["x1", "3 - x1"], ["x1", "3 - x1"]),
    ],
)
def test_a_model_that_cannot_be_fitted_leaves_infinitely_much(fit, columns, terms, texts):
    fitted, share = fit(terms, columns["x1"] + columns["x2"])
    assert share == np.inf
    assert list(map(to_text, fitted)) == texts


def test_a_definition_that_calls_an_operator_with_parameters_is_written_out(columns):
    (inner,) = define_family("inner", "sin(c*x)", {"c": [-3]}, OPERATORS)
    (outer,) = define_family("outer", "inner(x) - k*y", {"k": [-2]}, {**OPERATORS, "inner": inner})
    fixed = define_operator("fixed", "inner(x)", {**OPERATORS, "inner": inner})
    everything = {"outer": outer, "fixed": fixed}
    target = evaluate_expression(parse_expression("sin(-3*x1) + 0.25*x2 + 3"), columns)
    (term,), share = fit_constants([parse_expression("outer(x1, x2)", everything)], columns, target)
    assert share < 1e-20
    assert shape_of(term) == shape_of(parse_expression("sin(-3*x1) + 0.25*x2"))
    assert numbers_in(term) == [-3, pytest.approx(0.25)]
    assert count_constants(term) == count_constants(parse_expression("fixed(x1)", everything)) == 0


@pytest.mark.parametrize(
    ("formula", "value", "text"),
    [
        ("exp(-a*x)", -2, "exp(2*x)"),
        ("-a + x", 2.5, "-2.5 + x"),
        ("x - a", -0.5, "x + 0.5"),
        ("x + a*x**2", -0.5, "x - 0.5*x**2"),
        ("x + a/x", -0.5, "x - 0.5/x"),
        ("-(a*x)", -0.5, "0.5*x"),
        ("-(a*x)", 0.5, "-(0.5*x)"),
        ("x*a", -0.5, "x*(-0.5)"),
        ("x**a", 2.0, "x**(2)"),
        ("abs(x + a)", -1.5, "abs((x - 1.5))"),
        ("a/x + 0*x", 1, "(1)/x + 0*x"),
        ("a*pi*x", 1, "1*pi*x"),
        ("x + a", 0.0, "x + 0"),
        ("x*a + x**2", 1e300, "x*1e+300 + x**2"),
    ],
)
def test_formulas_are_written_out_without_needless_signs(columns, formula, value, text):
    # two terms in one input: no fit is possible, so the values stay as given
    (operator,) = define_family("f", formula, {"a": [value]}, OPERATORS)
    (term, _), share = fit_constants(
        [parse_expression("f(x)", {"f": operator}), parse_expression("1 + 0*x", OPERATORS)],
        {"x": columns["x1"]},
        columns["x2"],
    )
    assert (to_text(term), share) == (text, np.inf)
    assert parse_expression(text) == term
    np.testing.assert_allclose(
        evaluate_expression(term, {"x": columns["x1"]}),
        evaluate_expression(parse_expression("f(x)", {"f": operator}), {"x": columns["x1"]}),
        rtol=1e-15,
    )


def test_each_occurrence_has_constants_of_its_own(operators):
    assert count_constants(parse_expression("x + sin(y)")) == 0
    assert count_constants(parse_expression("decay_1(decay_2(x))*hill_1(x + wave_3(y))", operators)) == 6


def test_of_too_many_starts_some_are_looked_at_the_operators_own_among_them(operators):
    families = [operators[name].family for name in ("decay_2", "hill_3", "bell_2", "wave_8", "decay_1")]
    starts = _combine_starts(families)
    assert starts.shape == (_MAX_STARTS, 8)
    assert starts[0].tolist() == [value for family in families for value in family.values]
    assert len(np.unique(starts, axis=0)) > 0.7 * _MAX_STARTS
    place = 0
    for family in families:
        width = len(family.parameters)
        assert set(map(tuple, starts[:, place : place + width].tolist())) == set(family.start_values)
        place += width
    every = _combine_starts(families[:2])
    assert len(np.unique(every, axis=0)) == len(every) == 3 * 4


def test_a_wrong_target_or_column_is_told(fit, columns):
    with pytest.raises(
        DataError, match=r"^the target is constant, so no constants can be fitted to it; choose"
    ):
        fit(["decay_1(x1)"], np.full(150, 2.0))
    with pytest.raises(FormulaError, match=r"^there is no column 'x9'; known: x1, x2, a b"):
        fit(["decay_1(x9)"], columns["x1"])


def test_a_column_whose_length_overflows_makes_no_model():
    x = np.linspace(1.0, 9.0, 40)
    terms, share = fit_constants([parse_expression("x1*x1")], {"x1": 1e154 * x}, x)
    assert (list(map(str, terms)), share) == (["x1*x1"], np.inf)
    assert fit_constants([parse_expression("x1*x1")], {"x1": 1e149 * x}, x)[1] < 0.1
