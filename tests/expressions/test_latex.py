from __future__ import annotations

import re

import pytest
from helpers.requirements import require
from helpers.strategies import expressions, names
from hypothesis import given, settings
from hypothesis import strategies as st

import symscreen
from symscreen.errors import OptionError
from symscreen.export import export_formulas
from symscreen.expressions.linear_formula import Formula, build_shared_formula
from symscreen.expressions.printing import format_column_latex, to_latex
from symscreen.expressions.tree import Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("x1", "x_{1}"),
        ("x12**3", "x_{12}^{3}"),
        ("sin(x)**2", r"\sin^{2}\left(x\right)"),
        ("exp(x)**2", r"\left(\mathrm{e}^{x}\right)^{2}"),
        ("e**x", "e^{x}"),
        ("(x + y)**3", r"\left(x + y\right)^{3}"),
        ("(x/y)**2", r"\left(\frac{x}{y}\right)^{2}"),
        ("x**2**y", r"x^{2^{y}}"),
        ("(x**2)**2", r"\left(x^{2}\right)^{2}"),
        ("(-x)**2", r"\left(-x\right)^{2}"),
        ("sin(x)**(-1)", r"\left(\sin\left(x\right)\right)^{-1}"),
        ("1/x", r"\frac{1}{x}"),
        ("(x + 1)/(y - 2)", r"\frac{x + 1}{y - 2}"),
        ("x*y", r"x\,y"),
        ("x*(y*z)", r"x\,y\,z"),
        ("x*(y + z)", r"x\,\left(y + z\right)"),
        ("x*(-y)", r"x\,\left(-y\right)"),
        ("2*3*x", r"2 \cdot 3\,x"),
        ("x*2", r"x \cdot 2"),
        ("x - (y + z)", r"x - \left(y + z\right)"),
        ("x + (y - z)", "x + y - z"),
        ("x - (-y)", r"x - \left(-y\right)"),
        ("-(x + y)", r"-\left(x + y\right)"),
        ("-(x*y)", r"-x\,y"),
        ("x + (-2)", r"x + \left(-2\right)"),
        ("(-2)**x", r"\left(-2\right)^{x}"),
        ("sqrt(x)**2", r"\left(\sqrt{x}\right)^{2}"),
        ("cbrt(x + 1)", r"\sqrt[3]{x + 1}"),
        ("abs(x - y)", r"\left|x - y\right|"),
        ("abs(x - (y - z))", r"\left|x - \left(y - z\right)\right|"),
        ("abs(x)", r"\left|x\right|"),
        ("log(x)", r"\ln\left(x\right)"),
        ("asin(x) + asinh(x)", r"\arcsin\left(x\right) + \operatorname{arsinh}\left(x\right)"),
        ("max(x, y - z)", r"\max\left(x, y - z\right)"),
        ("max(x, y)**2", r"\left(\max\left(x, y\right)\right)^{2}"),
        ("floor(x)", r"\left\lfloor x\right\rfloor"),
        ("erf(x)**3", r"\operatorname{erf}^{3}\left(x\right)"),
        ("pi*x", r"\pi\,x"),
        ("x*1e-7", r"x \cdot 10^{-7}"),
        ("1234567.8*x", r"1.2345678 \times 10^{6}\,x"),
        ("(2.5e-8)**x", r"\left(2.5 \times 10^{-8}\right)^{x}"),
        ("0.00012345*x", r"0.00012345\,x"),
        ("1/(t + 273.15)", r"\frac{1}{t + 273.15}"),
        ("x/(t + 255.3722222222222)", r"\frac{x}{t + 255.3722222222222}"),
        ("1234567*x", r"1.234567 \times 10^{6}\,x"),
        ("`flow rate`/`50 %`", r"\frac{\mathrm{flow\ rate}}{\mathrm{50\ \%}}"),
    ],
)
def test_formulas_are_set_as_people_write_them(text, latex):
    assert to_latex(parse_expression(text)) == latex


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("x", "x"),
        ("X10", "X_{10}"),
        ("x_1", r"\mathrm{x\_1}"),
        ("speed", r"\mathrm{speed}"),
        ("pi", r"\mathrm{pi}"),
        ("λ", r"\mathrm{λ}"),
        ("a-b", r"\mathrm{a\text{-}b}"),
        ("a+b", r"\mathrm{a{+}b}"),
        ("{$&#_%}", r"\mathrm{\{\$\&\#\_\%\}}"),
        ("\\frac{1}", r"\mathrm{\text{\textbackslash}frac\{1\}}"),
        ("a\nb", r"\mathrm{a\text{\textbackslash}nb}"),
        ("~^", r"\mathrm{\text{\textasciitilde}\text{\textasciicircum}}"),
        ("", r"\langle\rangle"),
    ],
)
def test_names_are_escaped(name, latex):
    assert format_column_latex(name) == latex


