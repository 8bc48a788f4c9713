from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

import symscreen
from symscreen.errors import OptionError
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.screening.inference import redundancy

SMALL = {"layers": "ub", "unary": "cube,log", "binary": "mul,sub"}


def _greedy(values, cap):
    """Thin a whole ranking, one feature after the other; say who stands for each."""
    chosen, stands_in = [], []
    correlation = np.round(np.abs(spearmanr(values, axis=1).statistic), 11)
    for at in range(len(values)):
        near = [k for k in chosen if correlation[k, at] > cap]
        stands_in.append(near[0] if near else at)
        if not near:
            chosen.append(at)
    return chosen, stands_in


@pytest.mark.parametrize(("screener", "sign"), [("t0", "free"), ("t0", "positive"), ("pearson,t0", "free")])
@pytest.mark.parametrize("cap", [0.99, 0.7])
def test_what_is_shown_is_the_greedy_thinning_of_the_whole_ranking(frame, screener, sign, cap):
    options = SMALL | {"screener": screener, "sign": sign}
    whole = symscreen.screen(frame, top=10**6, **options)
    chosen, stands_in = _greedy(whole.transform(frame).to_numpy().T, cap)
    for top in (1, 7, len(chosen)):
        thinned = symscreen.screen(frame, top=top, max_correlation=cap, **options)
        assert thinned.table.expression.tolist() == whole.table.expression[chosen[:top]].tolist()
        assert thinned.table.class_size.tolist() == whole.table.class_size[chosen[:top]].tolist()
        upto = stands_in[: chosen[top - 1] + 1]
        counts = [upto.count(place) - 1 for place in chosen[:top]]
        assert thinned.table.n_redundant.tolist() == counts
        told = {one["rank"]: one for one in thinned.record["redundancy"]["shown"]}
        assert {rank: one["n_redundant"] for rank, one in told.items()} == {
            rank: count for rank, count in enumerate(counts, 1) if count
        }
        for rank, one in told.items():
            places = [at for at, head in enumerate(upto) if head == chosen[rank - 1] and head != at]
            assert [near["place"] - 1 for near in one["features"]] == places[:100]
            texts = whole.table.expression[places[:100]].tolist()
            assert [near["expression"] for near in one["features"]] == texts


def test_the_list_is_filled_by_looking_further(frame, monkeypatch):
    plain = symscreen.screen(frame, top=6, max_correlation=0.8, **SMALL)
    monkeypatch.setattr(redundancy, "_INITIAL_WIDENING", 1)
    assert format_ranking_csv(
        symscreen.screen(frame, top=6, max_correlation=0.8, **SMALL)
    ) == format_ranking_csv(plain)
    assert plain.record["redundancy"]["classes_looked_at"] > 6
    monkeypatch.setattr(redundancy, "_MAX_CLASSES", 8)
    bounded = symscreen.screen(frame, top=6, max_correlation=0.8, **SMALL)
    assert len(bounded) < 6
    assert "only the best 8 classes were examined" in bounded.notices[-1]


def test_a_space_with_fewer_says_so_and_plain_records_do_not_change(frame):
    few = symscreen.screen(frame, top=50, max_correlation=0.2, layers="u", unary="cube")
    assert len(few) < 5
    assert few.notices[-1].startswith("of 3 classes only")
    plain = symscreen.screen(frame, top=5, layers="u", unary="cube")
    assert "max_correlation" not in json.dumps(plain.record)
    assert "n_redundant" not in plain.table


def test_no_two_shown_are_near_and_chunks_and_jobs_do_not_matter(frame):
    result = symscreen.screen(frame, top=12, max_correlation=0.6, **SMALL)
    ranks = result.transform(frame).rank().to_numpy()
    off = np.abs(np.corrcoef(ranks.T))[np.triu_indices(len(result), 1)]
    assert off.max() <= 0.6
    other = symscreen.screen(frame, top=12, max_correlation=0.6, jobs=2, chunk_size=11, **SMALL)
    assert format_ranking_csv(other) == format_ranking_csv(result)
    members = symscreen.classes(result, frame, class_members=10**6)
    assert members.groupby("rank").size().tolist() == result.table.class_size.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_correlation": 1.0}, "between 0 and 1"),
        ({"max_correlation": "much"}, "between 0 and 1"),
        ({"max_correlation": 0.9, "top": "all"}, "give top= a number"),
        ({"max_correlation": 0.9, "rounds": 2}, "cannot be combined with rounds=2"),
        ({"max_correlation": 0.9, "stability": 2}, "leave one of them out"),
    ],
)
def test_what_does_not_go_together_is_refused(frame, options, message):
    with pytest.raises(OptionError, match=message):
        symscreen.screen(frame, **options)
