from __future__ import annotations

import itertools

import pytest
from helpers.strategies import put_in
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from symscreen.evaluation import affine_equivalence
from symscreen.evaluation.affine_equivalence import find_any_affine_copies
from symscreen.evaluation.truth import find_affine_copies
from symscreen.expressions.traversal import collect_columns, compute_key
from symscreen.expressions.tree import Call, Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator

ALIKE = [
    ("sin(x)**2", "cos(x)**2"),
    ("sin(2*x)", "sin(x)*cos(x)"),
    ("cos(2*x)", "sin(x)**2"),
    ("cos(x1)/tan(x2)", "cos(x1)*cos(x2)/sin(x2)"),
    ("0.05*x1**2 + sin(x2)", "-0.05*x1**2 - sin(x2)"),
    ("0.05*x1**2 + sin(x2)", "x1**2/20 + sin(x2) + 1e6"),
    ("tan(x)", "sin(x)/cos(x)"),
    ("sinh(x)", "exp(x) - exp(-x)"),
    ("cosh(x)**2", "sinh(x)**2"),
    ("tanh(x)", "1/(exp(2*x) + 1)"),
    ("tanh(x)", "(1 - exp(-2*x))/(1 + exp(-2*x))"),
    ("sin(x + pi/2)", "cos(x)"),
    ("sin(x + y)", "sin(x)*cos(y) + cos(x)*sin(y)"),
    ("log(x**2)", "log(abs(x))"),
    ("log(x*y)", "log(x) + log(y)"),
    ("log(x/3)", "log(x)"),
    ("exp(x + 2)", "exp(x)"),
    ("exp(x)*exp(y)", "exp(x + y)"),
    ("exp(-1000/x)", "2*exp(-1000/x) - 1"),
    ("max(x, y)", "x + y + abs(x - y)"),
    ("min(x, y)", "max(x, y) - x - y"),
    ("max(x - 3, 0)", "x + abs(x - 3)"),
    ("max(x - 5, 0)", "x + abs(x - 5)"),
    ("sqrt(x)**2", "x"),
    ("exp(log(x))", "x"),
    ("sqrt(x)*sqrt(y)", "sqrt(x*y)"),
    ("sqrt(4*x)", "sqrt(x)"),
    ("cbrt(x)**3", "x"),
    ("cbrt(8*x)", "cbrt(x)"),
    ("asin(x)", "acos(x)"),
    ("atan(x)", "atan(1/x) - pi/2*sign(x)"),
    ("asinh(x)", "log(x + sqrt(x**2 + 1))"),
    ("abs(x)", "sqrt(x**2)"),
    ("abs(x)*abs(y)", "abs(x*y)"),
    ("floor(x)", "floor(x + 1)"),
    ("x*y/y", "x"),
    ("(x + 1e12) - 1e12", "x"),
    ("(x + 1e30) - 1e30", "x"),
    ("(sin(x)**2 + 1e10) - 1e10", "cos(x)**2"),
    ("1e-200*x", "1e200*x"),
    ("x/3", "0.1*x"),
    ("0.1*x + 0.2*x", "0.3*x"),
    ("x**2 + 2*x", "(x + 1)**2"),
    ("x/(1 + x)", "1/(1 + x)"),
    ("x**2.5", "x**2*sqrt(x)"),
    ("x**(1 + 1)", "x**2"),
    ("sqrt(x - 100)", "sqrt(4*x - 400)"),
]
UNLIKE = [
    ("abs(x)", "x"),
    ("sqrt(x**2)", "x"),
    ("x**2", "x**4"),
    ("sin(x)", "cos(x)"),
    ("sin(x)**2", "cos(x)"),
    ("sin(x)", "x - x**3/6 + x**5/120 - x**7/5040 + x**9/362880 - x**11/39916800"),
    ("x1 - cos(x2)/x1", "x1 + cos(x2)/x1"),
    ("x", "y"),
    ("log(x)", "log(-x)"),  # no common domain
    ("asin(x)", "log(x - 2)"),
    ("x", "3"),
    ("3", "x"),
    ("3", "4"),
    ("x - x", "y - y"),
    ("sin(x)**2 + cos(x)**2", "x"),
    ("exp(exp(x))", "exp(exp(x)) + exp(-60)*sin(x)"),
    ("exp(exp(x))", "exp(x)"),
    ("x + 1e-15*sin(x)", "x"),
    ("x + 1e-40*y", "x"),
    ("x + exp(-100)*sin(y)", "x + exp(-101)*sin(y)"),
    ("0.1*x + sin(y)", "0.1000000000000001*x + sin(y)"),
    ("3.14159265358979*x + y", "pi*x + y"),
    ("tanh(50*x)", "sign(x)"),
    ("tanh(x)", "tanh(1.0000001*x)"),
    ("x", "max(x, -50)"),
    ("x", "min(x, 1000)"),
    ("x*y", "x*y + max(x - 20000, 0)"),
    ("floor(x)", "x"),
    ("floor(x)", "floor(x + 0.5)"),
    ("cbrt(x)", "sqrt(x)"),
    ("exp(-1000/x)", "exp(-1001/x)"),
    ("1/x", "1/(x + 1e-9)"),
    ("x**2.5", "x**2.50000001"),
    ("erf(x)", "tanh(1.2*x)"),
    ("(x + 1e30) - 1e30", "x**2"),
    ("cosh(x)**2 - sinh(x)**2 + y", "cosh(x)**2 + y"),
]


