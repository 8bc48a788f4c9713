from __future__ import annotations

import ast
import re

import pytest
from helpers.strategies import names
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import FormulaError
from symscreen.grammar.parser import MAX_FORMULA_CHARS, MAX_FORMULA_DEPTH, parse_formula, quote_column

quick = settings(max_examples=200, deadline=None)

PYTHON = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
SHORT_FORMS = {
    "square": lambda a: ("pow", a, 2),
    "cube": lambda a: ("pow", a, 3),
    "inv": lambda a: ("div", 1, a),
    "absdiff": lambda a, b: ("abs", ("sub", a, b)),
}


def negative(inner):
    return -inner if isinstance(inner, int | float) else ("neg", inner)


def by_python(node):
    """Read a formula as Python's own parser does."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return by_python(inner)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return negative(by_python(inner))
        case ast.BinOp(left=left, op=op, right=right):
            return (PYTHON[type(op)], by_python(left), by_python(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return (name, *map(by_python, arguments))


def spelled_out(tree):
    """The same form from symscreen's tree, its short forms spelled out."""
    if tree.kind != "call":
        return tree.value
    arguments = [spelled_out(argument) for argument in tree.arguments]
    if tree.value == "neg":
        return negative(*arguments)
    return SHORT_FORMS.get(tree.value, lambda *parts: (tree.value, *parts))(*arguments)


def read(text):
    return spelled_out(parse_formula(text))


atoms = st.sampled_from(
    ["x", "y", "x1", "_a", "λ", "1", "2", "3", "10", "2.5", "1.", ".5", "1e3", "2E-1", "7e+2"]
)
spaces = st.sampled_from(["", "", " ", "  "])
texts = st.recursive(
    atoms,
    # nothing is parenthesised on its way up, so that precedence alone decides
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-"), spaces, inner).map("".join),
        st.tuples(inner, spaces, st.sampled_from(["+", "-", "*", "/", "**"]), spaces, inner).map("".join),
        inner.map("({})".format),
        inner.map("abs({})".format),
        st.tuples(st.sampled_from(["f", "pow"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
    ),
    max_leaves=15,
)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(text=texts)
def test_precedence_is_pythons(text):
    assert read(text) == by_python(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-x**2", ("neg", ("pow", "x", 2))),
        ("(-x)**2", ("pow", ("neg", "x"), 2)),
        ("x**-y**z", ("pow", "x", ("neg", ("pow", "y", "z")))),
        ("-x*y", ("mul", ("neg", "x"), "y")),
        ("x - -2", ("sub", "x", -2)),
        ("a - b - c", ("sub", ("sub", "a", "b"), "c")),
        ("a/b/c*d", ("mul", ("div", ("div", "a", "b"), "c"), "d")),
    ],
)
def test_precedence_by_hand(text, tree):
    assert read(text) == tree


@pytest.mark.parametrize(
    ("text", "operator", "arguments"),
    [
        ("x**2", "square", ["x"]),
        ("x**2.0", "square", ["x"]),
        ("x**(2)", "pow", ["x", 2]),
        ("x**-2", "pow", ["x", -2]),
        ("x**3", "cube", ["x"]),
        ("x**4", "pow", ["x", 4]),
        ("1/x", "inv", ["x"]),
        ("(1)/x", "div", [1, "x"]),
        ("-1/x", "div", [-1, "x"]),
        ("2/x", "div", [2, "x"]),
        ("-x", "neg", ["x"]),
        ("-(2)", "neg", [2]),
        ("abs(x - y)", "absdiff", ["x", "y"]),
        ("abs((x - y))", "abs", ["sub"]),
        ("abs(x + y)", "abs", ["add"]),
        ("sin(x - y)", "sin", ["sub"]),
        ("abs(x - y, z)", "abs", ["sub", "z"]),
    ],
)
def test_short_forms_and_how_parentheses_prevent_them(text, operator, arguments):
    tree = parse_formula(text)
    assert (tree.kind, tree.value) == ("call", operator)
    assert [argument.value for argument in tree.arguments] == arguments


@pytest.mark.parametrize(
    ("text", "value"),
    [("-2", -2), ("--2", 2), ("+-2", -2), ("- 2", -2), ("-2.5", -2.5), ("1e3", 1000), ("-0", 0)],
)
def test_a_signed_number_is_one_number(text, value):
    tree = parse_formula(text)
    assert (tree.kind, tree.value) == ("number", value)


def test_whole_numbers_are_ints_below_the_point_where_floats_skip_some():
    values = [
        parse_formula(text).value for text in ("7", "7.0", "7e2", "999999999999999", "1" + "0" * 15, "0.5")
    ]
    assert [type(value) for value in values] == [int, int, int, int, float, float]


@quick
@given(name=names)
def test_any_name_comes_back_from_its_quotation(name):
    quoted = quote_column(name)
    tree = parse_formula(f" {quoted}\n")
    assert tree.value == name
    assert tree.kind == ("name" if quoted == name else "column")
    assert read(f"f({quoted})*{quoted}") == ("mul", ("f", name), name)


@pytest.mark.parametrize("name", ["x", "x1", "_", "λ", "数", "Straße", "N", "E", "match"])
def test_plain_identifiers_stand_bare(name):
    assert quote_column(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " x",
        "a b",
        "1x",
        "x²",
        "²",
        "e\u0301",
        "a·b",
        "x\n",
        "lambda",
        "None",
        "pi",
        "`",
        "a`b",
        "=x",
        "x-1",
    ],
)
def test_other_names_stand_in_backticks(name):
    assert quote_column(name) == "`" + name.replace("`", "``") + "`"


