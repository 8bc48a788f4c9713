"""Intervals of what a screen shows, from the option to the file."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import OptionError
from symscreen.messages import COMMAND_LINE, render_message
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables
from symscreen.report.terminal.reading_notes import suggest_diagnostics
from symscreen.results.ranking_files import write_ranking
from symscreen.screening.inference.intervals import INTERVAL_COLUMNS

SMALL = {"operators": "ablation", "layers": "ub"}


def _printed(result) -> str:
    stream = io.StringIO()
    print_table(build_ranking_tables(result), stream)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    return " ".join(stream.getvalue().split())


def _expected(result, frame, level):
    found = symscreen.t0_interval(result.transform(frame).to_numpy(), frame.target, level)
    own = (found.error, found.low, found.high, found.gini_low, found.gini_high)
    return pd.DataFrame(dict(zip(INTERVAL_COLUMNS, own, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "level"),
    [
        ({"intervals": True, "top": 5}, 0.95),
        ({"intervals": 0.8, "top": "all"}, 0.8),
        ({"intervals": np.float64(0.9), "search": "sieve", "screener": "xi,t0", "top": 3}, 0.9),
        ({"intervals": True, "search": "race", "top": 3}, 0.95),
        ({"intervals": True, "pool_size": 2, "max_correlation": 0.9, "top": 4}, 0.95),
        ({"intervals": True, "screener": "lasso,t0", "top": 4, "prescreen": 10}, 0.95),
    ],
)
def test_the_columns_are_those_of_the_features_shown(options, level, frame):
    frame["x4"] = -(frame.x1**3)  # a falling one
    result = symscreen.screen(frame, **SMALL, **options)
    pd.testing.assert_frame_equal(
        result.table[list(INTERVAL_COLUMNS)], _expected(result, frame, level), rtol=1e-9
    )
    assert np.allclose(result.table.gini, 1 - result.table.t0 / result.scale)
    assert result.record["intervals"]["level"] == result.record["options"]["intervals"] == level
    assert "jackknife" in result.record["intervals"]["method"]
    plain = symscreen.screen(frame, **SMALL, **{**options, "intervals": False})
    assert plain.table.equals(result.table.drop(columns=list(INTERVAL_COLUMNS)))
    assert "intervals" not in plain.record


def test_neither_threads_nor_chunks_nor_blocks_change_a_bit(frame, monkeypatch):
    options = SMALL | {"intervals": True, "top": "all"}
    whole = symscreen.screen(frame, jobs=1, **options)
    monkeypatch.setattr("symscreen.screening.scoring.block_scoring._RECOMPUTED_VALUES", 200)
    assert whole.table.equals(symscreen.screen(frame, jobs=2, chunk_size=7, **options).table)


def test_they_stand_behind_the_p_values_and_before_the_rest(frame):
    asked = {"intervals": True, "fdr": 0.05, "permutations": 9, "stability": 2}
    columns = list(symscreen.screen(frame, top=3, **asked, **SMALL).table.columns)
    behind = ["p_value", "q_value", "p_family", *INTERVAL_COLUMNS, "stability"]
    assert columns[columns.index("t0") + 1] == "gini"
    assert columns[columns.index("class_size") + 1 :] == behind


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"intervals": 95.0}, "give a confidence level between 0 and 1"),
        ({"intervals": 1}, "give a confidence level"),
        ({"intervals": "0.9"}, "give a confidence level"),
        ({"intervals": True, "screener": "xi,pearson"}, "add it: screener='xi,pearson,t0'"),
        ({"intervals": True, "rounds": 2}, "leave one of them out"),
        ({"intervals": True, "ranking": ["x1", "x2"]}, "needs a numeric target"),
    ],
)
def test_what_has_no_meaning_is_refused_with_the_reason(options, message, frame):
    with pytest.raises(OptionError, match=message):
        symscreen.screen(frame, **SMALL, **options)
    with pytest.raises(OptionError, match=r"intervals is 0\.95: power lists nothing"):
        symscreen.power(frame, truth="x1", intervals=True)


@pytest.mark.slow
def test_the_terminal_shows_intervals_beside_the_gini_correlation(frame):
    rising = symscreen.screen(frame, intervals=True, top=2, **SMALL)
    text, first = _printed(rising), rising.table.iloc[0]
    assert f"{first.gini:.3f} ({first.gini_low:.2f} to {first.gini_high:.2f})" in text
    assert "Gini (95 %)" in text
    assert "its interval ignores that the formulas were selected" in text
    falling = symscreen.screen(frame.assign(target=-frame.target), intervals=0.9, top=2, **SMALL)
    first = falling.table.iloc[0]
    assert f"{first.gini:.3f} ({first.gini_low:.2f} to {first.gini_high:.2f})" in _printed(falling)
    several = "t0,xi,kendall,spearman,pearson,lasso,scad,mcp,stepwise"
    crowded = _printed(
        symscreen.screen(frame, intervals=True, screener=several, permutations=9, top=2, **SMALL)
    )
    assert "Gini (95 %)" in crowded
    assert "stepwise" in crowded


def test_a_plain_screen_tells_how_to_learn_more(frame):
    told = "more on reliability: --permutations 200, --stability 10, --intervals."
    frame = frame[["x1", "x2", "target"]]
    result = symscreen.screen(frame, screener="t0,xi", top=2, **SMALL)
    assert _printed(result).endswith(told)
    assert "by some of its inputs" not in _printed(result)
    assert told not in _printed(symscreen.screen(frame, intervals=True, top=2, **SMALL))
    record = result.record
    assert [render_message(line, COMMAND_LINE) for line in suggest_diagnostics(record)] == [told]
    for changed in (
        {"fdr": 0.5}, {"permutations": 9}, {"stability": 5}, {"max_correlation": 0.9},
        {"search": "sieve"}, {"prune_by": ["t0"]}, {"rounds": 2}, {"top": "all"}, {"screener": ["xi", "t0"]},
    ):  # fmt: skip
        assert suggest_diagnostics(record | {"options": record["options"] | changed}) == []
    for other in ("ranking", "stages", "classes", "several", "survival"):
        assert suggest_diagnostics(record | {"data": record["data"] | {other: {}}}) == []
    assert suggest_diagnostics(record | {"partial": {}}) == []


@pytest.mark.parametrize("screener", ["t0", "t0,xi"])
def test_with_three_inputs_a_screen_tells_what_a_rank_does_not_say(frame, screener):
    text = _printed(symscreen.screen(frame, screener=screener, top=2, **SMALL))
    assert text.endswith("a formula may rank high by some of its inputs alone; fit leaves out the others.")
    assert ("curves with an optimum: --screener xi." in text) == (screener == "t0")


@pytest.mark.slow
def test_the_command_line_takes_a_level_or_none_and_files_hold_all(frame, tmp_path, capsys):
    frame.to_csv(tmp_path / "data.csv", index=False)
    common = ["screen", str(tmp_path / "data.csv"), "--layers", "u", "--unary", "cube", "--out", "-"]
    for given, level in (["--intervals"], 0.95), (["--intervals=0.5"], 0.5), (["--intervals", "0.5"], 0.5):
        assert run_command([*common, *given]) == 0
        found = pd.read_csv(io.StringIO(capsys.readouterr().out))
        result = symscreen.screen(frame, layers="u", unary="cube", intervals=level)
        assert np.allclose(found[list(INTERVAL_COLUMNS)], result.table[list(INTERVAL_COLUMNS)])
    assert run_command([common[0], "--intervals", *common[1:]]) == 2
    assert "put --intervals after DATA" in capsys.readouterr().err
    out = tmp_path / "ranking.csv"
    write_ranking(result, str(out), force=False)
    assert symscreen.classes(symscreen.read_ranking(out), frame).shape[0] > 0