def are_copies(one, other):
    found = [bool(find_affine_copies([a], b)[0]) for a, b in ((one, other), (other, one))]
    assert found[0] == found[1], "to be a copy is mutual"
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_identities_are_recognised(one, other):
    assert are_copies(parse_expression(one), parse_expression(other))


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_different_formulas_are_distinguished(one, other):
    assert not are_copies(parse_expression(one), parse_expression(other))


formulas = st.recursive(
    st.one_of(st.sampled_from([Column("x"), Column("a b")]), st.integers(1, 3).map(Constant)),
    lambda inner: st.one_of(
        st.builds(
            apply_operator,
            st.sampled_from([OPERATORS[n] for n in ("sin", "cos", "square", "inv", "tanh")]),
            inner,
        ),
        st.builds(
            apply_operator,
            st.sampled_from([OPERATORS[n] for n in ("add", "sub", "mul", "div")]),
            inner,
            inner,
        ),
    ),
    max_leaves=5,
)


def varying(expression):
    """Test by residues at other points whether a formula depends on an input."""
    moved = {
        name: apply_operator(OPERATORS["add"], Column(name), Constant(1))
        for name in collect_columns(expression)
    }
    return bool(moved) and compute_key(put_in(expression, moved)) != compute_key(expression)


coefficients = st.one_of(st.integers(-9, 9), st.sampled_from([0.1, -2.75, 1e-6, 1e9]))


@settings(max_examples=50, deadline=None)
@given(expression=formulas, shift=coefficients, slope=coefficients.filter(bool))
def test_affine_maps_make_copies(expression, shift, slope):
    assume(varying(expression))
    scaled = apply_operator(OPERATORS["mul"], expression, Constant(slope))
    mapped = apply_operator(OPERATORS["add"], Constant(shift), scaled)
    assert find_affine_copies([mapped], expression)[0]


REWRITES = [
    "t*(sin(u)**2 + cos(u)**2)",
    "t + sinh(u) - (exp(u) - exp(-u))/2",
    "t + log(exp(u)) - u",
    "t*(1 + tan(u)**2)*cos(u)**2",
    "t + abs(u) - max(u, -u)",
    "(t + 1e9) - 1e9",
    "1/(1/t)",
    "cbrt(t)**3",
]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(expression=formulas, rewrite=st.sampled_from(REWRITES), other=st.sampled_from(["x", "x - `a b`", "z"]))
@example(expression=Column("x"), rewrite="t + sinh(u) - (exp(u) - exp(-u))/2", other="z")
def test_rewriting_by_an_identity_makes_copies(expression, rewrite, other):
    assume(varying(expression))
    rewritten = put_in(parse_expression(rewrite), {"t": expression, "u": parse_expression(other)})
    assert find_affine_copies([rewritten], expression)[0]


