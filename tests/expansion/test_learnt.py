from __future__ import annotations

import numpy as np
import pytest
from helpers.expansion_oracles import INSIDE
from hypothesis import given
from hypothesis import strategies as st

from symscreen.expansion import validity
from symscreen.expansion.validity import compute_feature_stats, compute_projection
from symscreen.grammar import Domain

values = st.lists(
    st.lists(st.sampled_from([-2.0, -1.0, -1e-300, -0.0, 0.0, 5e-324, 0.5, 1.0, 1 + 1e-15, 1e308]),
             min_size=4, max_size=4), min_size=1, max_size=6).map(np.array)  # fmt: skip


@given(values, st.sampled_from([1, 8, 1 << 17]))
def test_what_is_learnt_tells_of_all_values(rows, at_a_time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "_STATS_BATCH_VALUES", at_a_time)
        known = compute_feature_stats(rows)
    assert known.low.tolist() == rows.min(axis=1).tolist()
    assert known.high.tolist() == rows.max(axis=1).tolist()
    assert known.min_abs.tolist() == np.abs(rows).min(axis=1).tolist()
    assert known.max_abs.tolist() == np.abs(rows).max(axis=1).tolist()
    assert known.projection.tolist() == compute_projection(rows).tolist()
    for domain in Domain:
        assert known.is_in_domain(domain).tolist() == [bool(INSIDE[domain](row).all()) for row in rows]


@given(values, values)
def test_parts_are_learnt_apart(rows, more):
    both, known = (
        np.concatenate((rows, more)),
        compute_feature_stats(rows).concatenate(compute_feature_stats(more)),
    )
    turned = known.take(np.arange(len(both))[::-1])
    for name in ("low", "high", "min_abs", "projection"):
        assert getattr(known, name).tobytes() == getattr(compute_feature_stats(both), name).tobytes()
        assert getattr(turned, name).tobytes() == getattr(compute_feature_stats(both[::-1]), name).tobytes()
