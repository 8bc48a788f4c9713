"""The section of a page on a fitted formula."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.report_cases import Page, hostile_frame

import symscreen
from symscreen.report.fit_page import build_fit_html
from symscreen.report.fit_section import build_fit_section
from symscreen.report.html_page import build_report_html

FIT = {"layers": "u", "unary": "square", "max_terms": 1}


@pytest.fixture
def fitted(frame):
    frame["target"] = 2 * frame.x1**2 + 1
    return symscreen.fit(frame, **FIT)


@pytest.mark.slow
def test_a_page_shows_the_formula_with_its_coefficients(frame, fitted):
    screened = symscreen.screen(frame, layers="u", unary="square", top=3)
    page = Page(build_report_html(screened, fit=fitted))
    assert "target = 1 + 2*x1**2" in page.texts["code"]
    text = page.texts["header"][0]
    assert "exact: the formula leaves nothing but rounding" in text
    assert "R²: 1." in text
    assert "formulas do better than noise" not in text
    assert {"href": "#fit"} in page.all("a")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {each["aria-labelledby"] for _, each in page.elements if "aria-labelledby" in each} <= set(ids)
    assert len(page.all("caption")) == len(page.all("table"))


@pytest.mark.slow
def test_a_page_without_a_fit_has_no_such_section(frame):
    page = Page(build_report_html(symscreen.screen(frame, layers="u", unary="square", top=3)))
    assert {"href": "#fit"} not in page.all("a")


def test_each_of_several_targets_has_its_equation(frame):
    shared = symscreen.fit(
        frame.assign(other=frame.x2), target=["target", "other"], inputs=["x1", "x3"], **FIT
    )
    section = build_fit_section(shared)
    assert [each["text"].split(" = ")[0] for each in section["equations"]] == list(shared.targets)
    shown = {"low": "from (95 %)", "high": "to"}
    assert section["headings"] == [shown.get(str(name), str(name)) for name in shared.terms.columns]
    assert len(section["rows"]) == len(shared.terms)
    assert any(text.startswith("R² of other: ") for text in section["statements"])


def test_a_page_shows_the_intervals_of_simple_and_fitted_numbers(rng):
    x, b = rng.uniform(0.5, 10.0, (2, 200))
    law = symscreen.fit({"x": x, "b": b}, 2 * np.pi * b * np.exp(-0.3127 * x) + 0.02 * rng.normal(size=200))
    section = build_fit_section(law)["numbers"]
    simple, fitted = (dict(zip(section["headings"], row, strict=True)) for row in section["rows"])
    assert (simple["number"], simple["name"]) == ("6.28319", "2*pi")
    assert float(simple["p-value"]) > 0.001
    assert fitted["number"] == f"{law.record['numbers'][1]['number']:.6g}".replace("-", "−")
    assert (fitted["name"], fitted["p-value"]) == ("", "")
    assert "Simple numbers and those inside the terms" in build_fit_html(law)


@pytest.mark.slow
def test_hostile_names_are_text():
    frame = hostile_frame(np.random.default_rng(3))
    fitted = symscreen.fit(frame, layers="u", unary="square", max_terms=2)
    screened = symscreen.screen(frame, layers="u", unary="square", top=2)
    text = build_report_html(screened, fit=fitted)
    page = Page(text)
    assert len(page.all("script")) == 1
    assert page.all("img") == page.all("b") == []
    assert not set(text) & {"\x00", "\u202e"}
