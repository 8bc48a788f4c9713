from __future__ import annotations

import numpy as np
import pytest
import sympy
from helpers.strategies import BINARY, expressions, put_in
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import FormulaError, GrammarError
from symscreen.expressions.printing import to_text
from symscreen.expressions.sympy_conversion import to_sympy
from symscreen.expressions.traversal import collect_columns, compute_key, evaluate_expression
from symscreen.expressions.tree import Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import (
    compose_form,
    define_family,
    define_operator,
    get_operator,
    make_finite_numeric,
    replace_infinities,
    to_plain_number,
)
from symscreen.grammar.operator import find_operators_by_name

X, Y = Column("x"), Column("y")
of_x = expressions(st.just("x")).map(lambda tree: apply_operator(OPERATORS["add"], X, tree))
ROWS = {"x": np.array([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]), "y": np.array([1.0, 0.0, 0.0, -0.75, 2.0, 0.5])}


def define(formula, name="f", **options):
    return define_operator(name, formula, OPERATORS, **options)


def numeric(operator, *arguments):
    with np.errstate(all="ignore"):
        return operator.numeric(*map(np.array, arguments))


@settings(max_examples=100, deadline=None)
@given(
    tree=st.builds(
        apply_operator, st.sampled_from(BINARY), expressions(st.sampled_from(["x", "y"])), st.just(X)
    )
)
def test_an_operator_is_the_formula_that_defines_it(tree):
    operator = define(to_text(tree))
    assert operator.arity == len(collect_columns(tree))
    applied = apply_operator(operator, *(X, Y)[: operator.arity])
    np.testing.assert_array_equal(evaluate_expression(applied, ROWS), evaluate_expression(tree, ROWS))
    assert compute_key(applied) == compute_key(tree)


@settings(max_examples=100, deadline=None)
@given(outer=st.sampled_from(BINARY), left=of_x, right=of_x, alike=st.booleans())
def test_what_is_called_commutative_is(outer, left, right, alike):
    tree = apply_operator(outer, left, put_in(left if alike else right, {"x": Y}))
    turned = put_in(tree, {"x": Y, "y": X})
    assert define(to_text(tree)).commutative == (compute_key(turned) == compute_key(tree))


@pytest.mark.parametrize(
    ("formula", "x", "expected"),
    [
        ("1/(1/x)", [0.0, 2.0], [np.nan, 2.0]),
        ("x/x", [0.0, 2.0], [np.nan, 1.0]),
        ("exp(-exp(x))", [1000.0, 0.0], [np.nan, np.exp(-1.0)]),
        ("log(x)**0", [-1.0, 2.0], [np.nan, 1.0]),
        ("min(1/x, 1)", [0.0, 4.0], [np.nan, 0.25]),
        ("sqrt(x)**2", [-1.0, 4.0], [np.nan, 4.0]),
        ("sin(pi*x)", [0.5, -0.5], [1.0, -1.0]),
        ("2 + 0*x", [7.0, 8.0], [2.0, 2.0]),
    ],
)
def test_a_domain_hidden_inside_is_kept(formula, x, expected):
    np.testing.assert_allclose(numeric(define(formula), x), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("formula", "commutative"),
    [
        ("x*y/(x + y)", True),
        ("(x - y)**2", True),
        ("abs(x - y)/max(x, y)", True),
        ("cos(x - y)", True),
        ("sin(x - y)", False),
        ("x - y", False),
        ("x**y", False),
        ("x*sin(y)", False),
        ("x + 0*y", False),
        ("x**2", False),
    ],
)
def test_commutativity_is_found(formula, commutative):
    assert define(formula).commutative == commutative


@pytest.mark.parametrize(
    ("formula", "cost", "steps"),
    [("x", 0, 0), ("id(x)", 0, 1), ("exp(-x**2)", 3, 3), ("x*y/(x + y)", 3, 3), ("2*x + 1", 2, 2)],
)
def test_the_cost_is_the_sum_of_those_inside_unless_given(formula, cost, steps):
    assert (define(formula).cost, define(formula).n_primitives) == (cost, steps)
    assert define(formula, cost=7).cost == 7


