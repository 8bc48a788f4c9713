"""The page of a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.report_cases import Page, hostile_frame

import symscreen
from symscreen.cli.command import run_command
from symscreen.report.fit_page import build_fit_html

SMALL = {"layers": "u", "unary": "square", "max_terms": 2, "effort": "quick"}


@pytest.fixture
def table(rng):
    frame = pd.DataFrame({"x": rng.uniform(1, 2, 60), "z": rng.uniform(1, 2, 60)})
    return frame.assign(y=2 * frame.x**2 - frame.z + rng.normal(0, 0.1, 60))


@pytest.fixture
def _no_pictures(monkeypatch):
    monkeypatch.setattr("symscreen.report.fit_page.draw_inline_svg", lambda *_, **__: "<svg></svg>")


def _get_titles(page):
    return page.texts["h2"]


@pytest.mark.slow
def test_a_page_has_the_law_its_pictures_its_tables_and_its_use(table):
    result = symscreen.fit(table, **SMALL)
    text = build_fit_html(result, data="d.csv")
    page = Page(text)
    assert result.formula.round_numbers(6).equation in page.texts["code"]
    for title in (
        "Predictions and residuals", "Partial dependence", "Terms", "Error against complexity",
        "Coefficients", "Use it elsewhere",
    ):  # fmt: skip
        assert title in _get_titles(page)
    n_terms, n_inputs = len(result.formula.terms), 2
    assert len(page.all("svg")) == 2 + n_inputs + n_terms + 1
    for export_format in ("numpy", "sql", "excel"):
        assert result.export(export_format).strip("\n") in page.texts["code"]
    assert "The first row of data has x in A2, z in B2." in " ".join(page.texts["p"])
    assert "symscreen fit d.csv --out model.json" in " ".join(page.texts["code"])
    assert len(page.all("caption")) == len(page.all("table"))
    again = symscreen.fit(table.sample(frac=1.0, random_state=1), **SMALL)
    assert build_fit_html(again, data="d.csv") == text


@pytest.mark.usefixtures("_no_pictures")
def test_the_front_marks_the_model_chosen_and_tells_its_error(table):
    result = symscreen.fit(table, **SMALL)
    page = Page(build_fit_html(result))
    (chosen,) = [text for text in page.texts["th"] if text.startswith("✓ ")]
    assert int(chosen.removeprefix("✓ ")) == result.front.complexity[result.front.chosen].item()
    assert [text for text in page.texts["td"] if text in set(result.front.formula)]


@pytest.mark.usefixtures("_no_pictures")
def test_several_targets_have_an_equation_each(table):
    shared = symscreen.fit(table.assign(w=table.x), target=["y", "w"], inputs=["x", "z"], **SMALL)
    page = Page(build_fit_html(shared))
    assert len(page.all("math")) == 2
    assert {"R² of w", "R² of y"} <= set(page.texts["dt"])


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_a_formula_by_groups_has_the_code_of_the_first_group(rng):
    frame = pd.DataFrame({"x": rng.uniform(1, 2, 90), "kind": np.repeat(["a", "b", "c"], 30)})
    frame["y"] = frame.x * frame.kind.map({"a": 1.0, "b": 2.0, "c": 5.0}) + rng.normal(0, 0.01, 90)
    page = Page(build_fit_html(symscreen.fit(frame, target="y", per="kind", **SMALL)))
    assert "The formula of the group a." in page.texts["p"]
    assert "Partial dependence" not in _get_titles(page)


@pytest.mark.slow
def test_hostile_names_are_text():
    text = build_fit_html(symscreen.fit(hostile_frame(np.random.default_rng(3)), **SMALL), data="<b>.csv")
    page = Page(text)
    assert len(page.all("script")) == 1
    assert page.all("img") == page.all("b") == []
    assert not set(text) & {"\x00", "\u202e"}


@pytest.mark.usefixtures("_no_pictures")
def test_the_verb_and_the_method_write_the_same_page(table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("d.csv", index=False)
    words = ["fit", "d.csv", "--layers", "u", "--unary", "square", "--max-terms", "2", "--effort", "quick"]
    words += ["--no-baselines", "--report", "law.html"]
    assert run_command(words) == 0
    assert "written: law.html" in capsys.readouterr().err
    symscreen.fit("d.csv", **SMALL).report("own.html", data="d.csv")
    assert (tmp_path / "law.html").read_bytes() == (tmp_path / "own.html").read_bytes()
    assert run_command(words) == 2
    assert "exists and is not overwritten" in capsys.readouterr().err
    assert run_command([*words[:-1], "d.json", "--out", "d.json"]) == 2
    assert "--out and --report are the same" in capsys.readouterr().err
