from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen._repr import format_repr, truncate_text
from symscreen.expressions.tree import parse_expression
from symscreen.screeners import SCREENERS


@pytest.mark.parametrize(("text", "most", "expected"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 3, "")])
def test_a_text_is_cut_and_marked(text, most, expected):
    assert truncate_text(text, most) == expected


def test_whatever_there_is_a_screenful_is_shown():
    import pandas as pd

    table = pd.DataFrame({"formula": ["x" * 500] * 5000, "score": np.arange(5000.0)})
    lines = format_repr("<Many>", ["n" * 1000] * 50, {"table": table}).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 200
    assert "… 44 more in .notices" in lines
    assert lines[-1] == "… 4,990 more in .table"


@pytest.mark.slow
def test_results_are_shown_in_brief(frame):
    found = symscreen.screen(frame, layers="ub", top="all", screener="t0,lasso", jobs=1)
    text = repr(found)
    assert text.startswith(f"<ScreenResult: {len(found):,} shown of {found.n_scored:,} features scored>\n")
    assert f"… {len(found) - 10:,} more in .table" in text
    assert "features>" in repr(found.joint_results["lasso"]).splitlines()[0]
    fitted = symscreen.fit(frame, layers="u", unary="id,square", max_terms=2, jobs=1)
    assert repr(fitted).startswith("<FitResult: target = ")
    for one in (found, found.joint_results["lasso"], fitted):
        assert len(repr(one).splitlines()) < 60


def test_what_lists_hold_has_one_line():
    assert repr(parse_expression("x1 - cos(x2)/x1")) == "<formula x1 - cos(x2)/x1>"
    assert repr(SCREENERS["xi"]).startswith("<Screener xi: ")
    assert repr(SCREENERS["lasso"].replace_settings({"folds": 5})).startswith(
        "<JointScreener lasso[folds=5]: "
    )
    for one in SCREENERS.values():
        assert "\n" not in repr(one)
