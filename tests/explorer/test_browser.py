"""The local page in Chromium: list, sliders, rows, typed formulas, exports, and no fault at three widths."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers.explorer_cases import store_cases
from helpers.report_cases import NAMES, hostile_frame
from helpers.requirements import needs, require

import symscreen
from symscreen.export import export_formulas

pytestmark = [needs("chromium"), needs("playwright"), needs("axe"), pytest.mark.slow]

WIDTHS = [(390, 844), (1280, 900), (1920, 1080)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return store_cases(tmp_path_factory.mktemp("explored"))


@pytest.fixture(scope="module")
def browser():
    require("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=require("chromium"), args=["--no-sandbox"])
        yield opened
        opened.close()


def _serve(*words):
    """Start the verb, yield the address of the page, and end the verb."""
    command = [sys.executable, "-m", "symscreen", "explore", *words, "--no-browser", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(scope="module")
def address(stored):
    yield from _serve(stored.ranking, "--data", stored.data)


@pytest.fixture(scope="module")
def model_address(stored):
    yield from _serve(stored.model, "--data", stored.data)


@pytest.fixture(scope="module")
def hostile_address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    frame = hostile_frame(np.random.default_rng(9))
    frame.to_parquet(folder / "d.parquet")
    symscreen.screen(frame, layers="ub", unary="square", binary="mul", top=20, jobs=1).save(folder / "r.json")
    yield from _serve(str(folder / "r.json"), "--data", str(folder / "d.parquet"))


def _open(browser, address, size=(1280, 900), **details):
    """Return a page that has started, and what its console says."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **details)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
    page.goto(address)
    page.wait_for_selector("main:not([aria-busy])")
    page.wait_for_selector("#points circle.dot", state="attached")
    return page, said


def _list_texts(page):
    return page.locator("#formulas tbody tr:visible code").all_text_contents()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", WIDTHS)
