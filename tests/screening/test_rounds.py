from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers.screening_oracles import (
    change_task,
    fake,
    loss_of,
    request_of,
    score,
    space_of,
    table_of,
    values_of,
)
from scipy.stats import rankdata

import symscreen
from symscreen.data import replace_target
from symscreen.errors import MemoryLimitError
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.screening import space_generation
from symscreen.screening.residual_rounds import build_extra_record, run_rounds


def _job(table, *screeners, cutters=(), **changes):
    return request_of(*screeners, table=table, pool_screeners=request_of(*cutters).screeners, **changes)


def _residual(columns, y):
    design = np.column_stack([np.ones(len(y)), *(column / np.abs(column).max() for column in columns)])
    return y - design @ np.linalg.lstsq(design, y)[0]


def _best_residual(columns, y, size):
    """Fit all models of a size by least squares; return what the best one leaves."""
    return min((_residual(some, y) for some in combinations(columns, size)), key=lambda left: left @ left)


def _by_hand(table, job, rounds):
    """Screen by hand: the rankings of the rounds, and what the best models leave."""
    by_name = dict(zip(table.names, table.columns, strict=True))
    spaces, rankings, left, known = [], [], [], {}
    own = table
    for size in range(1, rounds + 1):
        space = space_of(own)
        ranking = score(space, own, job).features
        spaces.append(space)
        rankings.append(ranking)
        for number in ranking.number.tolist():
            known.setdefault(compute_key(space.build_expression(number)), space.build_expression(number))
        columns = [evaluate_expression(expression, by_name) for expression in known.values()]
        left.append(_best_residual(columns, table.target.values, size))
        own = replace_target(table, left[-1])
    return spaces, rankings, left


@pytest.mark.slow
@pytest.mark.parametrize("screeners", [("t0",), ("pearson", "lasso"), ("stepwise", "t0")], ids="-".join)
def test_each_round_screens_what_the_best_model_of_those_before_leaves(rng, screeners):
    table = table_of(rng, rows=40)
    job = _job(table, *screeners, limit=5, prescreen=12, rounds=3)
    found = run_rounds(job)
    spaces, rankings, left = _by_hand(table, job, 3)
    assert [len(each.model) for each in found] == [0, 1, 2]
    by_name = dict(zip(table.names, table.columns, strict=True))
    for each, expected in zip(found[1:], left, strict=False):
        own = _residual([evaluate_expression(term, by_name) for term in each.model], table.target.values)
        assert np.allclose(own, expected, atol=1e-9 * np.abs(expected).max())
    for each, space, ranking in zip(found, spaces, rankings, strict=True):
        expected = [to_text(space.build_expression(number)) for number in ranking.number.tolist()]
        kept = each.scoring_result.features
        assert [to_text(each.space.build_expression(number)) for number in kept.number.tolist()] == expected
        assert np.allclose(kept.loss, ranking.loss, atol=1e-9)


@pytest.mark.parametrize("limit", [6, None])
def test_each_feature_is_shown_once_in_the_round_that_puts_it_first(rng, limit):
    table = table_of(rng)
    found = run_rounds(_job(table, "t0", limit=limit, rounds=3))
    places = [
        {tuple(own): place for place, own in enumerate(each.scoring_result.features.keys.tolist())}
        for each in found
    ]
    every = set().union(*places)
    shown = [
        [tuple(own) for own in each.scoring_result.features.keys[each.shown_indices].tolist()]
        for each in found
    ]
    assert sorted(one for own in shown for one in own) == sorted(every)
    for number, own in enumerate(shown):
        assert [places[number][one] for one in own] == sorted(places[number][one] for one in own)
        for one in own:
            best = min(ranks[one] for ranks in places if one in ranks)
            assert number == next(k for k, ranks in enumerate(places) if ranks.get(one) == best)
    if limit is None:
        assert len(every) == found[0].scoring_result.n_scored


def test_places_alone_are_those_of_the_whole_first_ranking(rng):
    table = table_of(rng)
    found = run_rounds(_job(table, "t0", limit=6, rounds=3))
    numbers, values = values_of(table, found[0].space)
    loss = np.round(loss_of("t0", values, table.target.values), 11)
    ranks = rankdata(loss, method="min").astype(int)
    of = {
        to_text(found[0].space.build_expression(number)): int(rank)
        for number, rank in zip(numbers.tolist(), ranks, strict=True)
    }
    assert found[-1].target_ranks.tolist() == [of[to_text(one)] for each in found for one in each.expressions]
    assert all(each.target_ranks is None for each in found[:-1])


def test_under_a_joint_screener_there_are_no_places(rng):
    found = run_rounds(_job(table_of(rng), fake(), "t0", limit=6, rounds=2))
    assert len(found) == 2
    assert all(each.target_ranks is None for each in found)


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "ran"), [("x1**3", 1), ("x1**3 + 2*x2", 2)])
@pytest.mark.parametrize("screener", ["t0", "lasso"])
def test_rounds_end_early_where_a_model_explains_the_response_exactly(rng, formula, ran, screener):
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (50, 3)), columns=["x1", "x2", "x3"])
    frame["y"] = frame["x1"] ** 3 + (2 * frame["x2"] if "x2" in formula else 0)
    options = {"operators": "ablation", "layers": "u", "screener": screener, "top": "all"}
    result = symscreen.screen(frame, rounds=4, **options)
    notice = f"round {ran + 1} was not run: the features found leave nothing to explain"
    assert result.notices == (notice,)
    if ran == 1:
        alone = symscreen.screen(frame, **options)
        assert result.table.equals(alone.table)
        assert "rounds" not in result.record
    else:
        assert sorted(result.table["round"].unique()) == [1, 2]
        assert len(result.record["rounds"]) == 2


