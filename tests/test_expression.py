from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy
from helpers.strategies import expressions, names, put_in
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symscreen.errors import FormulaError
from symscreen.expressions.printing import to_text
from symscreen.expressions.sympy_conversion import to_sympy
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
    iterate_postorder,
)
from symscreen.expressions.tree import (
    Call,
    Column,
    Constant,
    apply_operator,
    parse_expression,
    parse_printed_expression,
)
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator, replace_infinities

quick = settings(max_examples=100, deadline=None)
over_xyz = expressions(st.sampled_from(["x", "y", "z"]))


def parts_of(expression):
    """Yield an expression and everything inside it."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from parts_of(argument)


def applied(left, right=None):
    """Apply every operator to all of some expressions, the binary ones from both sides."""
    for operator in OPERATORS.values():
        if operator.arity == 1:
            yield from (apply_operator(operator, one) for one in left)
        else:
            for one, other in itertools.product(left, right or left):
                yield apply_operator(operator, one, other)
                yield apply_operator(operator, other, one)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(expression=expressions())
def test_every_tree_comes_back_from_its_text(expression):
    assert parse_expression(to_text(expression)) == expression
    assert str(expression) == to_text(expression)


@pytest.mark.slow
def test_every_operator_inside_every_operator_comes_back_from_its_text():
    leaves = [Column("x"), *map(Constant, (-2, -1, 0, 1, 2, 0.5, -0.5))]
    inner = [*leaves, *applied(leaves, leaves[:1])]
    for tree in (*applied(leaves), *applied(inner, leaves[:1])):
        assert parse_expression(to_text(tree)) == tree


@pytest.mark.parametrize(
    "text",
    [
        "x1 - cos(x2)/x1",
        "-(2)",
        "(-2)**y",
        "-2*x",
        "x - (-2)",
        "x**(2)",
        "(1)/x",
        "1/(x*y)",
        "-(1/x)",
        "x*(1/y)",
        "x - (y - z)",
        "x - y - z",
        "x**y**z",
        "(x**y)**z",
        "abs((x - y))",
        "abs(x - y)",
        "sin(x - y)",
        "max(x, y - z)",
        "2*`a b` + `sin`",
        "2.718281828459045",
        "1e-300",
        "pi",
        "-pi",
        "2*pi*x",
        "-pi*x/2",
        "x**pi",
        "1/pi - `pi`",
    ],
)
def test_text_has_no_parentheses_but_those_it_needs(text):
    assert to_text(parse_expression(text)) == text


def test_numbers_of_numpy_print_as_numbers():
    assert to_text(Constant(np.float64(0.5))) == "0.5"


def test_id_gives_its_argument_back():
    assert parse_expression("id(x)") == Column("x")
    assert apply_operator(OPERATORS["id"], Column("x")) == Column("x")


def test_pi_is_the_number_unless_there_is_such_a_column():
    assert parse_expression("pi") == Constant(np.pi)
    assert parse_expression("pi", column_names=["x"]) == Constant(np.pi)
    assert parse_expression("pi", column_names=["pi"]) == Column("pi")
    assert parse_expression("`pi`") == Column("pi")


def test_the_double_nearest_to_pi_is_printed_by_name():
    assert to_text(parse_expression("3.141592653589793*x")) == "pi*x"
    assert to_text(parse_expression("3.14159*x - 3.1415926535897927")) == "3.14159*x - 3.1415926535897927"


@pytest.mark.parametrize(
    ("text", "columns"),
    [("pi*x", {"x"}), ("pi*`pi`", {"pi"}), ("-pi + `pi`", {"pi"}), ("sin(pi)/x", {"x"})],
)
def test_a_printed_formula_with_pi_is_parsed_back_even_where_a_column_is_called_pi(text, columns):
    expression = parse_printed_expression(text, OPERATORS, ["pi", "x"])
    assert to_text(expression) == text
    assert collect_columns(expression) == columns
    assert Constant(np.pi) in iterate_postorder(expression)
    with pytest.raises(FormulaError, match="there is no column 'pi'"):
        parse_printed_expression("pi + `pi`", OPERATORS, ["x"])


def test_a_column_named_like_an_operator_is_a_column_where_it_is_not_called():
    sine = parse_expression("sin(sin)", column_names=["sin"])
    assert sine == Call(OPERATORS["sin"], (Column("sin"),))
    assert to_text(sine) == "sin(`sin`)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sine(x)", "there is no operator 'sine'; did you mean 'sin' or 'sinh' or 'sign'?"),
        ("sin(x, y)", "the operator 'sin' takes one argument, 2 given"),
        ("add(x)", "the operator 'add' takes two arguments, 1 given"),
        ("max(x, y, x)", "the operator 'max' takes two arguments, 3 given"),
        ("x + lenght", "there is no column 'lenght'; did you mean 'length'?"),
        ("x + `pi`", "there is no column 'pi'; known: x, y, length"),
        (
            "x +",
            "formula 'x +', character 4: expected a column, a number or an operator's name, found the end",
        ),
    ],
)
def test_errors_name_what_is_unknown_and_what_is_near(text, message):
    with pytest.raises(FormulaError) as caught:
        parse_expression(text, column_names=["x", "y", "length"])
    assert str(caught.value) == message


def test_only_the_operators_given_may_be_called():
    few = {"sin": OPERATORS["sin"]}
    assert parse_expression("sin(x)", few) == parse_expression("sin(x)")
    with pytest.raises(FormulaError) as caught:
        parse_expression("x + y", few)
    assert str(caught.value) == "there is no operator 'add'; known: sin"


def test_an_operator_of_ones_own_prints_as_a_call():
    gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    operators = {**OPERATORS, "gauss": gauss}
    tree = parse_expression("1 - gauss(x - y)", operators)
    assert to_text(tree) == "1 - gauss(x - y)"
    assert compute_complexity(tree) == 1 + 1 + 3 + 1 + 1 + 1


ROWS = {
    "x": np.array([-2.5, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0, np.nan, 1e200]),
    "y": np.array([1.0, -1.0, 0.0, 0.0, 2.0, 0.5, -3.0, 1.0, 1e200]),
    "z": np.array([0.1, 0.2, np.inf, 0.4, 0.5, -0.6, 0.7, 0.8, -1e200]),
}


def test_values_are_those_of_the_formula():
    x, y = np.array([0.5, 2.0, 3.0]), np.array([1.0, -2.0, 0.25])
    values = evaluate_expression(
        parse_expression("x - cos(`a b`)/x**2 + 3*abs(x - `a b`)**0.5"), {"x": x, "a b": y}
    )
    np.testing.assert_allclose(values, x - np.cos(y) / x**2 + 3 * np.abs(x - y) ** 0.5, rtol=1e-15)


@quick
@given(expression=over_xyz)
def test_values_are_finite_or_nan_and_nan_wherever_a_part_is(expression):
    values = evaluate_expression(expression, ROWS)
    assert values.shape == (9,)
    assert values.dtype == np.float64
    assert not np.isinf(values).any()
    undefined = [np.isnan(evaluate_expression(part, ROWS)) for part in parts_of(expression)]
    np.testing.assert_array_equal(np.isnan(values), np.any(undefined, axis=0))
    if isinstance(expression, Call):
        with np.errstate(all="ignore"):
            outermost = expression.operator.numeric(
                *(evaluate_expression(part, ROWS) for part in expression.arguments)
            )
        np.testing.assert_array_equal(values, replace_infinities(outermost))


@pytest.mark.parametrize(
    "text", ["1/(1/x)", "(1/x)**0", "1**log(x)", "x*0/x", "exp(-exp(1/x))", "min(1/x, 1)"]
)
def test_nothing_is_protected_where_a_part_is_undefined(text):
    assert np.isnan(evaluate_expression(parse_expression(text), {"x": np.array([0.0])})).all()


def test_infinite_inputs_are_undefined():
    assert np.isnan(evaluate_expression(Column("x"), {"x": np.array([np.inf, -np.inf, np.nan])})).all()


def test_whole_columns_are_taken_as_floats():
    assert evaluate_expression(parse_expression("x**2/4"), {"x": np.array([1, 2])}).tolist() == [0.25, 1.0]
    assert evaluate_expression(parse_expression("2"), {"x": np.array([1, 2])}).tolist() == [2.0, 2.0]


def test_a_missing_column_is_named():
    with pytest.raises(FormulaError) as caught:
        evaluate_expression(parse_expression("length + x"), {"lenght": np.zeros(2), "x": np.zeros(2)})
    assert str(caught.value) == "there is no column 'length'; did you mean 'lenght'?"


@quick
@given(expression=expressions())
def test_complexity_counts_leaves_and_costs_and_columns_are_those_inside(expression):
    parts = list(parts_of(expression))
    leaves = sum(not isinstance(part, Call) for part in parts)
    assert compute_complexity(expression) == leaves + sum(
        part.operator.cost for part in parts if isinstance(part, Call)
    )
    assert collect_columns(expression) == {part.name for part in parts if isinstance(part, Column)}


@quick
@given(expression=expressions())
def test_the_key_is_that_of_the_text_and_a_tree_without_columns_is_a_constant(expression):
    first, second = compute_key(expression)
    assert compute_key(parse_expression(to_text(expression))) == (first, second)
    if not collect_columns(expression):
        assert first == second


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a + b", "b + a"),
        ("(a + b) + c", "a + (b + c)"),
        ("a - b", "-(b - a)"),
        ("a*(b + c)", "a*b + a*c"),
        ("a*b", "b*a"),
        ("(a + b)*(a - b)", "a**2 - b**2"),
        ("a**3", "a*a*a"),
        ("a**(2)", "a**2"),
        ("a**0.5", "sqrt(a)"),
        ("a**(1/2)", "sqrt(a)"),
        ("a**(b + c - c)", "a**b"),
        ("0.1*a + 0.2*a", "0.3*a"),
        ("a/10", "0.1*a"),
        ("sin(-a)", "-sin(a)"),
        ("cos(a - b)", "cos(b - a)"),
        ("abs(a - b)", "abs((b - a))"),
        ("tan(a)", "sin(a)/cos(a)"),
        ("max(a, b)", "max(b, a)"),
        ("exp(a + b)", "exp(b + a)"),
        ("log(2*a)", "log(a + a)"),
    ],
)
@settings(max_examples=10, deadline=None)
@given(a=over_xyz, b=over_xyz, c=over_xyz)
def test_keys_know_that_these_are_equal_whatever_stands_in_them(one, other, a, b, c):
    parts = {"a": a, "b": b, "c": c}
    assert compute_key(put_in(parse_expression(one), parts)) == compute_key(
        put_in(parse_expression(other), parts)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a/(a*b)", "1/b"),
        ("a/a", "1"),
        ("1/(1/a)", "a"),
        ("a**(-1)", "1/a"),
        ("a**(-2)*a**5", "a**3"),
        ("tan(a)*cos(a)", "sin(a)"),
    ],
)
@settings(max_examples=10, deadline=None)
@given(a=over_xyz, b=over_xyz)
def test_keys_know_that_these_are_equal_where_no_denominator_is_zero(one, other, a, b):
    parts = {"a": a, "b": b}
    assume(0 not in compute_key(a) + compute_key(b))
    assert compute_key(put_in(parse_expression(one), parts)) == compute_key(
        put_in(parse_expression(other), parts)
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["x", "y", "X", "`x `", "-x", "1/x", "x**2", "x + 1", "2*x", "0*x"],
        [
            "sin(x)",
            "cos(x)",
            "tan(x)",
            "sinh(x)",
            "asin(x)",
            "exp(x)",
            "log(x)",
            "abs(x)",
            "cbrt(x)",
            "sign(x)",
        ],
        ["sqrt(x**2)", "x", "abs(x)"],
        ["x**y", "y**x", "x**(-y)"],
        ["min(x, y)", "max(x, y)", "abs(x - y)", "x - y"],
        ["x*2**30", "x*2**31", "x*2**60", "x*2**61", "x", "x/2", "x/2**30", "x*2**44", "x/131072"],
        ["x*2305843009213693951", "x*1e15", "0*x", "x"],
    ],
)
def test_keys_tell_these_apart(texts):
    assert len({compute_key(parse_expression(text)) for text in texts}) == len(texts)


@pytest.mark.slow
def test_keys_are_equal_exactly_where_sympy_cancels_the_difference():
    draw = np.random.default_rng(5)
    operators = [OPERATORS[name] for name in ("add", "sub", "mul", "div", "neg", "inv", "square")]
    trees = [*map(Column, "xy"), *map(Constant, (1, 2))]
    while len(trees) < 600:
        operator = operators[draw.integers(len(operators))]
        places = draw.integers(min(len(trees), 40), size=operator.arity)
        trees.append(apply_operator(operator, *(trees[place] for place in places)))
    standard = {}
    equal = 0
    for tree in trees:
        form = to_sympy(tree)
        if form.has(sympy.zoo, sympy.nan):
            continue
        other, found = standard.setdefault(sympy.cancel(form), (tree, compute_key(tree)))
        assert found == compute_key(tree), f"{other} and {tree}"
        equal += other is not tree
    assert 100 < equal < 500
    assert len({found for _, found in standard.values()}) == len(standard)


@quick
@given(columns=st.lists(names, min_size=1, max_size=4, unique=True))
def test_sympy_symbols_are_named_like_the_columns(columns):
    tree = Column(columns[0])
    for name in columns[1:]:
        tree = apply_operator(OPERATORS["mul"], tree, Column(name))
    form = to_sympy(tree)
    assert {symbol.name for symbol in form.free_symbols} == set(columns)


def test_sympy_has_numbers_exactly():
    assert to_sympy(parse_expression("pi*2")) == 2 * sympy.pi
    assert to_sympy(parse_expression("2**(1/2)")) == sympy.sqrt(2)
    assert float(to_sympy(parse_expression("0.1"))) == 0.1
    assert to_sympy(parse_expression("abs(x - 2)")) == sympy.Abs(sympy.Symbol("x") - 2)


@settings(max_examples=50, deadline=None)
@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_sympy_has_every_digit_of_a_number(number):
    assert float(to_sympy(Constant(number))) == number


def test_expressions_are_values():
    assert len({parse_expression("x + y"), parse_expression("x+y"), parse_expression("y + x")}) == 2
    with pytest.raises(AttributeError):
        parse_expression("x").name = "y"
