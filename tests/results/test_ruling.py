from __future__ import annotations

import pandas as pd
import pytest
from helpers.screening_oracles import fake, request_of, score, space_of, table_of

from symscreen.expressions.printing import to_text
from symscreen.results.screen_result import build_joint_screener_result


@pytest.fixture
def judged(rng):
    table = table_of(rng)
    space = space_of(table)
    found = score(space, table, request_of("t0", fake(chosen=3), prescreen=9))
    return space, found.joint_results["fake"]


def test_a_ruling_names_what_was_shown_in_the_order_of_the_verdict(judged):
    space, own = judged
    ruling = build_joint_screener_result(space, own)
    shown = [to_text(space.build_expression(number)) for number in own.shortlist.features.number.tolist()]
    assert [to_text(expression) for expression in ruling.expressions] == shown
    assert ruling.scores is own.scores


def test_its_table_stands_best_first_with_all_figures(judged):
    ruling = build_joint_screener_result(*judged)
    table = ruling.table
    assert list(table.columns) == ["expression", "score", "selected", "fake_rank2"]
    assert len(table) == 9
    assert table.score.abs().is_monotonic_decreasing
    assert table.selected.tolist() == [True] * 3 + [False] * 6
    assert pd.isna(table.fake_rank2).tolist() == [False] * 3 + [True] * 6
    by_name = dict(zip(map(to_text, ruling.expressions), ruling.scores.score, strict=True))
    assert [by_name[text] for text in table.expression] == table.score.tolist()
