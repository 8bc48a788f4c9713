from __future__ import annotations

from dataclasses import replace

from helpers.report_cases import Page, hostile_frame

import symscreen
from symscreen.expressions.printing import to_latex


def test_a_notebook_typesets_the_formulas(frame):
    result = symscreen.screen(frame, layers="ub", unary="log", binary="div", screener="t0,xi", top=4)
    page = Page(result._repr_html_())
    assert len(page.all("math")) == 4
    assert [cell["title"] for cell in page.all("td") if "title" in cell] == result.table.expression.tolist()
    assert page.texts["p"][:2] == [result.verdict, f"4 shown of {result.n_scored:,} features scored"]
    assert any(text.startswith("Gini: the Gini correlation: 1 is the order") for text in page.texts["p"])
    latex = result._repr_latex_()
    assert latex.startswith("$$")
    for place, expression in enumerate(result.expressions, start=1):
        assert f"{place} & {to_latex(expression)}" in latex


def test_names_are_text_in_a_notebook(rng):
    result = symscreen.screen(hostile_frame(rng), layers="b", binary="mul", top=20)
    text = result._repr_html_()
    page = Page(text)
    assert page.all("script") == page.all("img") == page.all("b") == []
    assert not set(text) & {"\x00", "\u202e"}


def test_a_result_without_views_shows_its_table(frame):
    result = replace(symscreen.screen(frame, layers="u", top=2), renderers=None)
    assert "<table" in result._repr_html_()
    assert result._repr_latex_() is None
