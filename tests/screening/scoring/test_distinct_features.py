from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import symscreen
from symscreen.errors import OptionError
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.screening import task as screening_task
from symscreen.screening.scoring import score_space
from symscreen.screening.scoring.distinct_features import is_within_noise

SMALL = {"layers": "ub", "unary": "cube,log", "binary": "mul,sub", "p_values": False}


def _group(correlation, n_wanted, cap):
    """Group a whole ranking, one feature after the other, until enough groups have a leader."""
    leaders, groups = [], []
    for at in range(len(correlation)):
        near = [index for index, leader in enumerate(leaders) if correlation[leader, at] > cap]
        groups.append(near[0] if near else len(leaders))
        if not near:
            leaders.append(at)
        if len(leaders) == n_wanted:
            break
    return leaders, groups


def _is_within_noise(best, other, correlation, n):
    """Compare two dependent correlations by the formulas of Meng, Rosenthal and Rubin, one pair at a time."""
    if round(best, 12) == round(other, 12):
        return True
    if best == 1:
        return False
    mean_square = (best**2 + other**2) / 2
    f = min((1 - correlation) / (2 * (1 - mean_square)), 1)
    h = (1 - f * mean_square) / (1 - mean_square)
    return math.atanh(best) - math.atanh(other) <= math.sqrt(2 * (1 - correlation) * h / (n - 3))


def _thin(values, quality, complexity, n_wanted, cap):
    """Return the features that are shown, best first, the group of each, and all groups."""
    correlation = np.round(np.abs(spearmanr(values, axis=1).statistic), 11)
    leaders, groups = _group(correlation, n_wanted, cap)
    shown = list(leaders)
    for index, leader in enumerate(leaders):
        members = [at for at, group in enumerate(groups) if group == index]
        simpler = [at for at in members if complexity[at] < complexity[leader]]
        for at in sorted(simpler, key=lambda member: (complexity[member], member)):
            others = shown[:index] + shown[index + 1 :]
            is_close = _is_within_noise(
                quality[leader], quality[at], correlation[leader, at], values.shape[1]
            )
            if is_close and all(correlation[at, other] <= cap for other in others):
                shown[index] = at
                break
    order = sorted(range(len(shown)), key=lambda index: shown[index])
    return [shown[index] for index in order], order, groups


@pytest.mark.slow
@pytest.mark.parametrize(("screener", "sign"), [("t0", "free"), ("t0", "positive"), ("pearson,t0", "free")])
@pytest.mark.parametrize("cap", [0.99, 0.7])
def test_the_list_is_the_thinning_of_the_whole_ranking(frame, screener, sign, cap):
    options = SMALL | {"screener": screener, "sign": sign}
    whole = symscreen.screen(frame, top=10**6, max_correlation=1, **options)
    values = whole.transform(frame).to_numpy().T
    quality = whole.table["gini" if screener == "t0" else "pearson"].to_numpy()
    quality = np.abs(quality) if sign == "free" else quality
    complexity = whole.table.complexity.to_numpy()
    for top in (1, 7, 1000):
        shown, order, groups = _thin(values, quality, complexity, top, cap)
        thinned = symscreen.screen(frame, top=top, max_correlation=cap, **options)
        assert thinned.table.expression.tolist() == whole.table.expression[shown].tolist()
        assert thinned.table.class_size.tolist() == whole.table.class_size[shown].tolist()
        sizes = whole.table.class_size.to_numpy()[: len(groups)]
        counts = [int(sizes[np.array(groups) == group].sum()) for group in order]
        assert (thinned.table.class_size + thinned.table.n_redundant).tolist() == counts
        told = {one["rank"]: one["features"] for one in thinned.record["redundancy"]["shown"]}
        for rank, (at, group) in enumerate(zip(shown, order, strict=True), 1):
            places = [member for member, its in enumerate(groups) if its == group and member != at][:20]
            assert [near["place"] - 1 for near in told.get(rank, [])] == places
            texts = whole.table.expression[places].tolist()
            assert [near["expression"] for near in told.get(rank, [])] == texts


def test_the_list_is_filled_by_looking_further(frame, monkeypatch):
    plain = symscreen.screen(frame, top=6, max_correlation=0.8, **SMALL)
    monkeypatch.setattr(screening_task, "_MIN_WIDENING", 1)
    monkeypatch.setattr(screening_task, "_MAX_WIDENING", 1)
    again = symscreen.screen(frame, top=6, max_correlation=0.8, **SMALL)
    assert format_ranking_csv(again) == format_ranking_csv(plain)
    assert plain.record["redundancy"]["classes_looked_at"] > 6
    monkeypatch.setattr(score_space, "MAX_EXAMINED", 6)
    bounded = symscreen.screen(frame, top=6, max_correlation=0.8, **SMALL)
    assert len(bounded) < 6
    assert "only the best 6 were examined (the longest list that is made)" in bounded.notices[-1]