def test_definitions_may_call_one_another():
    first = define("x*y", "first", cost=5)
    second = define_operator("second", "first(x, first(x, 2))", {**OPERATORS, "first": first})
    assert numeric(second, [3.0]).tolist() == [18.0]
    assert (second.arity, second.cost, second.n_primitives) == (1, 10, 2)


def test_sympy_sees_through_a_definition():
    x, y = sympy.symbols("x y")
    assert define("sin(pi*x)/2").symbolic(x) == sympy.sin(sympy.pi * x) / 2
    assert define("x*y/(x + y)").symbolic(y, x) == x * y / (x + y)
    harmonic = define("x*y/(x + y)", "harmonic")
    tree = parse_expression("harmonic(`a b`, 2)", {"harmonic": harmonic})
    assert to_sympy(tree) == 2 * sympy.Symbol("a b") / (sympy.Symbol("a b") + 2)


def test_numbers_inside_are_broadcast_over_blocks():
    operator = define("max(1, x) + y/2")
    block = numeric(operator, [[0.0, 2.0], [3.0, -4.0]], [[2.0, 2.0], [4.0, 4.0]])
    assert block.tolist() == [[2.0, 3.0], [5.0, 3.0]]
    keys = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint64)
    assert operator.compute_fingerprint(keys, keys).shape == (3, 2)


@pytest.mark.parametrize(
    ("formula", "error", "message"),
    [
        ("x + z", GrammarError, "'f' is defined with 'z'; the arguments are called x and y"),
        ("x + `a b`", GrammarError, "'f' is defined with 'a b'; the arguments are called x and y"),
        ("y + 1", GrammarError, "'f' is defined without its argument x"),
        ("1 + 2", GrammarError, "'f' is defined without its argument x"),
        ("sine(x)", GrammarError, "there is no operator 'sine'; did you mean 'sin' or 'sinh' or 'sign'?"),
        ("f(x)", GrammarError, "there is no operator 'f'; known: id, neg, abs"),
        ("sin(x, y)", GrammarError, "the operator 'sin' takes one argument, 2 given"),
        ("pow(x)", GrammarError, "the operator 'pow' takes two arguments, 1 given"),
        (
            "x +",
            FormulaError,
            "formula 'x +', character 4: expected a column, a number or an operator's name",
        ),
        ("", FormulaError, "formula '', character 1: expected a column, a number or an operator's name"),
        (
            "+".join(["x*x"] * 101),
            GrammarError,
            "'f' consists of 201 built-in operators; at most 200 are allowed",
        ),
    ],
)
def test_errors_say_what_is_wrong(formula, error, message):
    with pytest.raises(error) as caught:
        define(formula)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


def test_definitions_that_double_one_another_are_refused_before_they_explode():
    operators = dict(OPERATORS)
    operators["f0"] = define("x + y*x", "f0")
    for n in range(1, 7):
        operators[f"f{n}"] = define_operator(f"f{n}", f"f{n - 1}(x, y) + f{n - 1}(y, x)", operators)
    with pytest.raises(GrammarError) as caught:
        define_operator("f7", "f6(x, y) + f6(y, x)", operators)
    assert str(caught.value) == "'f7' consists of 383 built-in operators; at most 200 are allowed"


def test_the_largest_definition_is_computed():
    formula = "x"
    for _ in range(149):
        formula = f"sin({formula})"
    deep = define(formula, "deep")
    deeper = define_operator("deeper", "deep(" + "cos(" * 51 + "x" + ")" * 52, {**OPERATORS, "deep": deep})
    assert deeper.n_primitives == 200
    assert np.isfinite(numeric(deeper, [1.0])).all()
    assert deeper.symbolic(sympy.Symbol("x")).free_symbols == {sympy.Symbol("x")}


def test_looking_up_gives_the_operator_itself():
    assert get_operator("sin", 1, OPERATORS) is OPERATORS["sin"]


def test_only_infinities_become_nan():
    values = replace_infinities(np.array([1.0, np.inf, -np.inf, np.nan, -0.0, 1e308]))
    np.testing.assert_array_equal(values, [1.0, np.nan, np.nan, np.nan, -0.0, 1e308])


