"""The page in a real browser: no word on its console, its script allowed, sorting and filtering."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from html import unescape

import pytest
from helpers.report_cases import hostile_frame
from helpers.requirements import needs, require

import symscreen
from symscreen.report.html_page import build_report_html

pytestmark = [needs("chromium"), pytest.mark.slow]

COMMON = """
const shown = () => [...document.querySelectorAll("#ranking tbody tr")].filter((row) => !row.hidden);
const ranks = () => shown().map((row) => Number(row.cells[0].dataset.v));
const buttons = [...document.querySelectorAll("thead button")];
const cells = [...document.querySelector("#ranking tbody tr").cells];
const find = (key) => cells.findIndex((cell) => cell.dataset.k === key);
const compl = find("compl.");
const button = (text) => buttons.find((one) => one.textContent === text);
"""
SORT_AND_FILTER = """
const told = {tools: !document.getElementById("tools").hidden, first: ranks()};
button("compl.").click();
told.complexity = shown().map((row) => Number(row.cells[compl].dataset.v));
button("compl.").click();
told.falling = shown().map((row) => Number(row.cells[compl].dataset.v));
told.sorted = [...document.querySelectorAll("[aria-sort]")].map((one) => one.textContent + one.ariaSort);
const choice = document.getElementById("sort");
choice.value = "0";
choice.dispatchEvent(new Event("change"));
told.chosen = ranks();
const p = find("p");
choice.value = String(p);
choice.dispatchEvent(new Event("change"));
told.byP = shown().map((row) => Number(row.cells[p].dataset.v));
told.rising = document.getElementById("status").textContent;
document.getElementById("turn").click();
told.pFalling = shown().map((row) => Number(row.cells[p].dataset.v));
told.fallingStatus = document.getElementById("status").textContent;
told.selected = choice.value === String(p);
const filter = document.getElementById("filter");
filter.value = "IMG alert";
filter.dispatchEvent(new Event("input"));
told.filtered = shown().map((row) => row.cells[1].dataset.v);
told.status = document.getElementById("status").textContent;
told.wide = document.documentElement.scrollWidth <= window.innerWidth;
"""
SORT_TIES = """
const pairs = () => shown().map((row) => [Number(row.cells[0].dataset.v), row.cells[compl].dataset.v]);
const told = {};
button("compl.").click();
told.rising = pairs();
document.getElementById("turn").click();
told.falling = pairs();
"""
TELL = """
const out = Object.assign(document.createElement("pre"), {textContent: JSON.stringify(told)});
document.body.replaceChildren(out);
"""


def _dom(path, profile):
    """Return the page as the browser has it after its scripts, and what its console says."""
    done = subprocess.run(
        [
            require("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--no-first-run", f"--user-data-dir={profile}", "--enable-logging=stderr",
            "--window-size=500,900", "--virtual-time-budget=2000", "--dump-dom", path.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "<html" in done.stdout, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def page():
    import numpy as np

    frame = hostile_frame(np.random.default_rng(9))
    result = symscreen.screen(frame, layers="ub", unary="square", binary="mul,sub", screener="t0,xi", top=30)
    return build_report_html(result, data="d.csv")


def test_the_page_as_it_is_says_nothing_to_the_console(page, tmp_path):
    path = tmp_path / "r.html"
    path.write_text(page, encoding="utf-8")
    dom, console = _dom(path, tmp_path / "profile")
    assert console == []
    assert re.search(r'<button type="button">formula</button>', dom), "the page's own script did not run"
    assert dom.count("<script") == 1


def _drive(page, driver, folder):
    """Return what a script tells that runs after the page's own."""
    path = folder / "r.html"
    bare = re.sub(r"<meta http-equiv=[^>]*>", "", page)  # which would refuse the driver
    script = f"<script>{COMMON}{driver}{TELL}</script></body>"
    path.write_text(bare.replace("</body>", script), encoding="utf-8")
    dom, console = _dom(path, folder / "profile")
    assert console == []
    return json.loads(unescape(re.search(r"<pre>(.*?)</pre>", dom, re.DOTALL)[1]))


def test_sorting_and_filtering(page, tmp_path):
    told = _drive(page, SORT_AND_FILTER, tmp_path)
    assert told["tools"] is True
    assert told["first"] == told["chosen"] == list(range(1, 31))
    assert told["complexity"] == sorted(told["complexity"])
    assert told["falling"] == sorted(told["complexity"], reverse=True)
    assert told["sorted"] == ["compl.descending"]
    assert len({int(value) for value in told["byP"]}) < len(
        set(told["byP"])
    )  # numbers that differ by decimals
    assert told["byP"] == sorted(told["byP"])
    assert told["pFalling"] == sorted(told["byP"], reverse=True)
    assert told["rising"].endswith(", ascending")
    assert told["fallingStatus"].endswith(", descending")
    assert told["selected"] is True
    assert told["filtered"]
    assert all("<img" in text and "alert" in text for text in told["filtered"])
    assert told["status"] == f"{len(told['filtered'])} of 30 shown"
    assert told["wide"], "the page is wider than a phone"


def test_ties_keep_their_order_and_missing_values_stand_last_both_ways(page, tmp_path):
    cells = itertools.count()
    some_missing, number = re.subn(
        r'(data-k="compl\." data-v=)"\d+"',
        lambda cell: f'{cell[1]}""' if next(cells) % 7 == 3 else cell[0],
        page,
    )
    assert number == 30
    told = _drive(some_missing, SORT_TIES, tmp_path)
    rows = sorted(told["rising"])
    assert [rank for rank, _ in rows] == list(range(1, 31))
    assert len({key for _, key in rows}) < 10  # ties
    assert sum(key == "" for _, key in rows) == 4
    for direction, shown in ((1, told["rising"]), (-1, told["falling"])):
        assert shown == sorted(rows, key=lambda row: (row[1] == "", direction * int(row[1] or 0), row[0]))