def test_a_model_is_rounded_and_set_with_its_target():
    formula = Formula(
        "y 1",
        10.01999,
        (2.00999, -4.98e-9),
        (parse_expression("x1**3/t"), parse_expression("exp(0.123456*x3)")),
    )
    body = r"10.02 + \frac{2.01\,x_{1}^{3}}{t} - 4.98 \times 10^{-9}\,\mathrm{e}^{0.123456\,x_{3}}"
    assert formula.to_latex() == body
    assert formula._repr_latex_() == rf"$\mathrm{{y\ 1}} = {body}$"
    assert formula.to_latex(2).startswith(r"10 + \frac{2\,x_{1}^{3}}{t} - 5 \times 10^{-9}")
    assert Formula("y", 0.0, (0.99999, -1.0), (Column("a"), Column("b"))).to_latex() == "a - b"
    assert Formula("y", -2e7, (), ()).to_latex() == r"-2 \times 10^{7}"
    with pytest.raises(OptionError, match="give 1 to 17"):
        formula.to_latex(0)


def test_an_operator_of_a_users_own_is_named():
    operators = OPERATORS | {"sin_pi": define_operator("sin_pi", "sin(pi*x)", OPERATORS)}
    assert (
        to_latex(parse_expression("sin_pi(x)**2", operators)) == r"\operatorname{sin\_pi}^{2}\left(x\right)"
    )


@settings(max_examples=300, deadline=None)
@given(expression=expressions(), coefficient=st.floats(allow_nan=False, allow_infinity=False), name=names)
def test_whatever_the_formula_braces_and_delimiters_are_balanced(expression, coefficient, name):
    text = Formula(name, coefficient, (coefficient,), (expression,))._repr_latex_()
    assert text[0] == text[-1] == "$"
    bare = re.sub(r"\\[{}$&#_%\\ ,]", "", text[1:-1])
    assert not re.search(r"[$&#%~]|\\$|\\(?![A-Za-z])", bare)
    depth = 0
    for mark in re.findall(r"\\left|\\right|[{}]", bare):
        depth += 1 if mark in {"{", "\\left"} else -1
        assert depth >= 0
    assert depth == 0
    # two superscripts or subscripts on one base are an error of TeX
    assert not re.search(r"\^\{[^{}]*\}\^", bare)
    assert bare.isprintable()


@given(value=st.floats(1e-300, 1e300), digits=st.integers(1, 17))
def test_numbers_are_what_they_say(value, digits):
    text = to_latex(Constant(value, fitted=True), digits)
    plain = re.sub(r" \\times 10\^\{(-?\d+)\}", r"e\1", re.sub(r"^10\^", r"1 \\times 10^", text))
    assert float(plain) == float(f"{value:.{digits}g}")


def test_fitted_numbers_are_rounded_and_exact_ones_are_not():
    tree = apply_operator(OPERATORS["add"], Constant(273.1234567, fitted=True), Constant(273.15))
    assert to_latex(tree) == "273.1 + 273.15"
    assert to_latex(tree, 6) == "273.123 + 273.15"
    assert Constant(2.5, fitted=True) == Constant(2.5)
    assert hash(Constant(2.5, fitted=True)) == hash(Constant(2.5))


@pytest.mark.parametrize("digits", [0, 18])
def test_digits_are_checked_where_nothing_is_rounded_too(digits):
    with pytest.raises(OptionError, match="give 1 to 17"):
        to_latex(parse_expression("x"), digits)


@pytest.mark.parametrize("digits", [3.5, "x", True, [3]])
def test_digits_are_a_whole_number(digits):
    formula = Formula("y", 1.5, (), ())
    for written in (
        lambda: export_formulas(formula, "latex", digits=digits),
        lambda: formula.round_numbers(digits),
    ):
        with pytest.raises(OptionError, match=r"^digits is .*; give an integer from 1 to 17$"):
            written()


def test_an_export_passes_its_digits_on():
    formula = Formula("y", 1.23456789, (2.3456789,), (parse_expression("1/(t + 273.15)"),))
    assert export_formulas(formula, "latex") == r"1.235 + \frac{2.346}{t + 273.15}"
    assert export_formulas(formula, "latex", digits=7) == r"1.234568 + \frac{2.345679}{t + 273.15}"
    with pytest.raises(OptionError, match="digits are only for latex; sql is written with every digit"):
        export_formulas(formula, "sql", digits=7)
    two = build_shared_formula([formula, Formula("z", 0.0, (1.0,), formula.terms)])
    assert export_formulas(two, "latex", digits=2).splitlines()[0] == r"y = 1.2 + \frac{2.3}{t + 273.15}"


def test_offsets_of_units_are_exact_in_a_notebook_and_in_exports(rng):
    require("pint")
    celsius = rng.uniform(10, 90, 40)
    data = {"t (degC)": celsius, "p (kPa)": rng.uniform(1, 2, 40)}
    data["y"] = data["p (kPa)"] / (celsius + 273.15)
    found = symscreen.screen(data, layers="b", binary="div", units="strict", top=3)
    assert "273.15" in export_formulas(found, "latex")