FORMULAS = ["exp(-a*x)", "1/(x + a)", "x - a - b*x", "x**a + b", "-a**2*x", "a**x/`b`", "x ** ( a ) - b",
            "(a - x)/(b - y)", "a*sin(b*(x - y)) + pi*a", "x**-a"]  # fmt: skip
starts = st.one_of(st.integers(-9, 9), st.floats(-50, 50).map(lambda value: round(value, 3)))


def family(formula, **parameters):
    return define_family("f", formula, parameters, OPERATORS)


@settings(max_examples=200, deadline=None)
@given(formula=st.sampled_from(FORMULAS), a=starts, b=starts)
def test_an_operator_with_parameters_is_its_formula_with_their_values(formula, a, b):
    (operator,) = family(formula, a=[a], **({"b": [b]} if "b" in formula else {}))
    applied = apply_operator(operator, *(X, Y)[: operator.arity])
    filled = {**ROWS, "a": np.full(6, float(a)), "b": np.full(6, float(b))}
    expected = evaluate_expression(parse_expression(formula), filled)
    np.testing.assert_allclose(evaluate_expression(applied, ROWS), expected, rtol=1e-14)
    np.testing.assert_allclose(
        evaluate_expression(parse_expression(operator.summary), ROWS), expected, rtol=1e-14
    )
    numbers = {"a": Constant(to_plain_number(a)), "b": Constant(to_plain_number(b))}
    assert compute_key(applied) == compute_key(put_in(parse_expression(formula), {"x": X, "y": Y, **numbers}))
    assert compute_key(applied) == compute_key(parse_expression(operator.summary))


@pytest.mark.parametrize(
    ("formula", "parameters", "expected"),
    [
        ("exp(-a*x)", {"a": [0.1, 1e-7]}, {"f_1": "exp(-0.1*x)", "f_2": "exp(-1e-07*x)"}),
        ("1/(x + b)", {"b": [2.0]}, {"f": "1/(x + 2)"}),
        ("x**n - n", {"n": [2, -3]}, {"f_1": "x**(2) - 2", "f_2": "x**(-3) - (-3)"}),
        (
            "max(`lag_1`, x) + `x`*exponent",
            {"exponent": [0, 1], "lag_1": [5, 6]},
            {
                "f_1": "max(5, x) + `x`*0",
                "f_2": "max(6, x) + `x`*0",
                "f_3": "max(5, x) + `x`*1",
                "f_4": "max(6, x) + `x`*1",
            },
        ),
    ],
)  # fmt: skip
def test_a_family_has_one_operator_for_each_combination_of_starts(formula, parameters, expected):
    members = family(formula, **parameters)
    assert {operator.name: operator.summary for operator in members} == expected
    assert {operator.family.name for operator in members} == {"f"}
    assert [operator.family.values for operator in members] == list(members[0].family.start_values)
    assert members[0].family.parameters == tuple(parameters)
    assert len(set(members)) == len(members)


def test_a_value_makes_an_operator_commutative_or_not():
    assert [operator.commutative for operator in family("x + a*y", a=[1, 2])] == [True, False]


def test_sympy_sees_the_values():
    x = sympy.Symbol("x")
    assert [one.symbolic(x) for one in family("x**n/2", n=[3, 2.5])] == [
        x**3 / 2,
        x ** sympy.Float(2.5, 17) / 2,
    ]


def test_a_family_costs_what_its_formula_costs():
    first, second = family("exp(-a*x)", a=[1, 2])
    assert (first.cost, first.n_primitives) == (second.cost, second.n_primitives) == (3, 3)
    assert define_family("f", "exp(-a*x)", {"a": [1]}, OPERATORS, cost=9)[0].cost == 9


def test_a_family_is_written_out_for_any_values():
    (operator,) = family("sin(x - a)/y + pi*b", b=[1], a=[2])
    whole = compose_form(operator.family, make_finite_numeric, np.float64)
    assert whole(1.0, 2.0, 3.0, 0.5) == np.sin(0.5) / 2 + np.pi * 3
    assert np.isnan(whole(np.nan, 2.0, 3.0, 0.5))


