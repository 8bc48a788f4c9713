"""Results as objects: rows, texts, files and pages."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from helpers.report_cases import Page

import symscreen
from symscreen.errors import OptionError
from symscreen.expressions.printing import to_latex

OPTIONS = {"layers": "ub", "unary": "square", "binary": "mul", "top": 4, "jobs": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    x, z = rng.uniform(0.5, 2.0, (2, 60))
    return pd.DataFrame({"x": x, "z": z, "y": x**2 * z + rng.normal(0.0, 0.05, 60)})


@pytest.fixture(scope="module")
def result(table):
    return symscreen.screen(table, **OPTIONS)


def test_a_result_is_a_sequence_of_its_features(result):
    assert len(result) == 4
    assert [feature.text for feature in result] == result.table["expression"].tolist()
    assert [feature.rank for feature in result] == [1, 2, 3, 4]
    assert result[-1].text == result[3].text
    assert [feature.rank for feature in result[1:3]] == [2, 3]
    assert result[np.int64(2)].rank == 3


def test_a_feature_has_its_formula_and_its_row(result):
    best = result[0]
    assert best.expression is result.expressions[0]
    assert dict(best.row) == {str(name): value for name, value in result.table.iloc[0].items()}
    assert best.to_latex() == to_latex(best.expression)
    symbols = {str(symbol): symbol for symbol in best.to_sympy().free_symbols}
    assert float(best.to_sympy().subs({symbols["x"]: 3, symbols["z"]: 5})) == 45.0
    assert str(best) == best.text
    assert repr(best).startswith(f"<RankedFeature 1: {best.text}; complexity ")
    page = Page(best._repr_html_())
    assert len(page.all("math")) == 1


@pytest.mark.parametrize("index", ["x", 1.5, None, (0, 1)])
def test_a_wrong_index_gets_one_line(result, index):
    with pytest.raises(
        OptionError, match=r"^a result is indexed by integers, from 0, and .* is none: the col"
    ):
        result[index]


def test_an_index_past_the_end_is_an_index_error(result):
    with pytest.raises(IndexError, match=r"^there is no feature 4: the result has 4, from 0$"):
        result[4]


def test_a_saved_result_is_read_again(result, table, tmp_path):
    for name in ("r.csv", "r.json"):
        result.save(tmp_path / name)
        again = symscreen.load_result(tmp_path / name, table)
        pd.testing.assert_frame_equal(again.table, result.table, check_dtype=False)
        with pytest.raises(symscreen.SymscreenError, match="exists"):
            result.save(tmp_path / name)
        result.save(tmp_path / name, force=True)


@pytest.mark.slow
def test_a_report_is_a_page(result, tmp_path):
    result.report(tmp_path / "r.html")
    assert result[0].text in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_fit_begins_with_the_features(result, table):
    quick = {"layers": "u", "unary": "square", "effort": "quick", "jobs": 1}
    fitted = result.fit(**quick)
    assert fitted.formula == symscreen.fit(table, also=result, **quick).formula
    assert result.fit(table, **quick).formula == fitted.formula
    assert "z*x**2" in str(fitted.formula)
    with pytest.raises(OptionError, match=r"^fit needs X here: a copy of a result has no data"):
        copy.deepcopy(result).fit(**quick)


def test_summaries_show_every_row(result, table):
    lines = result.summary().splitlines()
    assert lines[0] == f"{result.n_scored:,} features of 2 inputs scored against y in 60 rows by t0; 4 shown"
    assert all(any(text in line for line in lines) for text in result.table["expression"])
    fitted = symscreen.fit(table, layers="u", unary="square", effort="quick", jobs=1)
    text = fitted.summary()
    assert text.startswith("y = ")
    assert f"R² = {fitted.r2:.6g}" in text
    assert fitted.verdict in text
    for part in ("terms", "front"):
        assert f"\n{part}\n" in text


@pytest.mark.slow
def test_a_plan_an_explanation_and_a_power_analysis_are_read_in_a_notebook(table):
    options = {"layers": "u", "unary": "square", "jobs": 1}
    plan = symscreen.plan(table, **options)
    page = Page(plan._repr_html_())
    assert len(page.all("table")) == 1
    assert page.texts["th"][:3] == ["layer", "kind", "generated"]
    assert f"{plan.n_features} features to score" in " ".join(repr(plan).split())

    explanation = symscreen.why(table, "x**2", **options)
    page = Page(explanation._repr_html_())
    assert page.texts["strong"] == [str(explanation).splitlines()[0]]
    assert repr(explanation) == str(explanation)

    power = symscreen.power(table, truth="x**2", noise_ratio=[0, 1], repeats=2, **options)
    page = Page(power._repr_html_())
    assert page.texts["th"][:3] == ["noise ratio", "repeats", "found"]
    assert len(page.all("tr")) == 3
    assert repr(power).startswith("planted: x**2, on 60 rows\n")


@pytest.mark.slow
def test_names_are_text_in_every_view(table):
    hostile = table.rename(columns={"x": "<b>x</b>\x00"})
    options = {"layers": "u", "unary": "square", "jobs": 1}
    views = (
        symscreen.plan(hostile, **options),
        symscreen.why(hostile, "`<b>x</b>\x00`**2", **options),
        symscreen.power(hostile, truth="`<b>x</b>\x00`**2", noise_ratio=[0], repeats=1, **options),
        symscreen.screen(hostile, **options)[0],
    )
    for view in views:
        assert Page(view._repr_html_()).all("b") == []
        assert "\x00" not in view._repr_html_() + repr(view)


@pytest.mark.slow
def test_subsets_equations_of_motion_and_studies_are_read_in_a_notebook(table, tmp_path):
    subsets = symscreen.find_best_subsets(table, target="y", n_best=1)
    page = Page(subsets._repr_html_())
    assert len(page.all("math")) == 1
    assert page.texts["th"][:3] == ["r2", "unexplained", "formula"]
    assert subsets.certificate in page.texts["p"]

    t = np.linspace(0.0, 4.0, 81)
    found = symscreen.discover_ode(
        {"t": t, "x": np.exp(-0.5 * t)}, time="t", states="x", operators=["mul"], max_terms=2
    )
    page = Page(found._repr_html_())
    assert len(page.all("math")) == 1
    assert page.texts["code"] == list(found.equations)

    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    study = symscreen.run_study(path, layers="u", unary="square", jobs=1, force=True)
    page = Page(study._repr_html_())
    assert study.screen.verdict in page.texts["strong"]
    assert study.fit.verdict in page.texts["p"]