def test_names_taken_stand_in_backticks():
    assert quote_column("sin", frozenset({"sin"})) == "`sin`"


def test_positions_are_those_of_operators_names_and_signs():
    tree = parse_formula("x + sin(`a b`*-2)")
    add, (x, sin) = tree, tree.arguments
    (product,) = sin.arguments
    assert [node.position for node in (add, x, sin, product, *product.arguments)] == [2, 0, 4, 13, 8, 14]


EXPECTED = "expected a column, a number or an operator's name"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"formula '', character 1: {EXPECTED}, found the end"),
        ("  ", f"formula '  ', character 1: {EXPECTED}, found the end"),
        ("x +", f"formula 'x +', character 4: {EXPECTED}, found the end"),
        ("x + * y", f"formula 'x + * y', character 5: {EXPECTED}, found '*'"),
        ("sin()", f"formula 'sin()', character 5: {EXPECTED}, found ')'"),
        ("f(x,)", f"formula 'f(x,)', character 5: {EXPECTED}, found ')'"),
        ("(x", "formula '(x', character 3: expected ')', found the end"),
        ("sin(x y)", "formula 'sin(x y)', character 7: expected ')', found 'y'"),
        ("x)", "formula 'x)', character 2: expected an operator or the end, found ')'"),
        ("x, y", "formula 'x, y', character 2: expected an operator or the end, found ','"),
        ("2x", "formula '2x', character 2: expected an operator or the end, found 'x'"),
        ("1_000", "formula '1_000', character 2: expected an operator or the end, found '_000'"),
        ("`f`(x)", "formula '`f`(x)', character 4: expected an operator or the end, found '('"),
        (
            "x " + "a" * 900,
            f"formula 'x {'a' * 20}…', character 3: expected an operator or the end, found 'aaaaaaaaaaaa...",
        ),
        (
            "a b*h",
            "formula 'a b*h', character 3: expected an operator or the end, found 'b'; put a column name",
        ),
        ("x^2", "formula 'x^2', character 2: '^' is not used; write a power as x**2"),
        (
            "y = x",
            "formula 'y = x', character 3: '=' is not part of a formula; give the right-hand side only",
        ),
        ("x + `a b", "formula 'x + `a b', character 5: this backtick is never closed"),
        (
            "x +\t§",
            "formula 'x +\\t§', character 5: the character '§' has no meaning here; put unusual column names",
        ),
        ("x*1e999", "formula 'x*1e999', character 3: the number 1e999 is too large"),
        ("9" * 400, f"formula '{'9' * 20}…', character 1: the number {'9' * 20} is too large"),
        (
            "a" * 30 + " $ " + "b" * 30,
            f"formula '…{'a' * 19} $ {'b' * 18}…', character 32: the character '$' has no meaning here; put",
        ),
    ],
)
def test_errors_say_where_and_what_was_expected(text, message):
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    assert str(caught.value).startswith(message)


@settings(max_examples=500, deadline=None)
@given(text=st.one_of(st.text(), st.text(alphabet="xy12.e+-*/(),` \n^=")))
def test_any_text_is_read_or_refused_in_one_line(text):
    message = "formula '', character 1: "
    try:
        parse_formula(text)
    except FormulaError as error:
        message = str(error)
    assert re.match(r"formula ['\"].*['\"], character \d+: ", message)
    assert len(message.splitlines()) == 1
    assert len(message) < 400


NESTED = {
    "parentheses": lambda n: "(" * n + "x" + ")" * n,
    "calls": lambda n: "sin(" * n + "x" + ")" * n,
    "signs": lambda n: "-" * n + "x",
    "plus signs": lambda n: "+" * n + "x",
    "powers": lambda n: "x" + "**x" * n,
    "a long sum": lambda n: "x" + "+x" * n,
    "quotients": lambda n: "1/(" * n + "x" + ")" * n,
}


@pytest.mark.parametrize("nest", NESTED.values(), ids=NESTED)
def test_a_formula_nested_too_deep_is_refused(nest):
    with pytest.raises(FormulaError, match=rf"nested more than {MAX_FORMULA_DEPTH} deep$"):
        parse_formula(nest(MAX_FORMULA_DEPTH + 1))
    parse_formula(nest(MAX_FORMULA_DEPTH // 2))


@pytest.mark.parametrize("nest", NESTED.values(), ids=NESTED)
def test_a_formula_nested_a_hundred_thousand_deep_is_refused(nest):
    text = nest(100_000)
    with pytest.raises(FormulaError, match=rf"^a formula of {len(text)} characters is too long; at most"):
        parse_formula(text)
    with pytest.raises(FormulaError):
        parse_formula(text[:MAX_FORMULA_CHARS])


def test_a_formula_of_a_million_characters_is_refused():
    with pytest.raises(FormulaError) as caught:
        parse_formula("x" * 1_000_000)
    assert str(caught.value) == "a formula of 1000000 characters is too long; at most 10000 are allowed"


def test_the_longest_formulas_are_read_to_the_end():
    assert parse_formula("x" * MAX_FORMULA_CHARS).value == "x" * MAX_FORMULA_CHARS
    assert parse_formula("`" * MAX_FORMULA_CHARS).value == "`" * (MAX_FORMULA_CHARS // 2 - 1)
    with pytest.raises(FormulaError, match=f"character {MAX_FORMULA_CHARS + 1}: expected a column"):
        parse_formula(" " * (MAX_FORMULA_CHARS - 1) + "-")
