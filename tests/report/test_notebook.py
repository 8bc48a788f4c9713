from __future__ import annotations

from dataclasses import replace

from helpers.report_cases import Page, hostile_frame

import symscreen
from symscreen.expressions.printing import to_latex
from symscreen.report.figures import style


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


def test_a_notebook_shows_a_small_picture(frame, monkeypatch):
    screened = symscreen.screen(frame, layers="u", top=2)
    fitted = symscreen.fit(frame, layers="u", operators="ablation")
    for result, name in (
        (screened, "Target against the feature of rank 1"),
        (fitted, "Observed against predicted target"),
        (fitted.plot, "Observed against predicted target"),
    ):
        (picture,) = Page(result._repr_html_()).all("svg")
        assert (picture["role"], picture["aria-label"]) == ("img", name)
    without_rows = replace(fitted, data=None)
    assert Page(without_rows._repr_html_()).all("svg") == []
    monkeypatch.setattr(style, "find_spec", lambda _: None)
    assert [Page(each._repr_html_()).all("svg") for each in (screened, fitted)] == [[], []]


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
