from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np

import symscreen
from symscreen.report.figures.feature import draw_feature
from symscreen.report.figures.style import draw_inline_svg


def test_a_small_picture_is_small_and_keeps_its_points(rng):
    x = rng.uniform(1, 2, 500)
    result = symscreen.screen({"x": x, "y": x + rng.normal(0, 0.1, 500)}, layers="u", unary="log", top=1)
    svg = draw_inline_svg(
        lambda axes: draw_feature(axes, result, 1, is_thumbnail=True), (1.9, 1.2), 'a "title" <b>'
    )
    assert len(svg) < 5000
    root = ET.fromstring(svg)  # noqa: S314  # our own
    assert root.get("aria-label") == 'a "title" <b>'
    assert root.get("role") == "img"
    dots = next(path.get("d") for path in root.iter("path") if "h0" in path.get("d"))
    assert dots.count("M") == 120
    assert not [element for element in root.iter() if element.get("id") or element.get("clip-path")]


def test_colours_are_the_pages_own_and_nothing_is_referred_to():
    svg = draw_inline_svg(lambda axes: axes.plot([0, 1], [0, 1], color="#0b62b8"), (3.0, 2.0), "line")
    assert "var(--mark)" in svg
    assert "#0b62b8" not in svg
    for word in ("href", "url(", "xmlns", "<style", "<metadata", "<defs"):
        assert word not in svg


def test_text_stays_text():
    svg = draw_inline_svg(lambda axes: axes.set_title("a < b & 日本", parse_math=False), (3.0, 2.0), "t")
    assert "a &lt; b &amp; 日本" in svg
    assert np.isfinite([float(each) for each in re.search('viewBox="(.*?)"', svg)[1].split()]).all()


def test_equal_pictures_are_equal_bytes():
    def draw(axes):
        axes.scatter([0, 1], [0, 1])

    assert draw_inline_svg(draw, (3.0, 2.0), "t") == draw_inline_svg(draw, (3.0, 2.0), "t")
