from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from helpers.screening_oracles import fake

import symscreen
from symscreen.report.columns import ScoreColumn, format_score_heading
from symscreen.report.terminal.legend import build_legend
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables

SMALL = {"operators": "ablation", "layers": "ub"}
FIVE = "t0,lasso,scad,mcp,stepwise"
NINE = "t0,xi,kendall,spearman,pearson,lasso,scad,mcp,stepwise"


def _printed(result, rows=None) -> str:
    stream = io.StringIO()
    print_table(build_ranking_tables(result, rows), stream)
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    return text


def _flat(text) -> str:
    return " ".join(text.split())


def _header(text) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith("rank")).split()


def _entries(text) -> list[list[str]]:
    """Return the first line of each entry of the ranking, split."""
    body = text[text.index("\nrank ") :].split("\n\n")[0]
    return [line.split() for line in body.splitlines() if line[:4].strip().isdecimal()]


@pytest.fixture
def long(frame):
    """The same table with columns that need more room than there is."""
    names = {"x1": "a very long name of a column", "x2": "b", "x3": "temperature of the second sample"}
    return frame.rename(columns=names)


def test_up_to_two_screeners_show_their_scores(frame):
    result = symscreen.screen(frame, screener="t0,lasso", top=6, **SMALL)
    text = _printed(result)
    assert _header(text) == ["rank", "expression", "compl.", "Gini", "lasso", "alike", "q"]
    for entry, row in zip(_entries(text), result.table.to_dict("records"), strict=True):
        star = "*" if row["lasso_selected"] else ""
        alike = row["class_size"] + row["n_redundant"]
        assert entry[-4:-1] == [f"{row['gini']:.3f}", f"{row['lasso']:.5g}{star}", f"{alike:,}"]
    assert "the rank among" not in _flat(text)


def test_of_more_the_others_show_their_ranks(frame):
    result = symscreen.screen(frame, screener=FIVE, top=9, prescreen=15, p_values=False, **SMALL)
    text = _printed(result)
    assert _header(text) == ["rank", "expression", "compl.", "Gini", *FIVE.split(",")[1:], "alike"]
    for entry, row in zip(_entries(text), result.table.to_dict("records"), strict=True):
        expected = []
        for name in FIVE.split(",")[1:]:
            star = "*" if row[f"{name}_selected"] is True else ""
            expected.append("-" if pd.isna(row[f"{name}_rank"]) else f"{row[f'{name}_rank']}{star}")
        assert entry[-6:-1] == [f"{row['gini']:.3f}", *expected]
    flat = _flat(text)
    assert "lasso, scad, mcp, stepwise: the rank among the 15 features compared." in flat
    assert "*: selected; -: not shown to that screener" in flat
    assert "lasso was shown 15 features, the best by t0, affine copies merged." in flat


