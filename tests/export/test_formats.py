from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.export_cases import NAMES

import symscreen
from symscreen.errors import FormulaError, OptionError, OutputError
from symscreen.export import (
    EXPORT_FORMATS,
    build_operators_from_record,
    export_formulas,
    load_bundle,
    save_bundle,
)
from symscreen.export.operator_definitions import fold_constants, inline_definitions
from symscreen.export.source import escape_comment, make_identifiers
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.operator_notations import OPERATOR_NOTATIONS
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Column, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator

GRAMMAR = (
    'unary = ["bell", "fade"]\nbinary = ["far"]\n'
    '[define.twice]\nformula = "2*x"\ncost = 3\n'
    '[define.bell]\nformula = "exp(-twice(x)**2)"\n'
    '[define.far]\nformula = "sqrt(bell(x) + twice(y)**2)"\n'
    '[define.fade]\nformula = "exp(-a*twice(x))"\nparameters = { a = [0.1, 2.5] }\n'
)


def ran(source, rows):
    """Run a numpy export here: it was written from formulas of this file."""
    space = {}
    exec(compile(source, "exported", "exec"), space)  # noqa: S102  # of this file's own formulas
    return [function(rows) for name, function in space.items() if name.startswith(("feature", "model"))]


def test_every_operator_has_a_row_and_every_row_is_an_operators():
    assert set(OPERATOR_NOTATIONS) == set(OPERATORS) - {"id"}
    for name, row in OPERATOR_NOTATIONS.items():
        assert len(row.absorbs_nonfinite) >= OPERATORS[name].arity, name


def test_targets_refuse_only_what_is_documented():
    refused = {
        (target.name, operator.name)
        for target in EXPORT_FORMATS.values()
        for operator in OPERATORS.values()
        if not _writes(target, apply_operator(operator, *map(Column, ("x", "y")[: operator.arity])))
    }
    assert refused == {("sql", "erf"), ("sqlite", "erf"), ("duckdb", "erf"), ("sql", "asinh")}


def _writes(target, formula):
    try:
        return bool(target.write(formula))
    except OutputError:
        return False


def test_an_operator_without_a_row_is_refused_by_name(monkeypatch):
    monkeypatch.delitem(OPERATOR_NOTATIONS, "sin")
    with pytest.raises(OutputError, match=r"'sin\(x\)' cannot be written in C, which has no sin"):
        EXPORT_FORMATS["c"].write(parse_expression("1 + sin(x)"))


def test_definitions_are_written_out_whatever_they_call(tmp_path, rng):
    (tmp_path / "g.toml").write_text(GRAMMAR)
    operators = symscreen.load_grammar(tmp_path / "g.toml").operators
    rows = {"x": rng.normal(size=20), "y": rng.normal(size=20)}
    for text in ("far(bell(y), x)", "fade_2(y)*far(y, y)", "bell(x)", "twice(twice(x))"):
        formula = parse_expression(text, operators)
        (plain,) = inline_definitions([formula], operators)
        np.testing.assert_array_equal(evaluate_expression(plain, rows), evaluate_expression(formula, rows))
        (values,) = ran(export_formulas(formula, "numpy", operators=operators), rows)
        np.testing.assert_allclose(values, evaluate_expression(formula, rows), rtol=1e-12)


def test_a_definition_that_is_no_formula_or_too_long_is_refused():
    other = replace(OPERATORS["sin"], name="sine")
    with pytest.raises(OutputError, match="'sine' is not defined by a formula"):
        export_formulas(apply_operator(other, Column("x")), "c")
    double = define_operator("double", "x*x*x*x", OPERATORS)
    deep = Column("x")
    for _ in range(12):
        deep = Call(double, (deep,))
    with pytest.raises(OutputError, match="'double' has more than 20,000 parts"):
        export_formulas(deep, "c")


