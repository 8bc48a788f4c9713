from __future__ import annotations

import base64
import copy
import hashlib
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.report_cases import NAMES, TARGET, Page, hostile_frame

import symscreen
from symscreen.errors import OptionError, OutputError
from symscreen.report.html_page import build_report_html, write_report
from symscreen.report.page_template import check_report


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.uniform(0.5, 2.0, 60) for name in ("x1", "x2", "x3")})
    frame["target"] = frame.x1**2 + frame.x2 / frame.x3 + rng.normal(0, 0.1, 60)
    return symscreen.screen(frame, layers="ub", unary="log,square", binary="sub,div", screener="t0,xi", top=5)


@pytest.fixture(scope="module")
def text(result):
    return build_report_html(result, data="d.csv")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture
def without_pictures(monkeypatch):
    """Return a function that leaves out the pictures, whose drawing takes most of the time."""

    def leave_out():
        monkeypatch.setattr("symscreen.report.html_page.draw_inline_svg", lambda *_, **__: "")

    return leave_out


@pytest.fixture
def _no_pictures(without_pictures):
    without_pictures()


def _cells(page):
    return [attributes for attributes in page.all("td") if "data-k" in attributes]


@pytest.mark.slow
def test_a_page_holds_the_ranking(result, page):
    formulas = [cell["data-v"] for cell in page.all("td") if cell.get("class") == "formula"]
    assert formulas == result.table.expression.tolist()
    complexities = [int(cell["data-v"]) for cell in _cells(page) if cell["data-k"] == "compl."]
    assert complexities == result.table.complexity.tolist()
    assert len(page.all("math")) == 5 + 1  # the first formula stands above the list, too
    assert page.texts["code"][-2].startswith("symscreen screen d.csv --target target ")
    assert result.record["data"]["digest"] in page.texts["code"][-1]


def test_a_page_tells_the_funnel(result, page):
    text = page.texts["section"][3]
    for layer in result.record["layers"]:
        assert f"{layer['generated']:,}" in text
        assert all(reason in text for reason in layer["pruned"])