def test_the_page_has_no_fault_at_any_width(browser, address, model_address, hostile_address, size, scheme):
    from axe_core_python.sync_playwright import Axe

    for each in (address, model_address, hostile_address):
        page, said = _open(browser, each, size, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        violations = Axe().run(page)["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
        assert said == []
        page.context.close()


def test_the_list_is_filtered_by_words_and_sliders_and_sorted(browser, address, stored):
    page, said = _open(browser, address)
    texts = stored.result.table["expression"].tolist()
    assert _list_texts(page) == texts
    page.fill("#filter", "X1 **2")
    words = page.input_value("#filter").lower().split()
    assert _list_texts(page) == [text for text in texts if all(word in text for word in words)]
    page.fill("#filter", "")
    page.locator("#max-complexity").focus()
    page.keyboard.press("Home")
    simple = stored.result.table["complexity"] == stored.result.table["complexity"].min()
    assert _list_texts(page) == [text for text, kept in zip(texts, simple, strict=True) if kept]
    assert page.text_content("#status") == f"{int(simple.sum())} of 12 shown"
    page.keyboard.press("End")
    page.locator("#max-loss").focus()
    page.keyboard.press("Home")
    assert _list_texts(page) == texts[:1]
    page.keyboard.press("End")
    page.click("#formulas thead >> text=compl.")
    order = stored.result.table["complexity"].argsort(kind="stable")
    assert _list_texts(page) == [texts[place] for place in order]
    assert page.get_attribute("#formulas thead th:nth-child(3)", "aria-sort") == "ascending"
    page.click("#formulas thead >> text=compl.")
    assert page.get_attribute("#formulas thead th:nth-child(3)", "aria-sort") == "descending"
    assert said == []


def test_a_click_traces_a_formula_and_a_row_shows_its_values(browser, address, stored):
    page, said = _open(browser, address)
    with page.expect_response("**/points?formula=3"):
        page.click("#formulas tbody tr:nth-child(4) button")
    page.wait_for_selector("#shown-title >> text=Formula 4")
    assert page.text_content("#text") == stored.result.table["expression"].iloc[3]
    assert page.locator("#formulas tbody tr:nth-child(4)").get_attribute("aria-current") == "true"
    assert page.locator("#points path.trace").count() == 1
    page.locator("#points").focus()
    page.keyboard.press("Home")
    spoken = page.get_attribute("#points", "aria-valuetext")
    assert {"row", "y", "formula", "rank curve", "x1", "x2", "a b"} == set(
        page.locator("#row dt").all_text_contents()
    )
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#points", "aria-valuetext") != spoken
    circle = page.locator("#points circle.dot").nth(5)
    box = circle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#points circle.ring").get_attribute("cx") == circle.get_attribute("cx")
    page.select_option("#axis", label="x2")
    assert page.locator("#points path.trace").count() == 0
    assert page.locator("#points circle.traced").count() == 80
    assert said == []


def test_a_click_in_the_front_chooses_a_formula(browser, address):
    page, said = _open(browser, address)
    circle = page.locator("#front circle.dot").nth(11)
    box = circle.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#formulas tr[aria-current]").count() == 1
    ring = page.locator("#front circle.ring")
    assert float(ring.get_attribute("cx")) == pytest.approx(float(circle.get_attribute("cx")), abs=1)
    assert said == []


def test_a_typed_formula_is_answered_and_traced(browser, address, stored):
    page, said = _open(browser, address)
    page.fill("#typed", "sin(x1)")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer >> text=is not generated")
    assert page.text_content("#shown-title") == "Typed formula"
    assert page.locator("#points circle.dot").count() == 80
    assert page.is_hidden("#exports")
    page.fill("#typed", stored.result.table["expression"].iloc[2])
    page.click("#ask button")
    page.click("#answer >> text=Show it in the list")
    assert page.text_content("#shown-title") == "Formula 3"
    assert said == []
    page.fill("#typed", "x1 +")
    page.click("#ask button")
    page.wait_for_selector("#answer >> text=found the end")
    assert all("422" in line for line in said)  # which the browser itself writes down


def test_exports_are_shown_copied_and_saved(browser, address, stored):
    page, said = _open(browser, address)
    expected = export_formulas(stored.result.expressions[:1], "sql")
    page.click("#exports >> text=SQL")
    page.wait_for_selector("#exported")
    assert page.text_content("#exported-text") == expected
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "formula-1.sql"
    assert download.value.path().read_text() == expected
    page.click("#exports >> text=CSV of the whole list")
    page.wait_for_selector("#exported-text >> text=rank,expression")
    assert said == []


def test_arrow_keys_walk_through_the_list(browser, address):
    page, said = _open(browser, address)
    page.focus("#formulas tbody tr:nth-child(1) button")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    with page.expect_response("**/points?formula=1"):
        page.keyboard.press("Enter")
    assert said == []


def test_hostile_names_are_texts(browser, hostile_address):
    page, said = _open(browser, hostile_address)
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    options = page.locator("#axis option").all_text_contents()
    assert NAMES[0] in options
    assert NAMES[1] in options
    assert said == []


def test_a_server_that_has_ended_is_told(browser, stored):
    serving = _serve(stored.ranking, "--data", stored.data)
    page, said = _open(browser, next(serving))
    with pytest.raises(StopIteration):
        next(serving)
    page.click("#formulas tbody tr:nth-child(3) button")
    page.wait_for_selector("#failure >> text=The server has ended")
    assert all("ERR_CONNECTION_REFUSED" in line for line in said)


def test_a_link_leads_past_the_list_to_the_box_for_a_formula(browser, address):
    page = browser.new_page()
    page.goto(address)
    page.wait_for_selector("#formulas tbody tr")
    page.get_by_role("link", name="Look up a formula").press("Enter")
    for _ in range(2):  # the next stop after the target of the link
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "typed":
            break
    assert page.evaluate("document.activeElement.id") == "typed"
    page.close()
