"""Every kind of page in Chromium: at three widths, light and dark, by keyboard, and with 500 rows."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from helpers.browser import WIDTHS, open_browser
from helpers.requirements import needs

import symscreen
from symscreen.report import html_page
from symscreen.report.fit_page import build_fit_html
from symscreen.report.html_page import build_report_html
from symscreen.report.system_page import build_system_html

pytestmark = [needs("chromium"), needs("playwright"), needs("axe"), pytest.mark.slow]

PAGES = ("screen", "fit", "system")


def _make_frame():
    """Make a table with long names, ties, categories and missing values."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "dose of the drug": rng.choice([0, 5, 10, 20, 40], 90).astype(float),
            "weight at the first visit": rng.normal(75, 12, 90).round(),
            "site": rng.choice(["north", "south"], 90),
            "age": rng.integers(18, 80, 90).astype(float),
        }
    )
    frame.loc[[3, 5], "age"] = np.nan
    outcome = frame.age * np.sqrt(frame["dose of the drug"]) / frame["weight at the first visit"]
    return frame.assign(outcome=(outcome + rng.normal(0, 0.5, 90)).round())


def _make_system():
    time = np.linspace(0.0, 6.0, 40)
    table = {"t": time, "position": np.cos(time), "velocity": -np.sin(time)}
    return symscreen.discover_ode(table, states=["position", "velocity"], effort="quick", max_terms=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the three pages; the screen is one of several screeners with intervals."""
    place, frame = tmp_path_factory.mktemp("pages"), _make_frame()
    options = {"layers": "ub", "unary": "sqrt,log,square", "binary": "add,mul,div"}
    screened = symscreen.screen(frame, screener="t0,xi,spearman", intervals=0.95, top=6, **options)
    fitted = symscreen.fit(frame, layers="ub", unary="sqrt", binary="mul", max_terms=3, effort="quick")
    texts = {
        "screen": build_report_html(screened, data="d.csv"),
        "fit": build_fit_html(fitted),
        "system": build_system_html(_make_system()),
    }
    for name, text in texts.items():
        (place / f"{name}.html").write_text(text, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def open_page():
    with open_browser() as opened:
        yield opened


@pytest.mark.parametrize("name", PAGES)
def test_a_page_hides_nothing_and_has_no_violation_at_three_widths(folder, open_page, name):
    page = open_page(folder / f"{name}.html")
    for width in WIDTHS:
        page.resize(width)
        assert page.find_faults() == [], width
        assert page.find_violations() == [], width
    assert page.console == []


@pytest.mark.parametrize("name", PAGES)
def test_a_dark_page_with_open_folds_hides_nothing_either(folder, open_page, name):
    page = open_page(folder / f"{name}.html", width=WIDTHS[0], scheme="dark")
    page.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.resize(WIDTHS[0])
    assert page.find_faults() == []
    assert page.find_violations() == []
    assert page.console == []


def test_the_checks_find_what_is_wrong(open_page, tmp_path):
    wide = "<div style='width: 3000px'>wide</div>"
    boxes = f"<div style='overflow: hidden'>{wide}</div><div style='overflow: auto'>{wide}</div>"
    path = tmp_path / "bad.html"
    path.write_text(f"<title>bad</title><body>{wide}{boxes}<button></button><script>nothing()</script>")
    page = open_page(path)
    assert {fault.partition(":")[0] for fault in page.find_faults()} == {
        "the page scrolls sideways", "beyond the page", "clipped", "out of reach",
    }  # fmt: skip
    assert {each.partition(":")[0] for each in page.find_violations()} >= {"button-name", "html-has-lang"}
    assert page.console


@pytest.mark.parametrize("name", PAGES)
def test_headings_go_down_one_level_at_a_time(folder, open_page, name):
    page = open_page(folder / f"{name}.html").page
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("name", PAGES)
def test_every_table_has_a_caption_and_every_heading_a_scope(folder, open_page, name):
    page = open_page(folder / f"{name}.html").page
    assert page.locator("table").count() == page.locator("table > caption").count() > 0
    assert page.locator("th:not([scope])").count() == 0


def test_the_ranking_fits_and_its_columns_are_sorted_by_keyboard(folder, open_page):
    page = open_page(folder / "screen.html").page
    box = "document.querySelector('#ranking').parentElement"
    for width in WIDTHS[1:]:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth"), width
    spilling = (
        "[...document.querySelectorAll('#ranking td')].filter((one) => one.scrollWidth > one.clientWidth + 1)"
    )
    for width in (*WIDTHS, 1000):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(f"{spilling}.length") == 0, width
    page.set_viewport_size({"width": 1280, "height": 900})
    heading = page.locator("#ranking th", has_text="Gini")
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.locator("[aria-sort]").count() == 1


def test_what_has_the_focus_shows_it(folder, open_page):
    page = open_page(folder / "screen.html").page
    outlines = []
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement !== document.body"):
        outlines.append(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
        page.keyboard.press("Tab")
    assert len(outlines) > 20
    assert set(outlines) == {"solid"}


def test_on_a_phone_hidden_headings_take_no_focus(folder, open_page):
    page = open_page(folder / "screen.html", width=WIDTHS[0]).page
    assert not page.locator("#ranking thead").is_visible()
    assert page.locator("#sort").is_visible()
    assert not open_page(folder / "screen.html").page.locator("#sort").is_visible()


def test_on_paper_everything_is_black_on_white_and_nothing_scrolls(folder, open_page):
    page = open_page(folder / "screen.html", scheme="dark").page
    page.emulate_media(media="print")
    style = page.evaluate(
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    assert style == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert not page.locator("nav").is_visible()
    assert not page.locator("#tools").is_visible()
    boxes = "[...document.querySelectorAll('.scroll')].map((one) => getComputedStyle(one).overflowX)"
    assert set(page.evaluate(boxes)) == {"visible"}


def test_a_page_of_500_rows_is_light_and_is_sorted(open_page, tmp_path, monkeypatch):
    # thumbnails take long to draw, so a text that is longer than one stands for each of the first 200
    frame = _make_frame()
    options = {"layers": "bb", "binary": "mul,sub,div", "screener": "t0,xi,spearman", "max_correlation": 1}
    picture = "<svg role='img' aria-label='x'>" + "<path d='M0 0'/>" * 400 + "</svg>"
    result = symscreen.screen(frame, top=500, **options)
    assert len(html_page._draw_thumbnail(result, 0)) < len(picture)
    monkeypatch.setattr(html_page, "draw_inline_svg", lambda *_, **__: picture)
    text = build_report_html(result)
    assert text.count("<tr role") == 501
    assert len(text.encode()) < 3e6
    path = tmp_path / "long.html"
    path.write_text(text, encoding="utf-8")
    opened = open_page(path)
    opened.page.locator("#ranking th", has_text="compl.").locator("button").click()
    sorted_keys = opened.page.evaluate(
        "[...document.querySelectorAll('#ranking td[data-k=\"compl.\"]')].map((one) => Number(one.dataset.v))"
    )
    assert len(sorted_keys) == 500
    assert sorted_keys == sorted(sorted_keys)
    assert opened.console == []
