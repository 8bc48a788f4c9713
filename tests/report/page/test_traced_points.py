"""Pictures of a report in a browser: the pointer and the arrow keys show the values of points."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from helpers.browser import open_browser
from helpers.requirements import needs

import symscreen
from symscreen.report.fit_page import build_fit_html
from symscreen.report.html_page import build_report_html

pytestmark = [needs("chromium"), needs("playwright"), pytest.mark.slow]

_READ_VALUES = "(picture) => picture.nextElementSibling.textContent"
_NUMBER = re.compile(r": (-?[\d.]+(?:e[+-]?\d+)?)")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    width, height = rng.uniform(1.0, 4.0, (2, 40))
    return pd.DataFrame({"width": width, "height": height, "area": width * height})


@pytest.fixture(scope="module")
def open_page():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def screened(frame, open_page, tmp_path_factory):
    """Open the report of a screen."""
    result = symscreen.screen(frame, layers="b", unary="id", binary="mul,add", quiet=True)
    path = tmp_path_factory.mktemp("pages") / "screen.html"
    path.write_text(build_report_html(result), encoding="utf-8")
    return open_page(path, width=1280)


def _read_numbers(page, picture):
    return [float(number) for number in _NUMBER.findall(page.evaluate(_READ_VALUES, picture))]


def test_arrow_keys_visit_the_points_from_left_to_right(screened, frame):
    page = screened.page
    picture = page.query_selector("#best svg")
    picture.focus()
    assert _read_numbers(page, picture) == []
    areas = np.sort(frame["area"].to_numpy())
    for area in areas[:5]:
        page.keyboard.press("ArrowRight")
        assert _read_numbers(page, picture) == pytest.approx([area, area], rel=0.02)
    page.keyboard.press("ArrowLeft")
    assert _read_numbers(page, picture) == pytest.approx([areas[3], areas[3]], rel=0.02)
    assert page.query_selector_all("#best svg .ring")
    assert screened.console == []


def test_the_pointer_shows_the_nearest_point_and_nothing_far_from_all(screened, frame):
    page = screened.page
    picture = page.query_selector("#best svg")
    picture.scroll_into_view_if_needed()
    last = max(
        (point.bounding_box() for point in picture.query_selector_all("use")),
        key=lambda box: box["x"] - 10.0 * box["y"],
    )
    page.mouse.move(last["x"] + last["width"] / 2, last["y"] + last["height"] / 2)
    area = frame["area"].max()
    assert _read_numbers(page, picture) == pytest.approx([area, area], rel=0.02)
    box = picture.bounding_box()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.7 * box["height"])
    assert _read_numbers(page, picture) == []
    assert page.query_selector_all("#best svg .ring") == []


def test_an_axis_of_powers_gives_values_of_the_front(frame, open_page, tmp_path):
    noise = np.random.default_rng(6).normal(0.0, 0.1, len(frame))
    result = symscreen.fit(frame.assign(area=frame["area"] + noise), effort="quick", quiet=True)
    (tmp_path / "fit.html").write_text(build_fit_html(result), encoding="utf-8")
    opened = open_page(tmp_path / "fit.html", width=1280)
    picture = opened.page.query_selector("section[aria-labelledby=front-title] svg")
    picture.focus()
    for row in result.front.head(3).itertuples():
        opened.page.keyboard.press("ArrowRight")
        complexity, error = _read_numbers(opened.page, picture)
        assert complexity == pytest.approx(row.complexity, abs=0.02)
        assert error == pytest.approx(1.0 - row.r2, rel=0.03)