def test_a_space_with_fewer_distinct_features_says_so(frame):
    near = frame.assign(x2=frame.x1 + 0.1 * frame.x2)
    few = symscreen.screen(near, top=50, max_correlation=0.2, layers="u", unary="cube")
    assert len(few) < 3
    assert "of 50 features are shown: the others of all 3 are near-duplicates" in few.notices[-1]


def test_near_duplicates_are_left_out_by_default_and_a_limit_of_one_shows_all(frame):
    default = symscreen.screen(frame, top=12, **SMALL)
    ranks = default.transform(frame).rank().to_numpy()
    assert np.abs(np.corrcoef(ranks.T))[np.triu_indices(len(default), 1)].max() <= 0.95
    assert default.record["redundancy"]["cap"] == 0.95
    every = symscreen.screen(frame, top=12, max_correlation=1, **SMALL)
    assert len(every) == 12
    assert "redundancy" not in every.record
    assert "n_redundant" not in every.table


@pytest.mark.parametrize(
    "options",
    [{"top": "all"}, {"rounds": 2}, {"stability": 2}, {"screener": "lasso,t0"}],
    ids=["all", "rounds", "stability", "joint"],
)
def test_what_compares_or_selects_features_itself_keeps_near_duplicates_by_default(frame, options):
    result = symscreen.screen(frame, **{"top": 6, "prescreen": 30} | SMALL | options)
    assert "redundancy" not in result.record
    assert "max_correlation" not in json.dumps(result.record["options"])


@pytest.mark.parametrize("search", ["race", "sieve"])
def test_a_search_that_drops_features_lists_distinct_ones_of_those_it_keeps(search, rng):
    x = rng.uniform(0.5, 2.0, (600, 4))
    table = pd.DataFrame(x, columns=list("abcd")).assign(y=x[:, 0] * x[:, 1] + 0.1 * rng.normal(size=600))
    options = {"layers": "ub", "top": 5, "p_values": False, "target": "y"}
    found = symscreen.screen(table, search=search, **options)
    assert found.table.expression.tolist() == symscreen.screen(table, **options).table.expression.tolist()


def test_a_time_limit_lists_distinct_features_of_what_was_scored(frame):
    result = symscreen.screen(frame, time_limit=1e-9, chunk_size=20, top=5, **SMALL)
    assert "partial" in result.record
    assert "redundancy" in result.record


def test_chunks_jobs_and_class_members_agree_with_the_list(frame):
    result = symscreen.screen(frame, top=12, max_correlation=0.6, **SMALL)
    other = symscreen.screen(frame, top=12, max_correlation=0.6, jobs=2, chunk_size=11, **SMALL)
    assert format_ranking_csv(other) == format_ranking_csv(result)
    members = symscreen.classes(result, frame, class_members=10**6)
    assert members.groupby("rank").size().tolist() == result.table.class_size.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_correlation": 1.5}, "between 0 and 1"),
        ({"max_correlation": True}, "between 0 and 1"),
        ({"max_correlation": "much"}, "between 0 and 1"),
        ({"max_correlation": 0.9, "top": "all"}, "give top= a number"),
        ({"max_correlation": 0.9, "rounds": 2}, "cannot be combined with rounds=2"),
        ({"max_correlation": 0.9, "stability": 2}, "leave one of them out"),
    ],
)
def test_what_does_not_go_together_is_refused(frame, options, message):
    with pytest.raises(OptionError, match=message):
        symscreen.screen(frame, **options)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1), st.integers(4, 10**6))
def test_noise_is_judged_by_the_published_formula(best, other, correlation, n):
    best, other = max(best, other), min(best, other)
    if best >= 1 - 1e-9 or other <= -1 + 1e-9:
        best, other = best * 0.999, other * 0.999
    found = is_within_noise(best, np.array([other]), np.array([correlation]), n)
    difference = math.atanh(best) - math.atanh(other)
    if difference > 1e-9:
        assert bool(found[0]) in {_is_within_noise(best, other, correlation, n + k) for k in (0, 1e-6, -1e-6)}
    elif difference == 0:
        assert found[0]
