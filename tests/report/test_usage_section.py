"""The section on the use of a formula elsewhere."""

from __future__ import annotations

from symscreen.export import export_formulas
from symscreen.expressions.tree import parse_expression
from symscreen.report.usage_section import build_usages


def test_each_format_has_the_text_of_its_exporter():
    formula = parse_expression("x1 - cos(x2)/x1")
    python, sql, excel = build_usages(formula)
    assert python["code"] == export_formulas(formula, "numpy").strip("\n")
    assert sql["code"] == export_formulas(formula, "sql").strip("\n")
    assert excel["code"] == export_formulas(formula, "excel")
    assert excel["text"].endswith("x1 in A2, x2 in B2.")


def test_a_format_that_cannot_have_the_formula_says_why():
    excel = build_usages(parse_expression("x + 1e-310"))[2]
    assert excel["code"] == ""
    assert "2.2251E-308" in excel["text"]
