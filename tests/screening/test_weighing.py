"""Screens with sample weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers.requirements import require

import symscreen
from symscreen.cli.command import command
from symscreen.errors import DataError, OptionError
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.screening.stored_screens import prepare_from_record

SPACE = {"target": "y", "layers": "ub", "unary": "id,square,log", "binary": "add,mul", "top": 8}
ALL = {**SPACE, "screener": "t0,spearman,pearson", "max_correlation": 1}


@pytest.fixture
def data(rng):
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (50, 2)), columns=["x1", "x2"]).round(2)
    frame["y"] = (frame.x1 * frame.x2 + rng.normal(0, 0.3, 50)).round(1)
    return frame.assign(w=rng.integers(0, 5, 50))


def test_whole_weights_rank_as_repeated_rows_do(data):
    found = symscreen.screen(data, weights="w", **ALL)
    plain = symscreen.screen(data.loc[data.index.repeat(data.w)].drop(columns="w"), **ALL)
    same = ["expression", "direction", "class_size", "t0_rank", "spearman_rank", "pearson_rank"]
    pd.testing.assert_frame_equal(found.table[same], plain.table[same])
    for name in ("spearman", "pearson"):
        np.testing.assert_allclose(found.table[name], plain.table[name], rtol=1e-12)
    scales = [one.record["data"]["gini_mean_difference"] for one in (found, plain)]
    np.testing.assert_allclose(found.table.t0 / scales[0], plain.table.t0 / scales[1], rtol=1e-10)
    w = data.w[data.w > 0]
    assert found.record["data"]["weighted"]["effective_rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.record["data"]["rows"] == len(w)
    assert f"left out: {50 - len(w)} rows of 50 of weight 0" in found.notices


def test_weights_that_are_equal_are_none_and_those_of_0_leave_rows_out(data):
    plain = data.drop(columns="w")
    equal = symscreen.screen(data.assign(w=0.3), weights="w", pool_size=20, **ALL)
    assert format_ranking_csv(equal) == format_ranking_csv(symscreen.screen(plain, pool_size=20, **ALL))
    some = symscreen.screen(data.assign(w=np.where(data.w > 0, 7.0, 0.0)), weights="w", **ALL)
    assert format_ranking_csv(some) == format_ranking_csv(symscreen.screen(plain[data.w > 0], **ALL))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"target_type": "classes"},
        {"target": "y,x2"},
        {"screener": "xi"},
        {"p_values": True},
        {"stability": 5},
    ],
)
def test_weights_that_are_equal_go_with_all_that_takes_none(data, options):
    plain, asked = data.drop(columns="w").assign(y=data.index % 3), {**SPACE, "layers": "u"} | options
    equal = symscreen.screen(plain.assign(w=2), weights="w", **asked)
    assert format_ranking_csv(equal) == format_ranking_csv(symscreen.screen(plain, **asked))


@pytest.mark.slow
@pytest.mark.parametrize("strange", [np.nan, np.inf])
@pytest.mark.parametrize("heavy", [1, 2])
def test_what_stands_in_rows_of_weight_0_is_not_looked_at(data, strange, heavy):
    w = np.where(data.w > 0, np.where(data.index % 2, heavy, 1), 0)
    spoilt = data.assign(
        w=w, x1=data.x1.where(w > 0, strange), y=data.y.where((w > 0) | (data.x2 > 1), strange)
    )
    found = symscreen.screen(spoilt, weights="w", **ALL)
    assert format_ranking_csv(found) == format_ranking_csv(
        symscreen.screen(spoilt[w > 0], weights="w", **ALL)
    )
    assert f"left out: {(w == 0).sum()} rows of 50 of weight 0" in found.notices
    spoilt.loc[np.flatnonzero(w)[0], "x2"] = np.nan
    with pytest.raises(DataError, match="has 1 row of 50 with missing values"):
        symscreen.screen(spoilt, weights="w", missing="refuse", **ALL)


def test_the_order_of_rows_jobs_and_chunks_do_not_matter(data):
    data["w"] = np.round(data.w + 0.1, 1)
    one = format_ranking_csv(symscreen.screen(data, weights="w", **ALL))
    turned = data.iloc[::-1][["w", "y", "x2", "x1"]]
    assert format_ranking_csv(symscreen.screen(turned, weights="w", jobs=1, chunk_size=7, **ALL)) == one


def test_weights_turn_a_ranking(data):
    data["y"] = np.where(data.index < 25, data.x1, -data.x1)
    for half, direction in ((data.index < 25, "+"), (data.index >= 25, "-")):
        heavy = data.assign(w=np.where(half, 10.0, 1.0))
        found = symscreen.screen(heavy, weights="w", target="y", layers="u", unary="id", top=1)
        assert (found.table.expression[0], found.table.direction[0]) == ("x1", direction)
        rising = symscreen.screen(heavy, weights="w", target="y", layers="u", unary="id", sign="positive")
        assert rising.table.expression[0] == ("x1" if direction == "+" else "x2")


def test_cuts_units_categories_why_and_members_go_with_weights(data):
    gated = data.assign(c=np.where(data.index % 2, "p", "q"))
    asked = {**SPACE, "layers": "ub", "weights": "w", "pool_size": 5}
    found = symscreen.screen(gated, categorical="c", class_members=3, max_correlation=0.99, **asked)
    assert not any("w" in one.split() for one in found.record["data"]["inputs"])
    assert symscreen.why(data, "x1*x2", **asked).rank is not None
    again = prepare_from_record(found.record, gated)
    assert again.dataset.digest == found.record["data"]["digest"]
    require("pint")
    assert len(symscreen.screen(data, units={"x1": "m", "x2": "m"}, **asked))


@pytest.mark.slow
def test_the_command_line_and_the_page_tell_of_them(data, tmp_path):
    path, page = tmp_path / "t.csv", tmp_path / "r.html"
    data.to_csv(path, index=False)
    options = ["--layers", "ub", "--unary", "id,square,log", "--binary", "add,mul", "--top", "8"]
    asked = ["screen", str(path), "--weights", "w", "--target", "y", *options]
    run = CliRunner().invoke
    result = symscreen.screen(data, weights="w", **SPACE)
    assert run(command, [*asked, "--quiet", "--out", "-"]).output == format_ranking_csv(result)
    done = run(command, [*asked, "--report", str(page)])
    assert done.exit_code == 0
    assert "rows with weights w: equivalent to" in done.output
    assert "--weights w" in page.read_text()
    assert run(command, ["why", str(path), "x1*x2", *asked[2:]]).output.count("x1*x2 is in the space: rank")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"screener": "xi"}, "^the screener xi does not support row weights; t0, spearman and pearson do$"),
        ({"screener": "t0,lasso"}, "the screener lasso does not support row weights"),
        ({"prune_by": "xi", "pool_size": 5}, "the screener xi does not support row weights"),
        (
            {"p_values": True},
            "p_values= cannot be combined with weights='w': null distributions take",
        ),
        ({"fdr": 0.1}, "fdr= cannot be combined with weights='w'"),
        ({"intervals": True}, "intervals= cannot be combined with weights='w'"),
        ({"stability": 5}, "stability= cannot be combined with weights='w'"),
        ({"groups": "x2"}, "groups= cannot be combined with weights='w'"),
        ({"rounds": 2}, "rounds=2 needs a numeric target"),
        ({"search": "race"}, "search='race' has no bound for a target with weights"),
        ({"target": "y,x2"}, "weights='w' cannot be combined with several targets"),
        ({"target_type": "classes"}, "weights='w' cannot be combined with a class"),
        ({"weights": "v"}, "has no column 'v' for weights="),
    ],
)
def test_what_weights_do_not_go_with_is_refused_in_one_line(data, options, says):
    with pytest.raises((OptionError, DataError), match=says) as raised:
        symscreen.screen(data, **SPACE | {"weights": "w"} | options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda w: w.astype(float).where(w != 2), "of weights= is negative, infinite or missing in row"),
        (lambda w: w - 1, "of weights= is negative, infinite or missing in row"),
        (
            lambda w: (w.clip(lower=1) * 1e18).where(w.index != 2, 1.0),
            r"'w' of weights= ranges from 1 to .e\+18, but the largest may be",
        ),
        (lambda w: w * 0, "'w' of weights= is zero in all rows: no row is left"),
        (lambda w: w.astype(str) + "kg", "of weights= holds text"),
        (lambda w: w.where(w.index < 3, 0) + (w.index < 3), "has 3 rows after leaving out 47 rows of 50 of"),
    ],
)
def test_other_weights_are_refused_in_one_line(data, change, says):
    with pytest.raises(DataError, match=says) as raised:
        symscreen.screen(data.assign(w=change(data.w)), weights="w", **SPACE)
    assert "\n" not in str(raised.value)