def test_constants_are_computed_before_any_language_sees_them():
    assert str(fold_constants(parse_expression("sqrt(2 + 2)*x + 1/4"))) == "2*x + 0.25"
    with pytest.raises(OutputError, match="is undefined in every row, because '1/0' is undefined"):
        fold_constants(parse_expression("x + 1/0"))


@pytest.mark.slow
def test_all_features_of_a_screen_and_the_model_of_a_fit(tmp_path, frame):
    (tmp_path / "g.toml").write_text(GRAMMAR)
    result = symscreen.screen(frame, operators=tmp_path / "g.toml", layers="ub", top=6)
    found = ran(export_formulas(result, "numpy"), frame)
    ours = result.transform(frame).to_numpy().T
    np.testing.assert_allclose(found, ours, rtol=1e-12)
    save_bundle(result.expressions, tmp_path / "f.json", operators=build_operators_from_record(result.record))
    assert [str(one) for one in load_bundle(tmp_path / "f.json")] == result.table["expression"].tolist()
    fitted = symscreen.fit(frame, layers="ub", unary="square", binary="div")
    (values,) = ran(fitted.export("numpy"), frame)
    np.testing.assert_allclose(values, fitted.predict(frame), rtol=1e-12)
    assert fitted.export("sql") == export_formulas(fitted.formula, "sql")
    assert export_formulas(fitted, "latex") == fitted.formula.to_latex()


def test_wrong_targets_names_and_records_are_told():
    with pytest.raises(OptionError, match="there is no format 'pyhton'"):
        export_formulas(parse_expression("x"), "pyhton")
    with pytest.raises(OptionError, match="no formula needs a column 'x2'; known: x1"):
        export_formulas(parse_expression("x1"), "sql", names={"x2": "a"})
    with pytest.raises(OutputError, match="there are no formulas"):
        export_formulas((), "sql")
    with pytest.raises(OutputError, match="names cannot be changed"):
        export_formulas(parse_expression("x1"), "latex", names={"x1": "a"})
    for grammar in ({"define": {"f": "sin(x)"}}, {"costs": 3}, {"define": {"f": "sin("}, "costs": {"f": 1}}):
        with pytest.raises(FormulaError, match="the operators in the record cannot be read"):
            build_operators_from_record({"grammar": grammar})


def test_other_names_in_the_database():
    assert "`other name`" in export_formulas(parse_expression("x1"), "sqlite", names={"x1": "other name"})
    assert "columns['other name']" in export_formulas(
        parse_expression("x1"), "numpy", names={"x1": "other name"}
    )
    assert "double other_name" in export_formulas(parse_expression("x1"), "c", names={"x1": "other name"})


def test_sympy_text_builds_the_sympy_form():
    import sympy

    formula = Formula("y", 3.0, (2.0,), (parse_expression("`a b`**2 + sin(x)"),))
    # srepr is made to be read back with sympy's own names
    assert sympy.sympify(export_formulas(formula, "sympy")) == formula.to_sympy()


def test_a_tower_of_powers_is_written_without_being_computed(monkeypatch):
    from sympy.core.expr import Expr

    def compared(*_):
        raise AssertionError("terms are compared by value, which takes half a minute here")

    monkeypatch.setattr(Expr, "as_terms", compared)
    assert "Pow(Integer(99), Integer(9))" in export_formulas(
        parse_expression("9**99**99**99**9*1e32 - 0*ax"), "sympy"
    )


def test_identifiers_are_apart_and_comments_end_nowhere():
    made = make_identifiers([*NAMES, "X1", "x_1", "", "é", "1", "NAN", "x" * 99], ["for"])
    assert len({name.lower() for name in made.values()}) == len(made)
    assert all(name.isidentifier() and name.isascii() for name in made.values())
    for text in ("*/", "a\nb", "\\\n", "??/", "/**/", "*" * 9 + "/"):
        told = escape_comment(text)
        assert not any(mark in told for mark in ("*/", "/*", "\n", "??", "\\\n"))