def test_a_definition_may_call_one_start_of_a_family():
    members = {operator.name: operator for operator in family("exp(-a*x)", a=[1, 2])}
    wave = define_operator("wave", "sin(f_2(x))", {**OPERATORS, **members})
    assert numeric(wave, [0.5]).tolist() == [np.sin(np.exp(-1.0))]
    assert wave.family is None
    with pytest.raises(GrammarError) as caught:
        define_operator("wave", "sin(f(x))", {**OPERATORS, **members})
    assert str(caught.value) == (
        "'f' has parameters to be fitted; in a formula write an operator with starting values: "
        "f_1 is exp(-1*x)"
    )


def test_a_name_means_an_operator_or_all_of_a_family():
    members = {operator.name: operator for operator in family("exp(-a*x)", a=[1, 2])}
    everything = {**OPERATORS, **members}
    assert find_operators_by_name("f", everything) == tuple(members.values())
    assert find_operators_by_name("f_2", everything) == (members["f_2"],)
    assert find_operators_by_name("sin", everything) == (OPERATORS["sin"],)
    assert find_operators_by_name("g", everything) == ()


@pytest.mark.parametrize(
    ("formula", "parameters", "message"),
    [
        ("exp(-a*x)", {}, "'f' has 0 parameters; give 1 to 9"),
        ("x", {f"p{n}": [1] for n in range(10)}, "'f' has 10 parameters; give 1 to 9"),
        ("exp(-a*x)", {"a": [1], "b": [1]}, "'f' has a parameter 'b' that its formula does not contain"),
        ("sin(x)", {"a": [1]}, "'f' has a parameter 'a' that its formula does not contain"),
        ("a*b*x", {"a": [1]}, "'f' is defined with 'b'; the arguments are called x and y, and"),
        ("a + 1", {"a": [1]}, "'f' is defined without its argument x"),
        ("x + y", {"y": [1]}, "'f' cannot have a parameter called 'y'; use a plain identifier such as a, "),
        ("x + pi", {"pi": [1]}, "'f' cannot have a parameter called 'pi'; "),
        ("x + sin", {"sin": [1]}, "'f' cannot have a parameter called 'sin'; "),
        ("x + f", {"f": [1]}, "'f' cannot have a parameter called 'f'; "),
        ("x + `a b`", {"a b": [1]}, "'f' cannot have a parameter called 'a b'; "),
        ("a*x", {"a": []}, "'f' has no starting value for 'a'; give a number or a list"),
        ("a*x", {"a": [1, float("nan")]}, "'f' starts 'a' at a number that is not finite, or larger than"),
        ("a*x", {"a": [-float("inf")]}, "'f' starts 'a' at a number that is not finite"),
        ("a*x", {"a": [10**400]}, "'f' starts 'a' at a number that is not finite, or larger than"),
        ("a*x", {"a": [1, 2, 1.0]}, "'f' starts 'a' at 1 twice"),
        ("a*x", {"a": range(28)}, "'f' has 28 combinations of starting values; at most 27 are allowed"),
        ("a*x + b", {"a": range(4), "b": range(7)}, "'f' has 28 combinations of starting values; at most"),
        ("a*x + sine(x)", {"a": [1]}, "there is no operator 'sine'; did you mean 'sin'"),
    ],
)  # fmt: skip
def test_errors_of_families_say_what_is_wrong(formula, parameters, message):
    with pytest.raises(GrammarError) as caught:
        family(formula, **parameters)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1


def test_a_family_takes_no_name_that_is_taken():
    taken = {**OPERATORS, "f_2": define("x", "f_2")}
    with pytest.raises(
        GrammarError, match="'f' defines an operator 'f_2', a name that is in use; choose another"
    ):
        define_family("f", "a*x", {"a": [1, 2]}, taken)
    assert [one.name for one in define_family("f", "a*x", {"a": [1]}, taken)] == ["f"]
    assert len(family("a*x*b*c", a=range(3), b=range(3), c=range(3))) == 27
