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
    assert len(svg) < 7000
    root = ET.fromstring(svg)  # noqa: S314  # our own
    assert root.get("aria-label") == 'a "title" <b>'
    assert root.get("role") == "img"
    assert max(path.get("d").count("M") for path in root.iter("path")) == 120


def test_colours_are_the_pages_own_and_nothing_outside_is_referred_to():
    def draw(axes):
        axes.plot([0, 1], [0, 1], color="#0b62b8", marker="o")

    svg = draw_inline_svg(draw, (3.0, 2.0), "line")
    assert "var(--mark)" in svg
    assert "#0b62b8" not in svg
    for word in ("xmlns", "<style", "<metadata", "http", "<?xml", "url("):
        assert word not in svg
    own = set(re.findall(r' id="([^"]*)"', svg))
    assert set(re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', svg)) <= {
        (a, b) for a in {*own, ""} for b in {*own, ""}
    }
    assert not own & set(re.findall(r' id="([^"]*)"', draw_inline_svg(draw, (3.0, 2.0), "another line")))


def test_text_stays_text():
    svg = draw_inline_svg(lambda axes: axes.set_title("a < b & 日本", parse_math=False), (3.0, 2.0), "t")
    assert "a &lt; b &amp; 日本" in svg
    assert np.isfinite([float(each) for each in re.search('viewBox="(.*?)"', svg)[1].split()]).all()


def test_equal_pictures_are_equal_bytes():
    def draw(axes):
        axes.scatter([0, 1], [0, 1])

    assert draw_inline_svg(draw, (3.0, 2.0), "t") == draw_inline_svg(draw, (3.0, 2.0), "t")