def test_a_page_is_for_readers_of_every_kind(page):
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == 1
    assert all(svg["role"] == "img" and svg["aria-label"] for svg in page.all("svg"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(head["scope"] in {"col", "row"} for head in page.all("th"))
    assert [head["aria-sort"] for head in page.all("th") if "aria-sort" in head] == ["ascending"]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [
        attributes[name]
        for _, attributes in page.elements
        for name in ("aria-labelledby",)
        if name in attributes
    ]
    linked = [link["href"].removeprefix("#") for link in page.all("a")]
    assert set(named) | set(linked) <= set(ids)


def test_a_page_loads_nothing_and_allows_its_own_script_only(text, page):
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "xlink:href"} & set(attributes), tag
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"https?://|@import|url\(", text)
    (policy,) = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    (script,) = page.texts["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"\beval\b|innerHTML|Function\(", script)


@pytest.mark.slow
def test_hostile_names_are_text(rng):
    frame = hostile_frame(rng)
    result = symscreen.screen(frame, layers="b", binary="mul,sub", screener="t0,xi", top=20)
    text = build_report_html(result, data="<b>.csv")
    page = Page(text)
    assert len(page.all("script")) == 1
    assert page.all("img") == page.all("b") == []
    assert page.texts["title"] == [f"{TARGET} – symscreen"]
    assert page.texts["h1"] == [f"Formulas for {TARGET}"]
    assert not set(text) & {"\x00", "\u202e"}
    assert r"a\u202eb" in text
    assert r"\x00nul" in text
    assert "{{ 7*7 }}" in text
    shown = " ".join(page.texts["mtext"])
    assert all(name in shown.replace("\xa0", " ") for name in NAMES[:3])
    assert not [value for _, attributes in page.elements for value in attributes if "onmouse" in value]


@pytest.mark.slow
def test_a_page_of_200_features_is_light(frame):
    few, many = (
        len(
            build_report_html(
                symscreen.screen(frame, screener="t0,xi,spearman", layers="ub", top=top)
            ).encode()
        )
        for top in (1, 6)
    )
    assert few + 200 * (many - few) / 5 < 1.5e6


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_of_a_long_ranking_the_best_are_shown(frame, monkeypatch):
    monkeypatch.setattr("symscreen.report.html_page.MAX_FEATURES", 3)
    page = Page(build_report_html(symscreen.screen(frame, layers="u", top="all")))
    assert len(page.all("math")) == 3 + 1
    assert "The best 3 are shown here; a file of the ranking holds all of them." in page.texts["header"][0]


@pytest.mark.slow
def test_equal_results_give_equal_pages(frame):
    options = {"layers": "u", "unary": "log", "top": 2}
    again = symscreen.screen(frame.sample(frac=1.0, random_state=1), **options)
    assert build_report_html(symscreen.screen(frame, **options)) == build_report_html(again)


@pytest.mark.slow
def test_what_a_result_lacks_is_left_out(frame, rng, without_pictures):
    one = symscreen.screen(frame, layers="u", unary="log", top=1, p_values=False)
    page = Page(build_report_html(one))
    assert not {"redundancy", "agreement", "p-values"} & {each.get("id") for each in page.all("section")}
    lost = Page(build_report_html(copy.copy(one)))
    assert len(page.all("svg")) - len(lost.all("svg")) == 3  # the target, the first formula, the list
    ranks = pd.DataFrame({"x": rng.normal(size=30), "z": rng.normal(size=30), "r": ["a>b", "b>a"] * 15})
    without_pictures()
    options = {"ranking": "r", "layers": "b", "binary": "mul", "top": 3, "max_correlation": 1}
    ranking = Page(build_report_html(symscreen.screen(ranks, **options)))
    assert len(ranking.all("math")) == 3 + 1
    assert "dir." not in ranking.texts["thead"][0]
    negative = pd.DataFrame({"x": -rng.uniform(1, 2, 20), "y": rng.normal(size=20)})
    empty = symscreen.screen(negative, layers="u", unary="log,sqrt", pool="strict")
    assert "No feature is left." in Page(build_report_html(empty)).texts["section"][1]


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_what_a_result_has_is_shown(result):
    table = result.table.assign(p_value=0.01, q_value=0.02, stability=0.9, gini_low=-0.25, gini_high=0.75)
    verdict = {"kind": "signal", "by": "q_value", "rate": 0.05, "passing": 7, "least": 0.01}
    control = {"fdr": 0.05, "passing": 7, "tests": 8, "histogram": [5, 1, 0, 2], "source": "null"}
    record = {**result.record, "error_control": control, "verdict": verdict, "intervals": {"level": 0.9}}
    known = copy.copy(result)
    object.__setattr__(known, "table", table)
    object.__setattr__(known, "record", record)
    page = Page(build_report_html(known))
    heads = page.texts["thead"][0].split()
    assert {"p", "q", "stability"} <= set(heads)
    assert not {"low", "high"} & set(heads)
    first = next(cell["data-v"] for cell in _cells(page) if cell["data-k"] == "Gini (90 %)")
    assert first == "1"
    assert {"−0.25 to 0.75", "rank 1"} <= set(page.texts["small"])
    assert "7 of 8 formulas do better than noise (false discovery rate 5 %)." in page.texts["header"][0]
    assert "p-values" in {each.get("id") for each in page.all("section")}


def test_a_report_is_refused_before_any_work(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match=r"a report is an HTML page; give a name that ends in \.html"):
        check_report(tmp_path / "report.pdf")
    there = tmp_path / "there.html"
    there.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="exists and is not overwritten"):
        check_report(there)
    check_report(there, force=True)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "jinja2", None)
        with pytest.raises(OptionError, match=r"a report needs jinja2: pip install 'symscreen\[report\]'"):
            check_report(tmp_path / "new.html")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"pip install 'symscreen\[plot\]'"):
        check_report(tmp_path / "new.html")


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_a_report_is_written_whole(result, tmp_path):
    write_report(result, tmp_path / "r.html", data="d.csv")
    expected = build_report_html(result, data="d.csv")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == expected


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_near_equal_formulas_are_folded_below_the_one_that_stands_for_them(frame):
    result = symscreen.screen(frame, layers="ub", unary="square,cube", binary="mul", top=4, class_members=3)
    page = Page(build_report_html(result))
    known = [each for group in result.record["redundancy"]["shown"] for each in group["features"]]
    members = [each for group in result.record["classes"]["shown"] for each in group["members"]]
    others = [each["expression"] for each in members if each["relation"] != "shown"]
    assert known
    assert others
    assert {each["expression"] for each in known} | set(others) <= set(page.texts["li"])
    alike = [cell["data-v"] for cell in _cells(page) if cell["data-k"] == "alike"]
    counts = [text for text in page.texts["summary"] if text.endswith("alike")]
    others = [int(count) - 1 for count in alike if int(count) > 1]
    assert counts == [f"{n:,} more that {'is' if n == 1 else 'are'} alike" for n in others]


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_the_first_formula_stands_above_the_list_with_its_straight_line(frame):
    frame["target"] = 3.0 - 2.0 * frame.x1**2
    page = Page(build_report_html(symscreen.screen(frame, layers="u", unary="square", top=2)))
    best = next(text for text in page.texts["section"] if "The first formula" in text)
    # x1 has the order of its square here, so that both are one class, which x1**2 represents
    assert "x1**2" in best
    assert "target ≈ 3 − 2 × formula, R² = 1.000" in best


@pytest.mark.slow
@pytest.mark.usefixtures("_no_pictures")
def test_a_page_with_a_fit_has_the_notices_of_the_fit_once(result):
    rng = np.random.default_rng(5)
    x = rng.uniform(0.5, 2.0, 60)
    fitted = symscreen.fit({"x1": x, "target": x**2 + 0.1 * rng.normal(size=60)}, target="target", layers="u")
    notice = next(each for each in fitted.notices if "the intervals ignore" in each)
    text = build_report_html(result, data="d.csv", fit=fitted)
    assert text.count(notice.split(";")[0]) == 1
    shared = replace(fitted, notices=(*result.notices, "a notice of both"))
    both = build_report_html(replace(result, notices=shared.notices), data="d.csv", fit=shared)
    assert both.count("a notice of both") == 1