def test_without_a_feature_there_is_no_second_round(rng):
    frame = pd.DataFrame({"x": -rng.uniform(1, 2, 20), "y": rng.normal(size=20)})
    for screener in ("t0", "lasso", "lasso,t0"):
        options = {"layers": "u", "unary": "log", "pool": "strict", "screener": screener}
        result = symscreen.screen(frame, rounds=2, **options)
        assert len(result) == 0
        assert result.notices == ("round 2 was not run: no feature was found",)


def test_one_feature_may_fill_all_rounds(rng):
    frame = pd.DataFrame({"x": rng.uniform(1, 2, 30)})
    frame["y"] = frame["x"] + rng.normal(0, 0.1, 30)
    result = symscreen.screen(frame, rounds=5, layers="b", binary="add", top="all")
    assert result.table["round"].is_monotonic_increasing
    assert result.table["expression"].is_unique
    assert result.table["rank"].tolist() == list(range(1, len(result) + 1))


def test_a_weak_term_comes_to_light_in_the_second_round(rng):
    x1, x2, x3 = rng.uniform(-3, 3, (3, 200))
    y = 10 * x1**2 + 0.3 * np.sin(x2) + rng.normal(0, 0.1, 200)
    frame = pd.DataFrame({"x1": x1, "x2": x2, "x3": x3, "y": y})
    options = {"layers": "ub", "unary": "id,square,cube,sin", "binary": "add,mul", "top": 5}
    table = symscreen.screen(frame, rounds=2, **options).table
    second = table[table["round"] == 2].iloc[0]
    assert second["expression"] == "sin(x2)"
    assert second["place_alone"] > 50
    assert "sin(x2)" not in symscreen.screen(frame, **options).table["expression"].tolist()


def test_the_record_tells_of_joint_screeners_cuts_and_rounds(rng):
    table = table_of(rng)
    plain = _job(table, "t0")
    assert build_extra_record(run_rounds(plain), plain) == {}
    job = _job(table, "t0", fake(), limit=4, prescreen=7, cutters=("t0", "xi"), pool_size={"u": 2}, rounds=2)
    found = run_rounds(job)
    record = build_extra_record(found, job)
    assert list(record) == ["joint", "pool_pruning", "rounds"]
    assert record["joint"]["fake"] == {
        "shown": 7,
        "chosen_by": ["t0"],
        "merged": "affine copies",
        "settings": {"strength": 1.0},
        "q": 7,
        "seed": 0,
        "jobs": 1,
    }
    assert [(cut["layer"], cut["chosen"]) for cut in record["pool_pruning"]] == [(1, 2), (1, 2)]
    assert [each["model"] for each in record["rounds"]] == [
        [],
        [to_text(term) for term in found[1].model],
    ]
    assert [each["scored"] for each in record["rounds"]] == [each.scoring_result.n_scored for each in found]


def test_a_kind_of_layer_that_is_not_named_is_not_cut(rng):
    table = table_of(rng)
    whole = _job(table, "t0", layers="ubu")
    uncut = run_rounds(change_task(whole, pool_screeners=request_of("t0").screeners, pool_size={}))[0]
    alone = run_rounds(whole)[0]
    assert uncut.scoring_result.features.keys.tolist() == alone.scoring_result.features.keys.tolist()
    assert [count.n_features for count in uncut.space.layer_counts] == [
        count.n_features for count in alone.space.layer_counts
    ]
    assert uncut.pruning_records == ()
    some = run_rounds(change_task(whole, pool_screeners=request_of("t0").screeners, pool_size={"b": 4}))[0]
    assert [cut["layer"] for cut in some.pruning_records] == [2]
    assert some.space.layer_counts[1].n_features == alone.space.layer_counts[1].n_features
    assert some.space.layer_counts[2].n_features <= 4 + 3


def test_what_would_not_fit_is_refused(rng, monkeypatch):
    table = table_of(rng)
    monkeypatch.setattr("symscreen.screening.memory_estimate._RESULT_ROW_BYTES", 10**9)
    with pytest.raises(MemoryLimitError, match=r"keeping 48 features would take .* top= or prescreen="):
        run_rounds(_job(table, "t0", limit=None, max_bytes=2 * 10**9, rounds=1))


def test_what_an_uncut_layer_would_hold_is_refused_where_it_does_not_fit(rng, monkeypatch):
    table = table_of(rng)
    monkeypatch.setattr("symscreen.expansion.pool.NODE_BYTES", 10**9)
    job = _job(table, "t0", layers="ubb", limit=5, cutters=("t0",), pool_size={"u": 2}, max_bytes=16 * 10**9)
    with pytest.raises(MemoryLimitError, match=r"a pool of \d+ features after layer 2 would take"):
        run_rounds(job)


@pytest.mark.slow
def test_functions_that_follow_their_arguments_are_scored_as_if_sorted(rng, monkeypatch):
    x = rng.uniform(0.5, 2.0, (700, 4))
    y = np.exp(x[:, 0] * x[:, 1]) + rng.normal(0, 0.1, 700)
    options = {"layers": "b[add,mul,div] u[exp,log,sqrt,inv]", "screener": ["t0", "xi"], "jobs": 2}
    real, spaces = space_generation._presort_pool, []

    def watched(space, job):
        spaces.append(real(space, job))
        return spaces[-1]

    monkeypatch.setattr(space_generation, "_presort_pool", watched)
    followed = symscreen.screen(x, y, **options)
    monkeypatch.setattr(space_generation, "has_memory_for", lambda *_: False)
    sorted_anew = symscreen.screen(x, y, **options)
    assert [space.pool.sort_orders is None for space in spaces] == [False, True]
    assert followed.table.equals(sorted_anew.table)