def test_agreement_stands_as_a_square_with_a_legend(frame):
    result = symscreen.screen(frame, screener="t0,xi,pearson", top=5, **SMALL)
    text = _printed(result)
    pairs = result.agreement.set_index(["first", "second"])
    square = text[text.index("\nagreement ") :].split("\n\n")[0].splitlines()[2:]
    cells = [line.split()[1:] for line in square]
    for (one, other), row in zip([(0, 1), (0, 2), (1, 2)], pairs.to_dict("records"), strict=True):
        assert cells[one][other - 1] == f"{row['kendall']:.2f}"
        assert cells[other][one] == f"{row['overlap']:.2f}"
    count = pairs["features"].max()
    assert (
        f"agreement among the {count} features compared: above the diagonal Kendall's tau of two rankings, "
        f"below it the overlap of their best {pairs['top'].max()} (intersection over union; " in _flat(text)
    )
    assert pairs["top"].max() == min(5, count // 2)
    assert "agreement" not in _printed(symscreen.screen(frame, top=5, **SMALL))


def test_the_legend_of_all_features_tells_the_size_of_the_heads_compared(frame):
    result = symscreen.screen(frame, screener="t0,xi", top="all", **SMALL)
    assert "the overlap of their best 20 (" in _flat(_printed(result))


@pytest.mark.slow
@pytest.mark.parametrize(
    "screener", ["t0", "lasso,t0", FIVE, NINE, "kendall,spearman,pearson,stepwise,lasso"]
)
@pytest.mark.parametrize("rounds", [1, 3])
def test_80_columns_hold_every_column_of_long_formulas(long, screener, rounds):
    result = symscreen.screen(long, screener=screener, rounds=rounds, top=6, prescreen=5, **SMALL)
    text = _printed(result)
    names = screener.split(",")
    headings = [each for line in text.splitlines() if line.startswith("rank ") for each in line.split()]
    scores = {"Gini" if name == "t0" else name for name in names}
    expected = {"rank", "expression", "compl.", "alike", *scores}
    if rounds > 1:
        expected |= {"round"} | ({"alone"} if names[0] in {"t0", "kendall"} else set())
    assert expected <= set(headings)
    assert [int(entry[0]) for entry in _entries(text)] == list(range(1, len(result) + 1))
    for name in ("a very long name of a column", "temperature of the second sample"):
        used = any(name in formula for formula in result.table.expression)
        assert used == (name in text), name


@pytest.mark.slow
def test_the_legend_has_at_most_three_lines_whatever_is_asked_for(frame):
    everything = {"intervals": True, "permutations": 19, "screener": "t0,lasso", "top": 4}
    for options in ({}, everything, {"rounds": 2}, {"stability": 2}, {"screener": "xi"}, {"top": "all"}):
        result = symscreen.screen(frame, **{"top": 4} | SMALL | options)
        columns = ["rank", "expression", "compl.", "alike", "q", "p all", "stab.", "dir.", "round", "alone"]
        for headings in (columns, [*columns, format_score_heading(ScoreColumn("t0"), result)]):
            legend = build_legend(result, headings, 4)
            assert 1 <= len(legend) <= 3
            assert max(map(len, legend)) <= 80


def test_too_many_screeners_agree_by_number(frame):
    names = [*NINE.split(","), "a_long_name", "another_name"]
    screeners = [NINE, fake("a_long_name"), fake("another_name", "ranks")]
    text = _printed(symscreen.screen(frame, screener=screeners, top=4, prescreen=6, **SMALL))
    square = text[text.index("\nagreement ") :].split("\n\n")[0].splitlines()[1:]
    assert square[0].split() == ["agreement", *map(str, range(1, 12))]
    assert [line.split()[:2] for line in square[1:]] == [
        [str(place), name] for place, name in enumerate(names, 1)
    ]


def test_rounds_show_who_found_what_and_its_place_alone(frame):
    result = symscreen.screen(frame, rounds=2, top=4, **SMALL)
    text = _printed(result)
    assert _header(text) == ["rank", "expression", "compl.", "round", "alone", "Gini", "alike", "q"]
    rows = result.table.to_dict("records")
    assert [entry[-5:-3] for entry in _entries(text)] == [
        [str(row["round"]), f"{row['place_alone']:,}"] for row in rows
    ]


def test_a_run_that_ended_early_has_no_rounds_to_show(frame):
    exact = frame.assign(target=frame["x1"] ** 3)
    text = _printed(symscreen.screen(exact, rounds=2, top=4, **SMALL))
    assert "round" not in _header(text)


def test_a_joint_screener_without_missing_and_one_that_saw_nothing(frame):
    alone = _flat(_printed(symscreen.screen(frame, screener="lasso", top=4, **SMALL)))
    assert re.search(r"lasso was shown \d+ features, affine copies merged\.", alone)
    few = _flat(_printed(symscreen.screen(frame, screener="lasso", top=4, prescreen=3, **SMALL)))
    assert "lasso was shown 3 features, the best by t0 and xi, affine copies merged." in few
    negative = frame.assign(x1=-frame["x1"], x2=-frame["x2"], x3=-frame["x3"])
    options = {"layers": "u", "unary": "log", "pool": "strict", "screener": "lasso,t0,xi"}
    assert "no feature is left." in _flat(_printed(symscreen.screen(negative, **options)))


def test_missing_scores_are_dashes(frame):
    result = symscreen.screen(frame, screener="lasso,t0", top="all", prescreen=4, **SMALL)
    assert np.isnan(result.table["lasso"]).sum() > 10
    text = _printed(result)
    dashes = [entry[-3] == "-" for entry in _entries(text)]
    assert dashes == np.isnan(result.table["lasso"]).tolist()


def test_no_more_rows_than_asked_for(frame):
    result = symscreen.screen(frame, top="all", **SMALL)
    assert len(_entries(_printed(result, rows=3))) == 3
    assert "the best 3 features:" in _flat(_printed(result, rows=3))
    assert "all of them:" in _flat(_printed(result))


def test_a_line_counts_the_formulas_whose_q_values_are_bounds(rng):
    columns = {name: np.round(rng.normal(size=60)) for name in "ab"} | {"c": rng.normal(size=60)}
    target = np.r_[1e3, 1e6, 1e9, rng.normal(size=57)]
    result = symscreen.screen(columns, target, layers="u", unary=["id"], top=3)
    assert "q-values: those of 2 formulas are upper bounds, because their values repeat." in _flat(
        _printed(result)
    )
    one = symscreen.screen({name: columns[name] for name in "ac"}, target, layers="u", unary=["id"])
    assert "q-values: that of 1 formula is an upper bound, because its values repeat." in _flat(_printed(one))
