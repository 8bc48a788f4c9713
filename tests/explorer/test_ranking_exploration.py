"""Rankings of every kind on the page: without data, of other targets, long ones, and with hostile names."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.report_cases import hostile_frame

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.explorer import ranking_exploration as ranking_module
from symscreen.explorer.exploration import open_exploration
from symscreen.explorer.ranking_exploration import RankingExploration
from symscreen.explorer.row_points import MAX_INPUTS, MAX_POINTS, RowTable, build_points

KINDS = {
    "two screeners": {"screener": "t0,xi"},
    "a joint screener": {"screener": "lasso[folds=3]", "prescreen": 12},
    "rounds": {"rounds": 2},
    "units": {"units": {"x1": "mm", "x2": "km/h", "x3": "1"}},
    "half of the rows": {"split": 0.5},
    "a rate": {"fdr": 0.9},
    "positive sign": {"sign": "positive"},
}
OTHER_TARGETS = {
    "several targets": {"target": ["target", "x2"], "aggregate": "worst"},
    "a ranking": {"ranking": ["x2", "x3"]},
}


def _explore(frame, tmp_path, **options):
    path = tmp_path / "r.json"
    options = {"layers": "ub", "unary": "neg,log", "binary": "sub", "top": 4, "jobs": 1} | options
    result = symscreen.screen(frame, **options)
    result.save(path)
    return result, open_exploration(str(path), frame)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_ranking_is_listed_drawn_and_exported(frame, tmp_path, kind):
    result, exploration = _explore(frame, tmp_path, **KINDS[kind])
    content = json.loads(json.dumps(exploration.describe(), allow_nan=False))
    assert [formula["text"] for formula in content["formulas"]] == result.table["expression"].tolist()
    assert all(formula["loss"] is not None for formula in content["formulas"])
    points = exploration.trace(len(result) - 1)
    assert len(points["rows"]) == result.data.target.n
    assert json.dumps(points, allow_nan=False)
    assert exploration.export("sql", 0).text
    assert bool(points["remarks"]) == (kind == "units")
    answer = exploration.explain(result.table["expression"].iloc[0])
    assert answer["listed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHER_TARGETS)
def test_targets_of_other_types_are_not_drawn(frame, tmp_path, kind):
    result, exploration = _explore(frame, tmp_path, **OTHER_TARGETS[kind])
    content = exploration.describe()
    assert content["has_rows"] is False
    assert "rows are not drawn" in " ".join(content["summary"])
    assert exploration.trace(0) is None
    answer = exploration.explain(result.table["expression"].iloc[0])
    assert (answer["listed"], answer["points"]) == (0, None)


@pytest.mark.parametrize("options", [{}, {"sign": "positive"}, {"screener": "xi"}])
def test_the_loss_orders_the_list_as_the_rank_does(frame, options):
    result = symscreen.screen(frame, layers="u", unary="neg,log", top=4, jobs=1, **options)
    losses = [formula["loss"] for formula in RankingExploration(result).describe()["formulas"]]
    assert losses == sorted(losses)


def test_without_data_the_list_remains(stored):
    exploration = open_exploration(stored.ranking)
    content = exploration.describe()
    assert len(content["formulas"]) == 12
    assert (content["has_rows"], content["can_explain"]) == (False, False)
    assert "--data DATA" in " ".join(content["summary"])
    assert exploration.trace(0) is None
    assert exploration.export("latex", 0).text
    with pytest.raises(OptionError, match="a typed formula needs the rows"):
        exploration.explain("x1")


def test_other_data_are_refused(stored):
    frame = pd.read_csv(stored.data) + 1.0
    with pytest.raises(DataError, match="these are not the data that the result was made from"):
        open_exploration(stored.ranking, frame)


@pytest.mark.parametrize("name", ["r.csv", "r.json"])
def test_a_file_that_is_no_result_is_refused(tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(symscreen.errors.InputError):
        open_exploration(str(tmp_path / name))


def test_a_long_ranking_is_cut_and_says_so(stored, monkeypatch):
    monkeypatch.setattr(ranking_module, "MAX_FORMULAS", 5)
    exploration = open_exploration(stored.ranking)
    content = exploration.describe()
    assert len(content["formulas"]) == 5
    assert "The best 5 are on this page." in content["summary"]
    with pytest.raises(OptionError, match="there is no formula 5"):
        exploration.export("sql", 5)


def test_an_empty_ranking_has_no_formula(stored):
    empty = replace(stored.result, table=stored.result.table.iloc[:0], expressions=())
    assert RankingExploration(empty).describe()["formulas"] == []


def test_hostile_names_stay_texts(rng):
    result = symscreen.screen(hostile_frame(rng), layers="ub", unary="square", binary="mul", top=9, jobs=1)
    content = RankingExploration(result).describe()
    for formula in content["formulas"]:
        assert "<script" not in formula["markup"]
        assert "<img" not in formula["markup"]
        assert "\u202e" not in formula["text"] + formula["markup"]
        assert "\x00" not in formula["text"] + formula["markup"]


def test_a_large_table_is_thinned_over_the_target(rng):
    n = 3 * MAX_POINTS
    y = rng.normal(size=n)
    table = RowTable("y", y, {f"x{k}": y for k in range(20)}, np.arange(1, n + 1), "A note.")
    points = build_points(table, y, y, ["x19"], axis_name="f", curve_name="c")
    assert len(points["rows"]) == MAX_POINTS
    assert min(points["y"]) == pytest.approx(y.min(), rel=1e-5)
    assert max(points["y"]) == pytest.approx(y.max(), rel=1e-5)
    assert len(points["inputs"]) == MAX_INPUTS
    assert points["inputs"][0]["name"] == "x19"
    assert len(points["remarks"]) == 3
    assert points["remarks"][-1] == "A note."


def test_the_order_of_the_rows_does_not_change_the_values_of_the_points(stored):
    frame = pd.read_csv(stored.data)
    turned = frame.iloc[::-1]
    here, there = (open_exploration(stored.ranking, each).trace(3) for each in (frame, turned))
    assert here["x"] == there["x"]
    assert here["curve"] == there["curve"]
    assert [81 - row for row in here["rows"]] == there["rows"]
