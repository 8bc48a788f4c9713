from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.report.columns import (
    EstimateText,
    ScoreColumn,
    build_cells,
    build_headings,
    format_gini,
    format_gini_estimate,
    format_score_heading,
    list_target_scores,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    columns = {name: rng.normal(size=40) for name in ("x", "z")}
    return columns | {"a": columns["x"] * columns["z"], "b,c": columns["z"] - columns["x"]}


def test_an_estimate_shows_its_interval_in_parentheses():
    estimate = EstimateText("-0.5", "-0.7", "-0.3")
    assert (estimate.line, estimate.interval) == ("-0.5 (-0.7 to -0.3)", "-0.7 to -0.3")
    assert estimate.typeset().line == "−0.5 (−0.7 to −0.3)"
    assert (EstimateText("-").line, EstimateText("-").interval) == ("-", "")


def test_the_page_shows_the_gini_correlation_and_the_interval_of_the_terminal(data):
    result = symscreen.screen(data, target="a", exclude=["b,c"], layers="b", intervals=True, top=3)
    headings = build_headings(result)
    place = next(i for i, heading in enumerate(headings) if heading.score == ScoreColumn("t0"))
    for index, row in enumerate(result.table.to_dict("records")):
        estimate, cell = format_gini_estimate(row, result), build_cells(result, headings, index)[place]
        assert estimate.line == f"{estimate.value} ({row['gini_low']:.2f} to {row['gini_high']:.2f})"
        assert (cell.text, cell.main) == (estimate.typeset().line, estimate.typeset().value)
        assert cell.notes == (estimate.typeset().interval,)


def test_each_of_several_targets_has_a_column_with_its_gini_correlation(data):
    options = {"target": ["a", "b,c"], "target_type": "several", "layers": "b", "top": 3}
    result = symscreen.screen(data, **options, screener="t0,kendall")
    scores = list_target_scores(result, "t0")
    assert [column.target for column in scores] == ["a", "b,c"]
    assert [format_score_heading(column, result) for column in scores] == ["Gini[a]", "Gini[`b,c`]"]
    headings = build_headings(result)
    assert [each.score for each in headings if each.score] == [
        *map(ScoreColumn, ("t0", "kendall")),
        *scores,
    ]
    cells = dict(zip([each.name for each in headings], build_cells(result, headings, 0), strict=True))
    assert cells["t0[a]"].text == format_gini(1 - result.table["t0[a]"][0]).replace("-", "−")
    plain = symscreen.screen(data, target="a", exclude=["b,c"], layers="b", top=3)
    assert list_target_scores(plain, "t0") == []
