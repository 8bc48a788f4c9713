from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

from symscreen.results.screener_agreement import compare_screeners, compute_agreement

losses = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, np.nan]), min_size=1, max_size=12)
several = st.integers(1, 12).flatmap(
    lambda q: st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.5, np.nan]), min_size=q, max_size=q),
        min_size=2,
        max_size=4,
    )
)


@given(losses)
def test_ranks_are_those_of_scipy_and_missing_where_a_feature_was_not_shown(own):
    loss = np.array(own)
    found = compare_screeners({"a": loss})
    known = ~np.isnan(loss)
    for ranks, method in ((found.ranks, "min"), (found.worst_ranks, "max")):
        assert ranks["a"][known].tolist() == rankdata(loss[known], method=method).tolist()
        assert np.isnan(ranks["a"][~known]).all()


@given(several, st.integers(1, 12))
def test_agreement_is_kendalls_tau_and_the_overlap_of_sure_heads(rows, top):
    loss = {f"s{place}": np.array(row) for place, row in enumerate(rows)}
    found = compute_agreement(compare_screeners(loss), top).to_dict("records")
    pairs = list(itertools.combinations(loss, 2))
    assert [(row["first"], row["second"]) for row in found] == pairs
    for row, (one, other) in zip(found, pairs, strict=True):
        both = ~np.isnan(loss[one]) & ~np.isnan(loss[other])
        assert row["features"] == both.sum()
        a, b = loss[one][both], loss[other][both]
        if len(set(a)) < 2 or len(set(b)) < 2:
            assert np.isnan(row["kendall"])
        else:
            assert row["kendall"] == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
        best = max(1, min(top, len(a) // 2))
        assert row["top"] == best
        heads = [
            {k for k in np.flatnonzero(both) if (mine <= mine[k]).sum() <= best}
            for mine in (loss[one], loss[other])
        ]
        if heads[0] | heads[1]:
            assert row["overlap"] == len(heads[0] & heads[1]) / len(heads[0] | heads[1])
        else:
            assert np.isnan(row["overlap"])


def test_equal_rankings_agree_and_opposite_ones_do_not():
    up = np.arange(10.0)
    found = compute_agreement(compare_screeners({"a": up, "b": up**2, "c": -up}), 3)
    assert found["kendall"].tolist() == pytest.approx([1.0, -1.0, -1.0])
    assert found["overlap"].tolist() == [1.0, 0.0, 0.0]


def test_one_screener_has_no_pair():
    assert len(compute_agreement(compare_screeners({"a": np.arange(3.0)}), 2)) == 0
