from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.config import parsing
from symscreen.messages import COMMAND_LINE, render_message
from symscreen.results.ranking_files import write_ranking
from symscreen.results.screen_verdict import build_verdict_record, format_verdict
from symscreen.screening.inference import error_control

SMALL = {"layers": "b", "top": 5}


@pytest.fixture
def noise(rng):
    return pd.DataFrame(rng.normal(size=(60, 4)), columns=["a", "b", "c", "target"])


def test_formulas_that_pass_are_counted_and_the_best_is_named(frame):
    result = symscreen.screen(frame, **SMALL)
    every = symscreen.screen(frame, **SMALL | {"top": "all"}).table
    passing = int((every.q_value <= 0.05).sum())
    verdict = result.record["verdict"]
    assert verdict == {
        "kind": "signal",
        "by": "q_value",
        "rate": 0.05,
        "passing": passing,
        "least": every.q_value.min(),
    }
    best = result.table.iloc[0]
    assert result.verdict == (
        f"{passing} of {len(every)} formulas do better than noise (false discovery rate 5 %). "
        f"The best is {best.expression}, with a Gini correlation of {best.gini:.2f}."
    )
    assert repr(result).splitlines()[1].strip() == result.verdict


def test_the_rate_is_that_of_the_option(frame):
    assert "(false discovery rate 1 %)" in symscreen.screen(frame, fdr=0.01, **SMALL).verdict


def test_noise_is_said_to_be_noise(noise):
    result = symscreen.screen(noise, **SMALL)
    assert result.record["verdict"]["kind"] == "noise"
    least = result.record["verdict"]["least"]
    assert result.verdict.startswith("No formula does better than noise: the best of ")
    assert f"has a q-value of {least:.2g}, above the limit of 0.05." in result.verdict
    assert "repeat" not in result.verdict


def test_repeated_values_and_dominant_rows_of_the_target_make_the_q_value_of_noise_a_bound(noise):
    rounded = noise.assign(a=noise.a.round(), b=noise.b.round(), c=noise.c.round())
    sentence = "Its values repeat, so its q-value is an upper bound."
    assert sentence not in symscreen.screen(rounded, **SMALL).verdict
    rounded.loc[:2, "target"] = 1e3, 1e6, 1e9
    result = symscreen.screen(rounded, **SMALL)
    assert sentence in result.verdict
    assert result.table["p_is_bound"].all()


@pytest.mark.parametrize("screener", ["t0", "spearman", "xi"])
def test_few_rows_leave_a_rank_statistic_undecided(screener):
    control = {"tests": 1000, "passing": 0, "least_q": 1.0, "rate": 0.05, "source": "null distribution"}
    kinds = [
        build_verdict_record(control, pd.DataFrame(), None, screener=name, n_rows=5)["kind"]
        for name in (screener, "pearson")
    ]
    assert kinds == ["undecided", "noise"]


@pytest.mark.parametrize(("method", "n_needed"), [("bh", 19), ("by", 149)])
def test_too_few_permutations_leave_their_q_values_undecided(method, n_needed):
    control = {"tests": 1000, "passing": 0, "least_q": 1.0, "rate": 0.05, "source": "permutations"}
    control |= {"method": method}
    table = pd.DataFrame({"q_value": [1.0]})
    for n_permutations, kind in ((n_needed, "noise"), (n_needed - 1, "undecided")):
        told = control | {"permutations": n_permutations}
        verdict = build_verdict_record(told, table, None, screener="t0", n_rows=4)
        assert verdict["kind"] == kind
    record = {"verdict": verdict, "error_control": told, "data": {"rows": 4}}
    assert f"At least {n_needed} are needed." in format_verdict(record, table)


def test_the_best_p_value_of_permutations_is_the_smallest():
    table = pd.DataFrame({"p_family": [0.02, 0.5, np.nan]})
    record = build_verdict_record({"permutations": 199}, table, None, screener="t0", n_rows=60)
    assert (record["least"], record["passing"], record["kind"]) == (0.02, 1, "signal")