@settings(max_examples=50, deadline=None)
@given(
    expression=formulas,
    size=st.sampled_from([1, -0.1, 1e-3, 1e-8, 1e-20, 1e-40]),
    other=st.sampled_from(["exp(z)", "x*exp(x/7)", "log(abs(x))", "sqrt(abs(`a b`))"]),
)
def test_what_is_added_is_seen_however_small(expression, size, other):
    assume(varying(expression))
    # no other formula contains these functions, so no affine map compensates for them
    addend = apply_operator(OPERATORS["mul"], Constant(size), parse_expression(other))
    assert not find_affine_copies([apply_operator(OPERATORS["add"], expression, addend)], expression)[0]


NAMES = ["N", "E", "I", "lambda", "a b", "x1 + x2", "", "`", "pi", "sin", "\ud800"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_names_mean_nothing(name):
    def named(text):
        return put_in(parse_expression(text), {"x": Column(name), "y": Column("y")})

    assert find_affine_copies(
        [named("sin(x)**2"), named("sin(x)"), named("abs(x)")], named("cos(x)**2")
    ).tolist() == [
        True,
        False,
        False,
    ]
    assert find_affine_copies(
        [named("(x + y)**2"), named("x**2 + y**2")], named("x**2 + 2*x*y + y**2")
    ).tolist() == [
        True,
        False,
    ]


def test_an_operator_of_the_users_is_what_it_stands_for():
    hill = define_operator("hill", "x**2/(0.3 + x**2)", OPERATORS)
    wave = define_family("wave", "sin(a*x + 0.1)", {"a": [1, 0.7]}, OPERATORS)
    mean = define_operator("mean", "(0.1*x + 0.1*y)/3", OPERATORS)
    x, y = Column("x"), Column("y")
    features = [Call(hill, (x,)), Call(wave[0], (x,)), Call(wave[1], (x,)), Call(mean, (x, y))]
    for text, expected in [
        ("1/(10*x**2 + 3)", [True, False, False, False]),
        ("sin(x)*cos(0.1) + cos(x)*sin(0.1)", [False, True, False, False]),
        ("cos(pi/2 - 0.1 - 0.7*x)", [False, False, True, False]),
        ("x + y", [False, False, False, True]),
    ]:
        assert find_affine_copies(features, parse_expression(text)).tolist() == expected


def test_any_of_several_targets_counts_and_none_finds_nothing():
    features = [parse_expression(text) for text in ("x", "sin(x)", "x*y", "2*y", "x")]
    assert find_any_affine_copies(
        features, (parse_expression("y"), parse_expression("3*x - 1"))
    ).tolist() == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert find_any_affine_copies(features, ()).tolist() == [False] * 5
    assert find_any_affine_copies([], (parse_expression("y"),)).tolist() == []


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    texts = [text for pair in ALIKE[:14] + UNLIKE[:14] for text in pair]
    features, target = (
        [parse_expression(text) for text in texts],
        (parse_expression("cos(x)**2"), parse_expression("abs(x)")),
    )
    whole = find_any_affine_copies(features, target)
    assert 2 < whole.sum() < 12
    for size in (1, 5):
        monkeypatch.setattr(affine_equivalence, "BLOCK_EXPRESSIONS", size)
        assert (find_any_affine_copies(features, target) == whole).all()


@pytest.mark.slow
def test_to_be_a_copy_is_transitive():
    classes = [
        ["sin(x)**2", "cos(x)**2", "3 - cos(2*x)"],
        ["tanh(x)", "1/(exp(2*x) + 1)"],
        ["x", "x*y/y"],
        ["abs(x)"],
    ]
    texts = [(text, number) for number, group in enumerate(classes) for text in group]
    for (one, a), (other, b) in itertools.product(texts, repeat=2):
        assert bool(find_affine_copies([parse_expression(one)], parse_expression(other))[0]) == (a == b)
