from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from export_cases import NAMES

import symscreen
from symscreen.errors import FormulaError, OptionError, OutputError
from symscreen.export import TARGETS, Formula, exported, load_bundle, operators_of_record, save_bundle
from symscreen.export.expanded import computed_constants, in_shipped_operators
from symscreen.export.source import comment, identifiers
from symscreen.export.spellings import SPELLINGS
from symscreen.expression import Apply, Column, apply, evaluate, parse
from symscreen.grammar import OPERATORS
from symscreen.grammar.define import define_operator

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
    assert set(SPELLINGS) == set(OPERATORS) - {"id"}
    for name, row in SPELLINGS.items():
        assert len(row.forgets) >= OPERATORS[name].arity, name


def test_targets_refuse_only_what_is_documented():
    refused = {
        (target.name, operator.name)
        for target in TARGETS.values()
        for operator in OPERATORS.values()
        if not _writes(target, apply(operator, *map(Column, ("x", "y")[: operator.arity])))
    }
    assert refused == {("sql", "erf"), ("sqlite", "erf"), ("duckdb", "erf"), ("sql", "asinh")}


def _writes(target, formula):
    try:
        return bool(target.write(formula))
    except OutputError:
        return False


def test_an_operator_without_a_row_is_refused_by_name(monkeypatch):
    monkeypatch.delitem(SPELLINGS, "sin")
    with pytest.raises(OutputError, match=r"'sin\(x\)' cannot be written in C, which has no sin"):
        TARGETS["c"].write(parse("1 + sin(x)"))


def test_definitions_are_written_out_whatever_they_call(tmp_path, rng):
    (tmp_path / "g.toml").write_text(GRAMMAR)
    operators = symscreen.load_grammar(tmp_path / "g.toml").operators
    rows = {"x": rng.normal(size=20), "y": rng.normal(size=20)}
    for text in ("far(bell(y), x)", "fade_2(y)*far(y, y)", "bell(x)", "twice(twice(x))"):
        formula = parse(text, operators)
        (plain,) = in_shipped_operators([formula], operators)
        np.testing.assert_array_equal(evaluate(plain, rows), evaluate(formula, rows))
        (values,) = ran(exported(formula, "numpy", operators=operators), rows)
        np.testing.assert_allclose(values, evaluate(formula, rows), rtol=1e-12)


def test_a_definition_that_is_no_formula_or_too_long_is_refused():
    other = replace(OPERATORS["sin"], name="sine")
    with pytest.raises(OutputError, match="'sine' is not defined by a formula"):
        exported(apply(other, Column("x")), "c")
    double = define_operator("double", "x*x*x*x", OPERATORS)
    deep = Column("x")
    for _ in range(12):
        deep = Apply(double, (deep,))
    with pytest.raises(OutputError, match="'double' comes to more than 20,000 parts"):
        exported(deep, "c")


def test_constants_are_computed_before_any_language_sees_them():
    assert str(computed_constants(parse("sqrt(2 + 2)*x + 1/4"))) == "2*x + 0.25"
    with pytest.raises(OutputError, match="has no value in any row: '1/0' is undefined"):
        computed_constants(parse("x + 1/0"))


def test_all_features_of_a_screen_and_the_model_of_a_fit(tmp_path, frame):
    (tmp_path / "g.toml").write_text(GRAMMAR)
    result = symscreen.screen(frame, operators=tmp_path / "g.toml", layers="ub", top=6)
    found = ran(exported(result, "numpy"), frame)
    ours = result.transform(frame).to_numpy().T
    np.testing.assert_allclose(found, ours, rtol=1e-12)
    save_bundle(result.expressions, tmp_path / "f.json", operators=operators_of_record(result.record))
    assert [str(one) for one in load_bundle(tmp_path / "f.json")] == result.table["expression"].tolist()
    fitted = symscreen.fit(frame, layers="ub", unary="square", binary="div")
    (values,) = ran(fitted.export("numpy"), frame)
    np.testing.assert_allclose(values, fitted.predict(frame), rtol=1e-12)
    assert fitted.export("sql") == exported(fitted.formula, "sql")
    assert exported(fitted, "latex") == fitted.formula.latex()


def test_wrong_targets_names_and_records_are_told():
    with pytest.raises(OptionError, match="there is no target 'pyhton'"):
        exported(parse("x"), "pyhton")
    with pytest.raises(OptionError, match="no formula needs a column 'x2'; known: x1"):
        exported(parse("x1"), "sql", names={"x2": "a"})
    with pytest.raises(OutputError, match="there are no formulas"):
        exported((), "sql")
    with pytest.raises(OutputError, match="give no others"):
        exported(parse("x1"), "latex", names={"x1": "a"})
    for grammar in ({"define": {"f": "sin(x)"}}, {"costs": 3}, {"define": {"f": "sin("}, "costs": {"f": 1}}):
        with pytest.raises(FormulaError, match="the record's operators cannot be read"):
            operators_of_record({"grammar": grammar})


def test_other_names_in_the_database():
    assert "`other name`" in exported(parse("x1"), "sqlite", names={"x1": "other name"})
    assert "columns['other name']" in exported(parse("x1"), "numpy", names={"x1": "other name"})
    assert "double other_name" in exported(parse("x1"), "c", names={"x1": "other name"})


def test_sympy_text_builds_the_sympy_form():
    import sympy

    formula = Formula("y", 3.0, (2.0,), (parse("`a b`**2 + sin(x)"),))
    # srepr is made to be read back with sympy's own names
    assert sympy.sympify(exported(formula, "sympy")) == formula.to_sympy()


def test_a_tower_of_powers_is_written_without_being_computed(monkeypatch):
    from sympy.core.expr import Expr

    def compared(*_):
        raise AssertionError("terms are compared by value, which takes half a minute here")

    monkeypatch.setattr(Expr, "as_terms", compared)
    assert "Pow(Integer(99), Integer(9))" in exported(parse("9**99**99**99**9*1e32 - 0*ax"), "sympy")


def test_identifiers_are_apart_and_comments_end_nowhere():
    made = identifiers([*NAMES, "X1", "x_1", "", "é", "1", "NAN", "x" * 99], ["for"])
    assert len({name.lower() for name in made.values()}) == len(made)
    assert all(name.isidentifier() and name.isascii() for name in made.values())
    for text in ("*/", "a\nb", "\\\n", "??/", "/**/", "*" * 9 + "/"):
        told = comment(text)
        assert not any(mark in told for mark in ("*/", "/*", "\n", "??", "\\\n"))
