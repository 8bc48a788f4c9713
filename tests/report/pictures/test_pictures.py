"""What is drawn is what the result holds."""

from __future__ import annotations

import copy

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.errors import OptionError
from symscreen.report.figures.diagnostics import compute_rank_correlations
from symscreen.report.figures.feature import compute_rank_curve


@pytest.fixture(autouse=True)
def without_a_window():
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def result(frame):
    return symscreen.screen(frame, layers="ub", unary="log,square", binary="sub,div", screener="t0,xi", top=6)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-5, 5)), min_size=2, max_size=12))
def test_on_the_rank_curve_t0_is_at_its_best(rows):
    """Any response with a given order of a feature's groups has the least T0 where it follows the curve."""
    x, y = (np.array(values, dtype=float) for values in zip(*rows, strict=True))
    for direction in (1, -1):
        curve = compute_rank_curve(x, y, direction)
        assert np.isclose(curve.sum(), y.sum())
        order = np.argsort(direction * x, kind="stable")
        assert (np.diff(curve[order]) >= -1e-12).all()
        for value in np.unique(x):  # ties share the mean of the responses that their ranks take
            before = int((direction * x < direction * value).sum())
            count = int((x == value).sum())
            assert np.allclose(curve[x == value], np.sort(y)[before : before + count].mean())


def test_a_feature_is_drawn_against_the_response(result, frame):
    axes = result.plot.feature(2)
    points, curve = axes.get_lines()
    values = result.transform(frame).iloc[:, 1].to_numpy()
    drawn = sorted(zip(*points.get_data(), strict=True))
    inside = values[(values >= points.get_xdata().min()) & (values <= points.get_xdata().max())]
    assert set(inside) <= {x for x, _ in drawn}
    assert sorted(y for _, y in drawn) == sorted(frame["target"])
    steps = np.diff(curve.get_ydata())
    assert (steps >= 0).all() if result.table.direction[1] == "+" else (steps <= 0).all()
    assert axes.get_ylabel() == "target"


def test_the_pictures_draw_on_the_axes_given(result):
    _, axes = plt.subplots()
    for draw in (result.plot.scores, result.plot.funnel, result.plot.agreement, result.plot.redundancy):
        assert draw(axes) is axes
    assert result.plot.feature(1, ax=axes) is axes


def test_the_scores_stand_best_first(result):
    axes = result.plot.scores()
    points = axes.get_lines()[0]
    found = dict(zip(points.get_ydata(), points.get_xdata(), strict=True))
    assert [found[place] for place in sorted(found)] == result.table["gini"].tolist()
    assert axes.get_xlabel() == "Gini correlation"
    names = [text.get_text() for text in axes.texts if text.get_text()[0].isdigit()]
    assert names[0] == f"1. {result.table.expression[0]}"
    assert axes.yaxis_inverted()


def test_each_bar_of_the_funnel_is_whole(result):
    bars = result.plot.funnel().patches
    for place in range(len(result.record["layers"])):
        widths = [bar.get_width() for bar in bars if round(bar.get_y() + bar.get_height() / 2) == place]
        assert sum(widths) == pytest.approx(100.0)


def test_likeness_is_spearmans_correlation(result, frame):
    expected = result.transform(frame).corr(method="spearman").abs().to_numpy()
    np.testing.assert_allclose(compute_rank_correlations(result, 6), expected, atol=5.1e-4)


def test_agreement_shows_its_numbers(result):
    texts = {text.get_text() for text in result.plot.agreement().texts}
    pair = result.agreement.iloc[0]
    assert texts == {f"{pair.kendall:.2f}", f"{pair.overlap:.2f}"}


def test_p_values_are_counted_where_there_are_any(frame):
    options = {"layers": "ub", "unary": "log,square", "binary": "sub,div", "top": 6, "p_values": False}
    result = symscreen.screen(frame, **options)
    with pytest.raises(OptionError, match="no p-values were computed"):
        result.plot.p_values()
    known = copy.copy(result)
    object.__setattr__(known, "table", result.table.assign(p_value=[0.01, 0.02, 0.3, 0.51, 1.0, np.nan]))
    heights = [bar.get_height() for bar in known.plot.p_values().patches]
    assert (len(heights), sum(heights), heights[0], heights[-1]) == (20, 5, 2, 1)
    record = {**result.record, "error_control": {"histogram": [3, 1, 2, 2]}}
    object.__setattr__(known, "record", record)
    axes = known.plot.p_values()
    assert [bar.get_height() for bar in axes.patches] == [3, 1, 2, 2]
    assert axes.get_lines()[0].get_ydata()[0] == 2.0


def test_the_histogram_is_of_the_whole_space(frame):
    every = symscreen.screen(frame, layers="u", p_values=True, top="all")
    some = symscreen.screen(frame, layers="u", p_values=True, top=1)
    counts = np.histogram(every.table["p_value"], bins=20, range=(0, 1))[0]
    assert [bar.get_height() for bar in some.plot.p_values().patches] == counts.tolist()


def test_what_cannot_be_drawn_leaves_no_figure(result, frame, rng):
    one = symscreen.screen(frame, layers="u", top=2)
    ranks = pd.DataFrame({"x": rng.normal(size=20), "r": ["a>b", "b>a"] * 10})
    ranking = symscreen.screen(ranks, ranking="r", layers="u", unary="cube")
    lost = copy.copy(one)
    for draw, message in (
        (lambda: result.plot.feature(0), "there is no feature of rank 0; give 1 to 6"),
        (lambda: result.plot.feature(1.5), "no feature of rank 1.5"),
        (one.plot.agreement, "agreement requires several screeners"),
        (lambda: ranking.plot.feature(1), "is not a column of numbers"),
        (lambda: lost.plot.feature(1), "has no data"),
    ):
        with pytest.raises(OptionError, match=message):
            draw()
    assert plt.get_fignums() == []
    assert ranking.plot.redundancy() is not None


def test_a_result_passed_on_holds_no_rows(result):
    assert result.data is not None
    assert copy.copy(result).data is None
    assert copy.copy(result).plot.scores() is not None


def test_names_with_marks_are_drawn_as_text(frame):
    frame = frame.rename(columns={"x1": "$x_1$", "x2": "a\x00b", "target": "$y"})
    result = symscreen.screen(frame, layers="b", binary="mul", top=5)
    axes = result.plot.feature(1)
    axes.figure.canvas.draw()
    assert axes.get_ylabel() == "$y"
    assert "\x00" not in "".join(text.get_text() for text in result.plot.scores().get_yticklabels())