@pytest.mark.slow
def test_too_few_rows_for_any_verdict(frame):
    verdict = symscreen.screen(frame.head(6), **SMALL).verdict
    assert verdict.startswith("No verdict: 6 rows are too few.")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"p_values": False}, "p-values were not requested (--no-p-values)"),
        ({"search": "sieve"}, "there are no p-values with --search sieve"),
        ({"pool_size": 3, "layers": "bb"}, "pruning between layers used the target"),
        ({"screener": "lasso"}, "there are no p-values for lasso, which judges formulas together"),
        ({"target": "x1,target"}, "there are no p-values for several targets"),
        ({"weights": "x2"}, "there are no p-values for a target with weights"),
        ({"groups": "x3", "intervals": True}, "no null distribution is known where rows come in groups"),
    ],
    ids=["off", "search", "pruning", "joint", "several", "weighted", "groups"],
)
def test_a_mode_without_p_values_says_so_in_the_same_place(frame, options, reason):
    result = symscreen.screen(frame, **SMALL | {"target": "target"} | options)
    verdict = render_message(result.verdict, COMMAND_LINE)
    assert verdict.startswith("No verdict: ")
    assert reason in verdict
    assert result.record["verdict"]["kind"] == "unavailable"
    assert not {"p_value", "q_value"} & set(result.table)


def test_the_cost_rule_depends_on_formulas_and_rows_alone_and_an_explicit_option_wins(frame, monkeypatch):
    cells = symscreen.screen(frame, **SMALL).n_scored * len(frame)
    for limit, kind in ((cells + 10**4, "signal"), (cells - 1, "unavailable")):
        monkeypatch.setattr(error_control, "MAX_P_VALUE_CELLS", limit)
        result = symscreen.screen(frame, **SMALL)
        assert result.record["verdict"]["kind"] == kind
    assert result.record["verdict"]["obstacle"] == "cost"
    assert "--p-values computes them" in render_message(result.verdict, COMMAND_LINE)
    assert "q_value" in symscreen.screen(frame, p_values=True, **SMALL).table
    assert parsing.MAX_P_VALUE_CELLS == 10**11


def test_permutations_decide_where_there_are_no_p_values(frame):
    noise = pd.DataFrame(np.random.default_rng(3).normal(size=(60, 4)), columns=["a", "b", "c", "target"])
    options = SMALL | {"p_values": False}
    few = symscreen.screen(frame, permutations=18, **options)
    assert few.record["verdict"]["kind"] == "undecided"
    assert "no p-value is below 0.053. At least 19 are needed." in few.verdict
    enough = symscreen.screen(frame, permutations=19, **options)
    assert enough.record["verdict"]["kind"] == "signal"
    assert "better than noise (p-value at most 0.05 by 19 permutations of the target)" in enough.verdict
    assert symscreen.screen(noise, permutations=99, **options).record["verdict"]["kind"] == "noise"


def test_other_screeners_give_their_own_score(frame):
    assert "with spearman " in symscreen.screen(frame, screener="spearman", **SMALL).verdict


def test_a_stored_ranking_has_the_same_verdict(frame, tmp_path):
    result = symscreen.screen(frame, **SMALL)
    write_ranking(result, tmp_path / "r.csv")
    assert symscreen.load_result(tmp_path / "r.csv").verdict == result.verdict


def test_a_single_formula_and_an_empty_ranking(frame):
    one = symscreen.screen(frame[["x1", "target"]], layers="u", unary="cube", top=1)
    assert one.n_scored == 2
    negative = pd.DataFrame({"x": -np.arange(1.0, 31.0), "target": np.arange(30.0)})
    none = symscreen.screen(negative, layers="u", unary="log", pool="strict")
    assert none.verdict == "No formula is left: there is nothing to compare with noise."
